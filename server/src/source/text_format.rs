//! What CSV and NDJSON have in common: a row after the other, perhaps compressed.

use std::io::Read;

use datafusion::arrow::error::ArrowError;

use crate::source::cursor::Cursor;
use crate::source::{FileKind, SourceFile};

/// Rows whose text decides the types.
pub(super) const INFER_ROWS: usize = 20_000;

/// The text of a file from its front.
///
/// # Errors
/// It cannot be decompressed.
pub(super) fn open(file: &SourceFile, kind: FileKind) -> Result<Box<dyn Read + Send>, ArrowError> {
    kind.compression
        .datafusion()
        .convert_read(Cursor::buffered(file))
        .map_err(|error| ArrowError::ExternalError(Box::new(error)))
}

/// What `infer` says of the first [`INFER_ROWS`] rows, or where one of them is broken of those before it.
///
/// # Errors
/// What it says of all of them, where the first row is broken.
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
