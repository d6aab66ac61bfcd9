//! Errors of a damaged Arrow file.

use colonnade_core::wire::DecodeError;
use datafusion::arrow::error::ArrowError;

pub(super) type Result<T> = std::result::Result<T, ArrowError>;

pub(super) fn unsound(error: &DecodeError) -> ArrowError {
    damaged(&error.message)
}

pub(super) fn damaged(what: &str) -> ArrowError {
    ArrowError::IpcError(what.to_owned())
}
