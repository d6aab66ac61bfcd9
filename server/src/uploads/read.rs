//! Reads an uploaded table once, from its first row to its last.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::backend::embedded::{Engine, read_through};
use crate::backend::runtime::QueryRuntime;
use crate::error::{ErrorKind, QueryError};
use crate::source::Table;
use crate::uploads::check::{bad, cancelled};

/// Checks that each row of a table can be read. Holds one batch of rows at a time; blocks.
///
/// # Errors
/// `bad_upload` for the first error; `cancelled`.
pub(super) fn read_whole(
    table: &Table,
    engine: &Engine,
    cancel: &CancellationToken,
) -> Result<(), QueryError> {
    // On a thread with a deep stack, because a damaged file can make a reader recurse deeply, or panic.
    let runtime = QueryRuntime::start(1).map_err(|error| {
        QueryError::new(
            ErrorKind::Internal,
            format!("the upload cannot be read: {error}"),
            "try again",
        )
    })?;
    let name = &table.name;
    let (table, state) = (Arc::new(table.clone()), engine.state());
    let reading = runtime
        .handle()
        .spawn(async move { read_through(&table, state).await });
    Handle::current().block_on(async {
        tokio::select! {
            read = reading => match read {
                Ok(read) => read.map(drop).map_err(|error| as_bad(&error)),
                Err(_) => Err(bad(format!("{name}: the file is damaged"))),
            },
            () = cancel.cancelled() => Err(cancelled()),
        }
    })
}

fn as_bad(error: &QueryError) -> QueryError {
    match error.kind {
        ErrorKind::ResourcesExhausted | ErrorKind::OutOfMemory | ErrorKind::StorageFull => {
            error.clone()
        }
        _ => QueryError::new(ErrorKind::BadUpload, &error.message, &error.hint),
    }
}
