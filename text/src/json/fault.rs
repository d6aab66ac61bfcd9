//! An error of a record whose offset is not known yet.

use crate::{TextError, TextErrorKind};

/// The most characters of a value that an error shows.
const MAX_SHOWN_CHARS: usize = 100;

/// Why a record cannot be read. Boxed, because results of it are returned for every value.
#[derive(Debug)]
pub(super) struct Fault(Box<TextErrorKind>);

pub(super) type Parsed<T> = Result<T, Fault>;

impl Fault {
    #[cold]
    pub(super) fn new(kind: TextErrorKind) -> Self {
        Self(Box::new(kind))
    }

    /// Text that is not JSON.
    #[cold]
    pub(super) fn json(what: impl Into<String>) -> Self {
        Self::new(TextErrorKind::Json(what.into()))
    }

    /// A value that its column cannot hold. The column's name follows with [`Fault::within`].
    #[cold]
    pub(super) fn misfit(value: &str, expected: &str, fitting: &str) -> Self {
        Self::new(TextErrorKind::Misfit {
            column: String::new(),
            value: shown(value),
            expected: expected.to_owned(),
            fitting: fitting.to_owned(),
        })
    }

    /// A value of a field that its column has not. The field's name follows with [`Fault::within`].
    #[cold]
    pub(super) fn new_field(value: &str, fitting: &str) -> Self {
        Self::new(TextErrorKind::NewField {
            column: String::new(),
            value: shown(value),
            fitting: fitting.to_owned(),
        })
    }

    /// Puts the name of the enclosing column before that of the misfit.
    #[cold]
    pub(super) fn within(mut self, name: &str) -> Self {
        if let TextErrorKind::Misfit { column, .. } | TextErrorKind::NewField { column, .. } =
            self.0.as_mut()
        {
            let inner = std::mem::take(column);
            *column = if inner.is_empty() {
                name.to_owned()
            } else {
                format!("{name}.{inner}")
            };
        }
        self
    }

    /// The error of the record that has `offset_bytes` of text before it.
    #[cold]
    pub(super) fn at(self, offset_bytes: u64) -> TextError {
        TextError::new(*self.0, offset_bytes)
    }
}

fn shown(value: &str) -> String {
    value.chars().take(MAX_SHOWN_CHARS).collect()
}
