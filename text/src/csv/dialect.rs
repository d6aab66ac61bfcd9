//! How a CSV text is written.

use crate::notation::{DateNotation, DecimalSign, Reading, Thousands};

/// The bytes that end a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LineEnd {
    /// LF, or CR and LF. A CR that no LF follows belongs to a value.
    #[default]
    Lf,
    /// CR alone, as in texts without any LF.
    Cr,
}

impl LineEnd {
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Lf => b'\n',
            Self::Cr => b'\r',
        }
    }
}

/// How a CSV text is written: its special bytes, its header, and its words for null.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Dialect {
    /// The byte between fields.
    pub delimiter: u8,
    /// The byte around fields that contain delimiters, line ends or quotes; `None`: every byte stands
    /// for itself.
    pub quote: Option<u8>,
    /// The byte that, inside quotes, stands before a quote or before itself, for example `\`; before
    /// other bytes it stands for itself. `None`: a quote inside quotes is doubled.
    pub escape: Option<u8>,
    /// Lines that start with this byte are skipped.
    pub comment: Option<u8>,
    /// What ends a line outside of quotes.
    pub line_end: LineEnd,
    /// Whether the first record names the columns.
    pub has_header: bool,
    /// The sign before fractions; `None`: found for each column. With a comma, `1.5` is text.
    pub decimal: Option<DecimalSign>,
    /// The sign between groups of digits.
    pub thousands: Thousands,
    /// How dates are written that are not `2024-01-31`; `None`: found for each column.
    pub dates: Option<DateNotation>,
    /// Columns by their names, and how they are read in any case.
    pub readings: Vec<(String, Reading)>,
    /// Unquoted fields that are null, besides empty ones.
    pub null_words: Vec<String>,
}

impl Default for Dialect {
    /// Commas, doubled quotes, lines that end with LF or CR LF, a header, no comments, no null words.
    fn default() -> Self {
        Self {
            delimiter: b',',
            quote: Some(b'"'),
            escape: None,
            comment: None,
            line_end: LineEnd::Lf,
            has_header: true,
            decimal: None,
            thousands: Thousands::Any,
            dates: None,
            readings: Vec::new(),
            null_words: Vec::new(),
        }
    }
}

/// The special bytes of a dialect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Syntax {
    pub(crate) delimiter: u8,
    pub(crate) line_end: u8,
    pub(crate) quote: Option<u8>,
    /// Never the quote itself.
    pub(crate) escape: Option<u8>,
    pub(crate) comment: Option<u8>,
}

impl Syntax {
    pub(crate) fn new(dialect: &Dialect) -> Self {
        Self {
            delimiter: dialect.delimiter,
            line_end: dialect.line_end.byte(),
            quote: dialect.quote,
            escape: dialect.escape.filter(|_| dialect.quote != dialect.escape),
            comment: dialect.comment,
        }
    }

    /// Whether no special byte can be a part of a character of UTF-8.
    pub(crate) fn is_ascii(&self) -> bool {
        let others = [self.quote, self.escape, self.comment];
        self.delimiter.is_ascii() && others.into_iter().flatten().all(|byte| byte.is_ascii())
    }

    /// Appends the value of a quoted field to `value`: without the bytes that escape quotes.
    pub(crate) fn unescape(&self, field: &[u8], value: &mut Vec<u8>) {
        let Some(quote) = self.quote else {
            value.extend_from_slice(field);
            return;
        };
        let escape = self.escape.unwrap_or(quote);
        let mut rest = field;
        while let Some(at) = memchr::memchr(escape, rest) {
            let (plain, escaped) = rest.split_at(at);
            value.extend_from_slice(plain);
            let next = escaped.get(1).copied();
            let is_escape = next == Some(quote) || next == Some(escape);
            let byte = next.filter(|_| is_escape).unwrap_or(escape);
            value.push(byte);
            rest = escaped
                .get(1 + usize::from(is_escape)..)
                .unwrap_or_default();
        }
        value.extend_from_slice(rest);
    }
}
