//! Errors of a damaged Arrow file.

use colonnade_core::wire::DecodeError;
use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;

pub(super) type Result<T> = std::result::Result<T, ArrowError>;

pub(super) fn unsound(error: &DecodeError) -> ArrowError {
    damaged(&error.message)
}

pub(super) fn damaged(what: &str) -> ArrowError {
    ArrowError::IpcError(what.to_owned())
}

/// The error for a panic of arrow-rs, which some contradictory values cause.
pub(super) fn contradictory() -> DataFusionError {
    damaged("the values of a batch contradict each other").into()
}

/// The result of work on another thread, which blocks and may panic.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::result::Result<T, DataFusionError> + Send + 'static,
) -> std::result::Result<T, DataFusionError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(contradictory()))
}
