//! Fields as values: null, or the bytes that stand for a value.

use std::borrow::Cow;

use crate::csv::dialect::Dialect;

/// Which fields are null, and how numbers are written.
#[derive(Debug, Clone)]
pub(crate) struct ValueSyntax {
    null_words: Vec<Vec<u8>>,
    /// Lengths of null words, one bit each; the highest for all longer ones.
    null_lengths: u64,
    decimal_comma: bool,
}

impl ValueSyntax {
    pub(crate) fn new(dialect: &Dialect) -> Self {
        let words = dialect.null_words.iter();
        let null_words: Vec<Vec<u8>> = words.map(|word| word.as_bytes().to_vec()).collect();
        let lengths = null_words.iter().map(|word| length_bit(word.len()));
        Self {
            null_lengths: lengths.fold(length_bit(0), |bits, bit| bits | bit),
            null_words,
            decimal_comma: dialect.decimal_comma,
        }
    }

    /// Whether a field is null: not quoted, and empty or a null word.
    #[inline]
    pub(crate) fn is_null(&self, field: &[u8], is_quoted: bool) -> bool {
        self.null_lengths & length_bit(field.len()) != 0 && !is_quoted && self.is_null_word(field)
    }

    fn is_null_word(&self, field: &[u8]) -> bool {
        field.is_empty() || self.null_words.iter().any(|word| word == field)
    }

    /// A number with a point before its fraction; `None` if the dialect has commas and there is a
    /// point.
    #[inline]
    pub(crate) fn number<'a>(&self, value: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if self.decimal_comma {
            with_point(value)
        } else {
            Some(Cow::Borrowed(value))
        }
    }
}

fn length_bit(length: usize) -> u64 {
    1 << length.min(63)
}

fn with_point(value: &[u8]) -> Option<Cow<'_, [u8]>> {
    match memchr::memchr2(b'.', b',', value) {
        None => Some(Cow::Borrowed(value)),
        Some(at) if value.get(at) == Some(&b',') && !value.contains(&b'.') => {
            let mut value = value.to_vec();
            if let Some(comma) = value.get_mut(at) {
                *comma = b'.';
            }
            Some(Cow::Owned(value))
        }
        Some(_) => None,
    }
}

/// Whether `value` is `true` or `false`, in small letters, in capitals, or with a capital first.
#[inline]
pub(crate) fn parse_bool(value: &[u8]) -> Option<bool> {
    match value {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_are_unquoted() {
        let long = "n".repeat(70);
        let values = ValueSyntax::new(&Dialect {
            null_words: vec!["NA".into(), "\\N".into(), long.clone()],
            ..Dialect::default()
        });
        for word in ["", "NA", "\\N", &long] {
            assert!(values.is_null(word.as_bytes(), false));
            assert!(!values.is_null(word.as_bytes(), true));
        }
        for word in ["na", "N", "NAN", &"n".repeat(71)] {
            assert!(!values.is_null(word.as_bytes(), false));
        }
        let values = ValueSyntax::new(&Dialect::default());
        assert!(values.is_null(b"", false));
        assert!(!values.is_null(b"NA", false));
    }

    #[test]
    fn commas_become_points() {
        let values = ValueSyntax::new(&Dialect {
            decimal_comma: true,
            ..Dialect::default()
        });
        let number = |text: &'static str| values.number(text.as_bytes());
        assert_eq!(number("1,5").as_deref(), Some(&b"1.5"[..]));
        assert_eq!(number("15").as_deref(), Some(&b"15"[..]));
        assert_eq!(number("1,5,6").as_deref(), Some(&b"1.5,6"[..]));
        assert_eq!(number("1.5"), None);
        assert_eq!(number("1.234,5"), None);
        assert_eq!(number("1,234.5"), None);
    }
}
