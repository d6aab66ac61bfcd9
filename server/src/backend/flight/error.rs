//! Converts gRPC's errors to [`QueryError`].

use std::error::Error;

use tonic::{Code, Status};

use crate::backend::connection;
use crate::error::{ErrorKind, QueryError};

/// The longest message of an engine that is shown.
const MAX_CHARS: usize = 2000;

/// The error for a gRPC status.
pub(super) fn refused(status: &Status) -> QueryError {
    let (kind, hint) = match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => (
            ErrorKind::EngineUnavailable,
            "give a user or token that may read this in the source: flightsql://user:password@host:port or ?token=…",
        ),
        Code::Unavailable | Code::DeadlineExceeded | Code::Unknown => (
            ErrorKind::EngineUnavailable,
            "check that the engine runs, and run the query again",
        ),
        Code::InvalidArgument | Code::NotFound => {
            (ErrorKind::SqlError, "the dialect is the engine's own")
        }
        Code::Cancelled | Code::Aborted => (ErrorKind::Cancelled, "run the query again"),
        Code::ResourceExhausted | Code::OutOfRange => (
            ErrorKind::ResourcesExhausted,
            "select fewer columns, or shorter values",
        ),
        Code::DataLoss => (
            ErrorKind::BadEngine,
            "the engine failed, and not the statement; its log has more",
        ),
        Code::Unimplemented => (
            ErrorKind::NotSupported,
            "check that it is a Flight SQL server",
        ),
        _ => (
            ErrorKind::ExecutionError,
            "change the statement; the engine's log has more",
        ),
    };
    let text: String = status.message().trim().chars().take(MAX_CHARS).collect();
    let text = if text.is_empty() {
        format!("the engine answered {}", status.code())
    } else {
        text
    };
    QueryError::new(kind, text, hint)
}

/// The error for a server that cannot be reached, or whose connection broke.
pub(super) fn unreachable(address: &str, error: &(dyn Error + 'static)) -> QueryError {
    connection::unreachable(
        &format!("the engine at {address}"),
        error,
        "check that its Flight SQL server runs there, and whether it wants ?tls=true",
    )
}
