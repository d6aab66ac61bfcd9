//! Lists of column names in a URL.

use crate::backend::request::SortKey;
use crate::error::{ErrorKind, QueryError};

/// The names of `columns=`, such as `a,"c,d"`, separated by commas and optionally in SQL's double quotes.
///
/// # Errors
/// `bad_parameter`.
pub(crate) fn parse_columns(text: &str) -> Result<Vec<String>, QueryError> {
    let keys = parse_list("columns", text, false)?;
    Ok(keys.into_iter().map(|key| key.column).collect())
}

/// The keys of `sort=`, such as `a,-b,-"e ""f"""`. The same syntax, and a leading `-` means descending.
///
/// # Errors
/// `bad_parameter`.
pub(crate) fn parse_sort(text: &str) -> Result<Vec<SortKey>, QueryError> {
    parse_list("sort", text, true)
}

fn parse_list(
    parameter: &str,
    text: &str,
    allow_descending: bool,
) -> Result<Vec<SortKey>, QueryError> {
    let bad = |wrong: &str, hint: &str| {
        let message = format!("{parameter}: {text:?} {wrong}");
        QueryError::new(ErrorKind::BadParameter, message, hint)
    };
    let mut keys = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let descending = allow_descending && rest.starts_with('-');
        if descending {
            rest = rest[1..].trim_start();
        }
        let (column, after) = if let Some(quoted) = rest.strip_prefix('"') {
            let hint = "write \"…\", and \"\" for a quote inside";
            parse_quoted(quoted).ok_or_else(|| bad("has an unclosed quote", hint))?
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let name = rest[..end].trim_end();
            if name.is_empty() {
                let hint = "separate column names by commas, such as a,\"b,c\"";
                return Err(bad("has an empty item", hint));
            }
            (name.to_owned(), &rest[end..])
        };
        keys.push(SortKey { column, descending });
        let after = after.trim_start();
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(keys),
            None => {
                let hint = "write a comma before the next name";
                return Err(bad("has text after a quoted name", hint));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<(String, bool)> {
        let keys = parse_sort(text).unwrap();
        keys.into_iter()
            .map(|key| (key.column, key.descending))
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
        assert_eq!(items(r#"-"",a"#), [item("", true), item("a", false)]);
        assert_eq!(parse_columns("-a").unwrap(), ["-a"]);
    }

    #[test]
    fn refused_lists() {
        for text in ["", "a,", ",a", "\"a", "\"a\"b", "-", "a,,b"] {
            let refused = parse_sort(text).unwrap_err();
            assert!(refused.message.starts_with("sort: "), "{text}");
            assert!(!refused.hint.is_empty(), "{text}");
        }
    }
}
