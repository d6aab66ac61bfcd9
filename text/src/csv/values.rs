//! Fields as values: null, or the bytes that stand for a value.

use crate::csv::dialect::Dialect;
use crate::notation::{DateNotation, DecimalSign, Reading, Thousands};
use crate::number::{PlainNumber, parse_non_finite};

/// Which fields of a column are null, and how its numbers and dates are written.
#[derive(Debug, Clone)]
pub(crate) struct ValueSyntax {
    null_words: Vec<Vec<u8>>,
    /// Lengths of null words, one bit each; the highest for all longer ones.
    null_lengths: u64,
    /// `None`: as in `-1.5`.
    pub(crate) decimal: Option<DecimalSign>,
    pub(crate) thousands: Thousands,
    /// `None`: as in `2024-01-31`.
    pub(crate) dates: Option<DateNotation>,
    /// Whether the column is read so in any case; values that are written otherwise are errors.
    pub(crate) reading: Option<Reading>,
}

impl ValueSyntax {
    /// What the dialect says about all columns.
    pub(crate) fn new(dialect: &Dialect) -> Self {
        let words = dialect.null_words.iter();
        let null_words: Vec<Vec<u8>> = words.map(|word| word.as_bytes().to_vec()).collect();
        let lengths = null_words.iter().map(|word| length_bit(word.len()));
        Self {
            null_lengths: lengths.fold(length_bit(0), |bits, bit| bits | bit),
            null_words,
            decimal: match dialect.thousands {
                Thousands::Point => Some(DecimalSign::Comma),
                Thousands::Comma => Some(DecimalSign::Point),
                _ => dialect.decimal,
            },
            thousands: dialect.thousands,
            dates: dialect.dates,
            reading: None,
        }
    }

    /// The same for a column that is read in a certain way.
    pub(crate) fn read_as(&self, reading: Reading) -> Self {
        let mut values = self.clone();
        match reading {
            Reading::Number(sign) => values.decimal = Some(sign),
            Reading::Date(notation) => values.dates = Some(notation),
        }
        values.reading = Some(reading);
        values
    }

    /// Whether a field is null: not quoted, and empty or a null word.
    #[inline]
    pub(crate) fn is_null(&self, field: &[u8], is_quoted: bool) -> bool {
        self.null_lengths & length_bit(field.len()) != 0 && !is_quoted && self.is_null_word(field)
    }

    fn is_null_word(&self, field: &[u8]) -> bool {
        field.is_empty() || self.null_words.iter().any(|word| word == field)
    }

    /// A short number; `None` for others, and where a point is no decimal sign.
    #[inline]
    pub(crate) fn short_number(&self, value: &[u8]) -> Option<ShortNumber> {
        match self.decimal {
            None | Some(DecimalSign::Point) => ShortNumber::parse(value),
            Some(DecimalSign::Comma | DecimalSign::None) => None,
        }
    }

    /// Calls `parse` with a number as [`Number`](crate::number::Number) reads it; `None` if it is written otherwise.
    #[inline]
    pub(crate) fn number<T>(
        &self,
        value: &[u8],
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        match self.decimal {
            None => parse(value),
            Some(_) if parse_non_finite(value).is_some() => parse(value),
            Some(sign) => parse(PlainNumber::parse(value, sign, self.thousands)?.text()),
        }
    }
}

#[inline]
fn length_bit(length: usize) -> u64 {
    1 << length.min(63)
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

/// A number of at most 16 digits without exponent, and not `-0`: the fast path of most columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShortNumber {
    /// The digits without the point.
    mantissa: i64,
    /// Digits behind the point; `None` without a point.
    num_decimals: Option<usize>,
}

impl ShortNumber {
    #[inline]
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        if digits.len() > 16 {
            return None;
        }
        let mut mantissa = 0;
        let mut point = None;
        for (at, byte) in digits.iter().enumerate() {
            let digit = byte.wrapping_sub(b'0');
            if digit <= 9 {
                mantissa = mantissa * 10 + i64::from(digit);
            } else if *byte == b'.' && point.is_none() {
                point = Some(at);
            } else {
                return None;
            }
        }
        let integer_len = point.unwrap_or(digits.len());
        let num_decimals = point.map(|at| digits.len() - at - 1);
        let is_negative = digits.len() < text.len();
        let is_valid = integer_len > 0
            && (integer_len == 1 || digits.first() != Some(&b'0'))
            && num_decimals != Some(0)
            && (!is_negative || mantissa != 0);
        is_valid.then_some(Self {
            mantissa: if is_negative { -mantissa } else { mantissa },
            num_decimals,
        })
    }

    /// The number, if it has no point.
    #[inline]
    pub(crate) fn to_i64(self) -> Option<i64> {
        self.num_decimals.is_none().then_some(self.mantissa)
    }

    /// The nearest double; `None` for an integer that is not exact.
    #[inline]
    pub(crate) fn to_f64(self) -> Option<f64> {
        const POWERS: [f64; 16] = [
            1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
        ];
        // With a point there are at most 15 digits, so that both operands are exact, and their quotient
        // is the nearest double.
        let power = POWERS.get(self.num_decimals.unwrap_or(0))?;
        let mantissa = self.mantissa as f64;
        (mantissa as i64 == self.mantissa).then_some(mantissa / power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Number;

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
    fn short_numbers_are_numbers_as_everywhere() {
        let texts = [
            "0",
            "-1",
            "12",
            "1.5",
            "-0.25",
            "0.1",
            "999999999999999.9",
            "9007199254740993",
            "0.00000000000001",
            "-0",
            "-0.0",
            "01",
            "00.5",
            ".5",
            "5.",
            ".",
            "-",
            "",
            "1.2.3",
            "1e5",
            "+1",
            " 1",
            "12345678901234567",
            "9007199254740993",
            "-9999999999999999",
        ];
        for text in texts {
            let text = text.as_bytes();
            let number = Number::parse(text);
            match ShortNumber::parse(text) {
                Some(short) => {
                    let number = number.expect("a number");
                    assert_eq!(short.to_i64(), number.to_i64());
                    let bits = |value: Option<f64>| value.map(f64::to_bits);
                    assert_eq!(bits(short.to_f64()), bits(number.to_f64()));
                }
                None => assert!(
                    text.len() > 16
                        || number.is_none_or(|number| {
                            number.is_negative_zero() || text.contains(&b'e')
                        })
                ),
            }
        }
    }
}
