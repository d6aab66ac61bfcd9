//! Lists of column names in a URL, and names that resemble an unknown one.

/// One item of `sort=` or `columns=`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListItem {
    /// The column's name, unquoted.
    pub name: String,
    /// Whether a `-` stood before it.
    pub descending: bool,
}

/// Parses `a,-b,"c,d",-"e ""f"""`: items apart by commas, each perhaps in SQL's double quotes.
/// A leading `-` means descending where `allow_descending`, else it belongs to the name.
///
/// # Errors
/// One line that says what was wrong and what would be right.
pub fn parse_list(text: &str, allow_descending: bool) -> Result<Vec<ListItem>, String> {
    let mut items = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let descending = allow_descending && rest.starts_with('-');
        if descending {
            rest = rest[1..].trim_start();
        }
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => parse_quoted(quoted)
                .ok_or_else(|| format!("{text:?} has a quote that does not end: write \"…\", and \"\" for a quote inside"))?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].trim_end().to_owned(), &rest[end..])
            }
        };
        if name.is_empty() {
            return Err(format!(
                "{text:?} has an empty item: write column names apart by commas, such as a,\"b,c\""
            ));
        }
        items.push(ListItem { name, descending });
        let after = after.trim_start();
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(items),
            None => {
                return Err(format!(
                    "{text:?} goes on after a quoted name: write a comma before the next name"
                ));
            }
        }
    }
}

fn parse_quoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, rest)),
        }
    }
}

/// A hint that lists the names closest to `wanted`, or the first few where none is close.
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
    let near = wanted.chars().count() / 2 + 1;
    if ranked.iter().any(|(distance, _)| *distance <= near) {
        ranked.sort();
        ranked.retain(|(distance, _)| *distance <= near);
        let list: Vec<_> = ranked
            .iter()
            .take(3)
            .map(|(_, name)| format!("{name:?}"))
            .collect();
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

/// Levenshtein's distance, 0 where one holds the other.
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
    use super::*;

    fn items(text: &str) -> Vec<(String, bool)> {
        parse_list(text, true)
            .unwrap()
            .into_iter()
            .map(|i| (i.name, i.descending))
            .collect()
    }

    #[test]
    fn lists() {
        let item = |name: &str, descending| (name.to_owned(), descending);
        assert_eq!(items("a"), [item("a", false)]);
        assert_eq!(items("-a, b"), [item("a", true), item("b", false)]);
        assert_eq!(
            items(r#"-"a,b","c""d""#),
            [item("a,b", true), item("c\"d", false)]
        );
        assert_eq!(items(r#""-a""#), [item("-a", false)]);
        assert_eq!(parse_list("-a", false).unwrap()[0].name, "-a");
    }

    #[test]
    fn refused_lists() {
        for text in ["", "a,", ",a", "\"a", "\"a\"b", "-", "a,,b"] {
            assert!(parse_list(text, true).is_err(), "{text}");
        }
    }

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
