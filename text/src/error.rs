//! Why text cannot be read.

use std::fmt;

use crate::Encoding;

/// An error of one record, or of the whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError {
    /// What is wrong.
    pub kind: TextErrorKind,
    /// Bytes of (decompressed) text before the record, or before the invalid bytes.
    pub offset_bytes: u64,
}

/// What is wrong with the text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextErrorKind {
    /// A value that the type of its column cannot hold exactly.
    Misfit {
        /// The column's name; fields of nested columns are joined by `.`.
        column: String,
        /// The value as it stands in the text, at most 100 characters of it.
        value: String,
        /// The column's type in the vocabulary of the `types` option.
        expected: String,
        /// A type of that vocabulary that can hold the value and the values before it.
        fitting: String,
    },
    /// A value of a field that none of the rows has that decided the columns.
    NewField {
        /// The field's name; fields of nested columns are joined by `.`.
        column: String,
        /// The value as it stands in the text, at most 100 characters of it.
        value: String,
        /// The field's type in the vocabulary of the `types` option.
        fitting: String,
    },
    /// A record with another number of fields than the first.
    FieldCount {
        /// Fields of the record.
        found: usize,
        /// Fields of the header, or of the first record.
        expected: usize,
    },
    /// A quote that is not closed before the text ends.
    UnclosedQuote,
    /// Characters between a closing quote and the next delimiter.
    AfterQuote,
    /// Bytes that are not of this encoding.
    Encoding(Encoding),
    /// A record longer than [`MAX_RECORD_BYTES`](crate::MAX_RECORD_BYTES).
    TooLong,
    /// More columns than [`MAX_COLUMNS`](crate::MAX_COLUMNS).
    TooManyColumns,
    /// Text that is not JSON, or JSON that is not an object; says what was expected instead.
    Json(String),
    /// Text without a header line or without any object.
    Empty,
}

impl TextError {
    pub(crate) fn new(kind: TextErrorKind, offset_bytes: u64) -> Self {
        Self { kind, offset_bytes }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TextErrorKind::Misfit {
                column,
                value,
                expected,
                ..
            } => write!(
                f,
                "{value:?} in column {column:?} is not of type {expected}"
            ),
            TextErrorKind::NewField { column, value, .. } => write!(
                f,
                "the field {column:?}, here {value:?}, is in none of the rows that decided the columns"
            ),
            TextErrorKind::FieldCount { found, expected } => {
                write!(
                    f,
                    "the row has {found} fields, but the header has {expected}"
                )
            }
            TextErrorKind::UnclosedQuote => write!(f, "the quote is not closed"),
            TextErrorKind::AfterQuote => {
                write!(f, "characters follow the closing quote of a field")
            }
            TextErrorKind::Encoding(encoding) => write!(f, "the text is not {}", encoding.label()),
            TextErrorKind::TooLong => write!(f, "the row is longer than 16 MiB"),
            TextErrorKind::TooManyColumns => write!(f, "there are more than 65,536 columns"),
            TextErrorKind::Json(what) => write!(f, "{what}"),
            TextErrorKind::Empty => write!(f, "there is no header line and no object"),
        }
    }
}

impl std::error::Error for TextError {}
