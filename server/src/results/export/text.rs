use std::sync::Arc;

use bytes::Bytes;
use colonnade_core::table::Table;
use futures::{StreamExt, TryStreamExt, future};

use super::{FileChunk, FileChunks, blocking};
use crate::encode::cells::CellReader;
use crate::error::QueryError;
use crate::results::stream::ResultStream;

/// Writes the rows of a text format.
pub(super) trait RowWriter: Send + Sync + 'static {
    /// The text before the first row.
    fn head(&self) -> String;

    /// Appends all rows of one batch.
    fn write(&self, rows: &Table, out: &mut String);
}

/// A file whose rows can be written independently: batches are written in parallel and handed out in order.
pub(super) fn text_file(
    result: ResultStream,
    writer: impl RowWriter,
    num_threads: usize,
) -> Result<FileChunks, QueryError> {
    let mut reader = CellReader::try_new(&result.schema)?;
    let head = FileChunk {
        bytes: Bytes::from(writer.head()),
        num_rows: 0,
    };
    let writer = Arc::new(writer);
    let rows = result
        .messages
        .map(move |message| reader.read(&message?))
        .try_filter_map(future::ok)
        .map(move |rows| {
            let writer = Arc::clone(&writer);
            async move {
                let rows = rows?;
                blocking(move || {
                    let mut text = String::new();
                    writer.write(&rows, &mut text);
                    FileChunk {
                        bytes: Bytes::from(text),
                        num_rows: rows.num_rows(),
                    }
                })
                .await
            }
        })
        .buffered(num_threads);
    let head = futures::stream::iter((!head.bytes.is_empty()).then_some(Ok(head)));
    Ok(head.chain(rows).boxed())
}
