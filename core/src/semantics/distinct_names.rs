use std::collections::{HashMap, HashSet};

/// The names, changed so that all are different. The first of several equal names stays. Each later one
/// becomes `name (n)` with the smallest n ≥ 2 such that the result is not in `names` and was not
/// assigned before. `fixtures/distinct_names.json` tests all languages against this rule.
pub fn distinct_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<&str> = names.into_iter().collect();
    let mut taken: HashSet<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    names
        .into_iter()
        .map(|name| {
            let count = counts.entry(name).or_insert(0);
            loop {
                *count += 1;
                if *count == 1 {
                    return name.to_owned();
                }
                let distinct = format!("{name} ({count})");
                if taken.insert(distinct.clone()) {
                    return distinct;
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::distinct_names;

    #[test]
    fn distinct_names_follow_the_fixture() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../fixtures/distinct_names.json"
        );
        let cases: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let cases = cases.as_array().unwrap();
        assert!(!cases.is_empty());
        for case in cases {
            let names = case["names"].as_array().unwrap();
            let names = names.iter().map(|name| name.as_str().unwrap());
            let distinct = distinct_names(names);
            assert_eq!(serde_json::json!(distinct), case["distinct"], "{case}");
        }
    }
}
