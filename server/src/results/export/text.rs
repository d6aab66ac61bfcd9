use std::sync::Arc;

use bytes::Bytes;
use colonnade_core::table::Table;
use colonnade_core::wire::DecodeError;
use futures::{StreamExt, TryStreamExt, future};

use super::{FileChunk, FileChunks, blocking};
use crate::encode::cells::{CellReader, unreadable};
use crate::error::QueryError;
use crate::results::stream::ResultStream;

/// Writes the rows of a text format.
pub(super) trait RowWriter: Send + Sync + 'static {
    /// The text before the first row.
    fn head(&self) -> String;

    /// Appends all rows of one batch.
    ///
    /// # Errors
    /// The values of a dictionary cannot be gathered.
    fn write(&self, rows: &Table, out: &mut String) -> Result<(), DecodeError>;
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
                let written = blocking(move || {
                    let mut text = String::new();
                    writer.write(&rows, &mut text)?;
                    Ok::<_, DecodeError>(FileChunk {
                        bytes: Bytes::from(text),
                        num_rows: rows.num_rows(),
                    })
                });
                written.await?.map_err(unreadable)
            }
        })
        .buffered(num_threads);
    let head = futures::stream::iter((!head.bytes.is_empty()).then_some(Ok(head)));
    Ok(head.chain(rows).boxed())
}
