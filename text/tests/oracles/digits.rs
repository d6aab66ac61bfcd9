//! JSON whose numbers keep all their digits.
//!
//! Here a number is a string that begins with [`NUMBER`], because serde_json rounds numbers to 64 bits. Its feature
//! `arbitrary_precision` would not, but the crates that are tested together would all have it, the server too.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

/// A character of the private use area, which no text of the cases has.
const NUMBER: char = '\u{e000}';

pub(crate) fn number(digits: &str) -> Value {
    format!("{NUMBER}{digits}").into()
}

/// The digits of a number; `None` if the value is not one.
pub(crate) fn as_number(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix(NUMBER)
}

pub(crate) fn as_count(value: &Value) -> Option<usize> {
    as_number(value)?.parse().ok()
}

pub(crate) fn parse(text: &str) -> Value {
    let mut marked = String::new();
    let mut rest = text.chars().peekable();
    while let Some(&next) = rest.peek() {
        if next == '"' {
            copy_string(&mut rest, &mut marked);
        } else if next == '-' || next.is_ascii_digit() {
            let is_digit = |next: &char| next.is_ascii_digit() || "+-.eE".contains(*next);
            marked.extend(['"', NUMBER]);
            marked.extend(std::iter::from_fn(|| rest.next_if(is_digit)));
            marked.push('"');
        } else {
            marked.extend(rest.next());
        }
    }
    serde_json::from_str(&marked).unwrap()
}

/// The text of a value, with numbers as numbers.
pub(crate) fn write(value: &Value) -> String {
    let text = value.to_string();
    let mark = format!("\"{NUMBER}");
    let mut pieces = text.split(&mark);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + &piece.replacen('"', "", 1))
}

fn copy_string(from: &mut Peekable<Chars<'_>>, to: &mut String) {
    to.extend(from.next());
    while let Some(next) = from.next() {
        to.push(next);
        match next {
            '\\' => to.extend(from.next()),
            '"' => return,
            _ => {}
        }
    }
}
