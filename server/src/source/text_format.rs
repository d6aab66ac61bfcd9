//! What CSV and NDJSON have in common: one row after the other, possibly compressed.

use std::io::Read;

use datafusion::arrow::error::ArrowError;

use crate::source::cursor::Cursor;
use crate::source::{FileKind, SourceFile};

/// The number of rows from which the types are inferred.
pub(super) const INFER_ROWS: usize = 20_000;

/// The decompressed text of a file from its start.
///
/// # Errors
/// The file cannot be decompressed.
pub(super) fn open(file: &SourceFile, kind: FileKind) -> Result<Box<dyn Read + Send>, ArrowError> {
    kind.compression
        .datafusion()
        .convert_read(Cursor::buffered(file))
        .map_err(|error| ArrowError::ExternalError(Box::new(error)))
}

/// The result of `infer` for the first [`INFER_ROWS`] rows. If one of them is invalid, the result for
/// the rows before it.
///
/// # Errors
/// The error of `infer` for all rows, if the first row is invalid.
pub(super) fn of_sound_rows<T>(
    infer: impl Fn(usize) -> Result<T, ArrowError>,
) -> Result<T, ArrowError> {
    infer(INFER_ROWS).or_else(|error| {
        let (mut sound, mut broken, mut best) = (0, INFER_ROWS, None);
        while broken - sound > 1 {
            let middle = sound + (broken - sound) / 2;
            match infer(middle) {
                Ok(schema) => (sound, best) = (middle, Some(schema)),
                Err(_) => broken = middle,
            }
        }
        best.ok_or(error)
    })
}
