/// A hint with the names closest to `wanted`, or with the first few names if none is close.
#[must_use]
pub fn near_names<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
    what: &str,
) -> String {
    let wanted = wanted.to_lowercase();
    let mut ranked: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (distance(&wanted, &name.to_lowercase()), name))
        .collect();
    if ranked.is_empty() {
        return format!("there are no {what}");
    }
    let near = wanted.chars().count() / 3 + 1;
    if ranked.iter().any(|(distance, _)| *distance <= near) {
        ranked.retain(|(distance, _)| *distance <= near);
        let mut list = Vec::new();
        while let (true, Some(best)) = (list.len() < 3, ranked.iter().min().copied()) {
            list.push(format!("{:?}", best.1));
            ranked.retain(|other| *other != best);
        }
        return format!("did you mean {}?", list.join(" or "));
    }
    let more = if ranked.len() > 10 { ", …" } else { "" };
    let list: Vec<_> = ranked
        .iter()
        .take(10)
        .map(|(_, name)| format!("{name:?}"))
        .collect();
    format!("the {what} are {}{more}", list.join(", "))
}

/// Levenshtein distance; 0 if `b` contains `a` and `a` is longer than 2 bytes.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 2 && b.contains(a) {
        return 0;
    }
    let b: Vec<char> = b.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(100).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let cost = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::near_names;

    #[test]
    fn near() {
        let names = ["l_orderkey", "l_partkey", "l_comment"];
        assert!(near_names("orderkey", names, "columns").contains("l_orderkey"));
        assert!(near_names("L_PARTKEY", names, "columns").contains("did you mean \"l_partkey\""));
        assert_eq!(
            near_names("x", ["abcdef"], "tables"),
            "the tables are \"abcdef\""
        );
    }
}
