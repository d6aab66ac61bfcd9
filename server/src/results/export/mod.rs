//! Exports a whole result as one file, which is written while the result is read.
//!
//! A file is a stream of bytes that works only while it is polled and stops when it is dropped, which gives
//! backpressure and cancellation. Its memory does not grow with the rows, except for Parquet's row group in
//! progress and the list of blocks at the end of an Arrow file.

mod arrow_file;
mod batches;
mod csv;
mod format;
mod ndjson;
mod parquet;
mod parquet_schema;
mod progress;
mod text;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;

pub(crate) use batches::schema_of;
pub use format::{Compression, CsvOptions, ExportOptions, Format};
pub use progress::{ExportProgress, ExportStatus};

use crate::error::{ErrorKind, QueryError};
use crate::results::stream::ResultStream;

/// Bytes of a file, and the rows that they complete.
struct FileChunk {
    bytes: Bytes,
    num_rows: u64,
}

type FileChunks = BoxStream<'static, Result<FileChunk, QueryError>>;

/// The file. It is complete if the stream ends without an error; `progress` counts what was handed out.
/// Columns are encoded on up to `num_threads` threads of the runtime's pool for blocking work.
///
/// # Errors
/// `not_exportable`: a column that the format cannot hold. `internal`: the messages are not those of a
/// result.
pub fn export(
    result: ResultStream,
    options: &ExportOptions,
    num_threads: usize,
    progress: std::sync::Arc<ExportProgress>,
) -> Result<BoxStream<'static, Result<Bytes, QueryError>>, QueryError> {
    let num_threads = num_threads.max(1);
    let chunks = match options.format {
        Format::Parquet => parquet::parquet_file(result, options.compression, num_threads)?,
        Format::Csv => csv::csv_file(result, options.csv, num_threads)?,
        Format::Ndjson => ndjson::ndjson_file(result, num_threads)?,
        Format::Arrow => arrow_file::arrow_file(result)?,
    };
    let watch = progress::Watch::new(progress);
    let counted = futures::stream::unfold((chunks, watch), |(mut chunks, watch)| async move {
        match chunks.next().await {
            Some(Ok(chunk)) => {
                watch.sent(chunk.num_rows, chunk.bytes.len() as u64);
                Some((Ok(chunk.bytes), (chunks, watch)))
            }
            Some(Err(error)) => {
                watch.failed();
                Some((Err(error), (futures::stream::empty().boxed(), watch)))
            }
            None => {
                watch.done();
                None
            }
        }
    });
    Ok(counted.boxed())
}

/// The error for a result that a format cannot hold.
fn not_exportable(message: impl AsRef<str>, hint: impl AsRef<str>) -> QueryError {
    QueryError::new(ErrorKind::NotExportable, message, hint)
}

fn cannot_write(error: impl std::fmt::Display) -> QueryError {
    QueryError::new(
        ErrorKind::Internal,
        format!("the file cannot be written: {error}"),
        "export another format",
    )
}

/// Runs blocking work on a thread for such work, so that it does not delay other requests.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, QueryError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| cannot_write("the encoder stopped"))
}
