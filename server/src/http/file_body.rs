//! Responses that are one file: exports of results, and rows in other formats than Arrow streams.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures::StreamExt;

use crate::error::QueryError;
use crate::http::AppState;
use crate::http::arrow_body::abort;
use crate::results::ResultRecord;
use crate::results::export::{ExportOptions, ExportProgress, export};
use crate::results::stream::ResultStream;
use crate::slots::Slot;

/// The body of a file, which is written while the result is read and aborted if it fails. `progress` and the
/// record count what was sent. The slot is given back when the body ends or is dropped.
///
/// # Errors
/// The query failed before its first message, or the format cannot hold the result.
pub(super) async fn file_body(
    app: &AppState,
    mut result: ResultStream,
    options: &ExportOptions,
    progress: &Arc<ExportProgress>,
    record: Arc<ResultRecord>,
    slot: Slot,
) -> Result<Body, QueryError> {
    wait_for_first_message(&mut result, app.first_message_wait).await?;
    let num_threads = app.results.num_threads();
    let file = export(result, options, num_threads, Arc::clone(progress))?;
    let progress = Arc::clone(progress);
    let mut rows_sent = 0;
    let counted = file.map(move |piece| {
        // Moved into the stream, so that both end together.
        let _slot = &slot;
        let rows = progress.status().rows;
        if let Ok(bytes) = &piece {
            record.sent(rows - rows_sent, bytes.len() as u64, false);
        }
        rows_sent = rows;
        piece
    });
    let body = counted.then(|piece| async {
        match piece {
            Ok(bytes) => Ok(bytes),
            Err(error) => Err(abort(error).await),
        }
    });
    Ok(Body::from_stream(body))
}

/// Waits for the first message, so that an early failure still decides the status.
async fn wait_for_first_message(
    result: &mut ResultStream,
    at_most: Duration,
) -> Result<(), QueryError> {
    let first = tokio::time::timeout(at_most, result.messages.next());
    let Ok(first) = first.await else {
        return Ok(());
    };
    let first = first.transpose()?;
    let rest = std::mem::replace(&mut result.messages, futures::stream::empty().boxed());
    result.messages = futures::stream::iter(first.map(Ok)).chain(rest).boxed();
    Ok(())
}
