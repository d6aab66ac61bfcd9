//! Tables that are read as a request says: `orders?decimal=,` is the table `orders` with that option of text files.

use colonnade_text::{OPTION_KEYS, TextOptions};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// Characters of values that would end them.
const SPECIAL: &AsciiSet = &CONTROLS.add(b'&').add(b'%').add(b'?');

/// The name of a table that is read with these options, as keys and values of `TextOptions::set`.
pub fn name_with_options(table: &str, options: &[(String, String)]) -> String {
    let pairs = options
        .iter()
        .map(|(key, value)| format!("{key}={}", utf8_percent_encode(value, SPECIAL)));
    match &pairs.collect::<Vec<_>>()[..] {
        [] => table.to_owned(),
        pairs => format!("{table}?{}", pairs.join("&")),
    }
}

/// The name of the table that is read with the options in `name`, if it has any.
pub fn without_options(name: &str) -> &str {
    split_options(name).map_or(name, |(table, _)| table)
}

/// The parts of `NAME?key=value&…` before and behind the last question mark, if the first key is an option of text
/// files.
pub(super) fn split_options(name: &str) -> Option<(&str, &str)> {
    let (name, pairs) = name.rsplit_once('?')?;
    let (key, _) = pairs.split_once('=')?;
    OPTION_KEYS.contains(&key).then_some((name, pairs))
}

/// The options in `key=value&…`, whose values are percent-encoded.
///
/// # Errors
/// One line: which option is wrong, and what would be right.
pub(super) fn parse_options(pairs: &str) -> Result<TextOptions, String> {
    let mut options = TextOptions::default();
    for pair in pairs.split('&') {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("{pair:?} has no value; write key=value"))?;
        let value = percent_decode_str(value).decode_utf8();
        let value = value.map_err(|_| format!("{pair:?} is not UTF-8"))?;
        options.set(key, &value)?;
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_options_are_split_where_they_were_joined() {
        let options = [("types", "a&b:number(,)"), ("null", "?,%")];
        let options = options.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let name = name_with_options("shop/orders", &options);
        assert_eq!(name, "shop/orders?types=a%26b:number(,)&null=%3F,%25");
        let (table, pairs) = split_options(&name).unwrap();
        let mut expected = TextOptions::default();
        for (key, value) in &options {
            expected.set(key, value).unwrap();
        }
        assert_eq!((table, parse_options(pairs)), ("shop/orders", Ok(expected)));
        assert_eq!(split_options("what?"), None);
        assert_eq!(split_options("a?b=c"), None);
    }
}
