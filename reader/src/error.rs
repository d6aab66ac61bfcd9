use std::fmt;

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

/// What kind of fault a [`ReadError`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The bytes are not those of a Parquet file, or contradict each other.
    Invalid,
    /// The file is encrypted, or has a type, an encoding or a codec that is not read.
    Unsupported,
    /// A page, or the rows of one message, need more memory than there is for them.
    TooLarge,
}

impl ErrorCode {
    /// The code as programs see it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid_parquet",
            Self::Unsupported => "unsupported_parquet",
            Self::TooLarge => "memory_budget_exceeded",
        }
    }
}

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// The kind of the fault.
    pub code: ErrorCode,
    /// What is wrong, in one line.
    pub message: String,
}

pub(crate) type Result<T> = std::result::Result<T, ReadError>;

impl ReadError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Invalid, message)
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unsupported, message)
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::TooLarge, message)
    }

    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}

impl From<ParquetError> for ReadError {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::NYI(what) => Self::unsupported(what),
            ParquetError::External(inner) => match inner.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::invalid(other.to_string()),
            },
            other => Self::invalid(other.to_string()),
        }
    }
}

impl From<ArrowError> for ReadError {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(inner) => match inner.downcast::<ParquetError>() {
                Ok(inner) => Self::from(*inner),
                Err(other) => Self::invalid(other.to_string()),
            },
            ArrowError::NotYetImplemented(what) => Self::unsupported(what),
            other => Self::invalid(other.to_string()),
        }
    }
}

impl From<ReadError> for ParquetError {
    fn from(error: ReadError) -> Self {
        Self::External(Box::new(error))
    }
}
