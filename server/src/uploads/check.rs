//! Detects the format of an upload and checks that it is complete.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use colonnade_core::wire::{DecodeErrorKind, Limits, SurveyError, survey_stream};

use crate::error::{ErrorKind, QueryError};
use crate::source::{
    Compression, FileFormat, FileKind, KNOWN_EXTENSIONS, behind_marker, without_marker,
};

/// The largest body of one message, compressed or not, because it is in memory while it is read.
const MAX_BODY_BYTES: u64 = 1 << 30;

/// The largest ratio of text to compressed text. Usual text expands 5 times, a decompression bomb 1000 times.
const MAX_EXPANSION: u64 = 250;

/// Bytes of text that are permitted beyond that ratio.
const FREE_TEXT_BYTES: u64 = 1 << 30;

/// Detects the kind of a file and checks it. An Arrow stream must end with its marker, and nothing may
/// follow.
///
/// # Errors
/// `unsupported_media_type`, `bad_upload`, `missing_end_of_stream`.
pub(super) fn kind_of(
    path: &Path,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<FileKind, QueryError> {
    let cannot_read = |error: io::Error| bad(format!("the upload cannot be read: {error}"));
    let file = File::open(path).map_err(cannot_read)?;
    let num_bytes = file.metadata().map_err(cannot_read)?.len();
    if num_bytes == 0 {
        return Err(bad("the upload is empty"));
    }
    let kind = FileKind::detect(path)
        .map_err(cannot_read)?
        .ok_or_else(|| {
            QueryError::new(
                ErrorKind::UnsupportedMediaType,
                "the upload is not in a supported format",
                format!("send {KNOWN_EXTENSIONS}, with the Content-Type if it is text"),
            )
        })?;
    if kind.format.is_text() {
        check_text(path, kind, num_bytes, is_cancelled)?;
    }
    if kind.format == FileFormat::ArrowStream {
        check_stream(file, num_bytes)?;
    }
    Ok(kind)
}

/// The extension with which a file of that kind is stored. It is never `json` alone, as that of manifests.
pub(super) fn extension(kind: FileKind) -> &'static str {
    match (kind.format, kind.compression) {
        (FileFormat::Parquet, _) => "parquet",
        (FileFormat::ArrowFile, _) => "arrow",
        (FileFormat::ArrowStream, _) => "arrows",
        (FileFormat::Csv, Compression::None) => "csv",
        (FileFormat::Csv, Compression::Gzip) => "csv.gz",
        (FileFormat::Csv, Compression::Zstd) => "csv.zst",
        (FileFormat::Tsv, Compression::None) => "tsv",
        (FileFormat::Tsv, Compression::Gzip) => "tsv.gz",
        (FileFormat::Tsv, Compression::Zstd) => "tsv.zst",
        (FileFormat::Ndjson, Compression::None) => "ndjson",
        (FileFormat::Ndjson, Compression::Gzip) => "ndjson.gz",
        (FileFormat::Ndjson, Compression::Zstd) => "ndjson.zst",
        (FileFormat::Json, Compression::None) => "data.json",
        (FileFormat::Json, Compression::Gzip) => "json.gz",
        (FileFormat::Json, Compression::Zstd) => "json.zst",
    }
}

/// The extension that a media type suggests, used if the content does not identify its format.
pub(super) fn suggested_extension(media_type: &str) -> &'static str {
    let media_type = media_type.split(';').next().unwrap_or_default();
    match media_type.trim().to_ascii_lowercase().as_str() {
        "text/csv" | "application/csv" => "csv",
        "text/tab-separated-values" => "tsv",
        "application/x-ndjson"
        | "application/ndjson"
        | "application/jsonl"
        | "application/x-jsonlines" => "ndjson",
        "application/json" => "json",
        "application/vnd.apache.arrow.stream" => "arrows",
        _ => "unknown",
    }
}

/// Checks that compressed text is complete and does not expand too far.
fn check_text(
    path: &Path,
    kind: FileKind,
    num_bytes: u64,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), QueryError> {
    let damaged = |error: &dyn std::fmt::Display| bad(format!("the upload is damaged: {error}"));
    let file = File::open(path).map_err(|error| damaged(&error))?;
    let text = kind
        .compression
        .unpack(BufReader::new(file))
        .map_err(|error| damaged(&error))?;
    let max_bytes = match kind.compression {
        Compression::None => u64::MAX,
        _ => num_bytes.saturating_mul(MAX_EXPANSION) + FREE_TEXT_BYTES,
    };
    let mut text_bytes = 0;
    let mut text = text.take(max_bytes);
    let mut chunk = vec![0; 1 << 16];
    loop {
        let read = text.read(&mut chunk).map_err(|error| damaged(&error))?;
        if read == 0 {
            break;
        }
        text_bytes += read as u64;
        if is_cancelled() {
            return Err(cancelled());
        }
    }
    if text_bytes == max_bytes {
        return Err(bad(format!(
            "the upload expands to more than {MAX_EXPANSION} times its size"
        )));
    }
    Ok(())
}

pub(super) fn limits() -> Limits {
    Limits {
        max_body_bytes: MAX_BODY_BYTES,
        max_decompressed_bytes: MAX_BODY_BYTES,
        ..Limits::default()
    }
}

/// Checks all headers, and no bodies, because those are checked whenever they are read.
fn check_stream(file: File, num_bytes: u64) -> Result<(), QueryError> {
    let survey = match survey_stream(BufReader::with_capacity(1 << 16, file), &limits()) {
        Ok(survey) => survey,
        Err(SurveyError::Decode(error)) if error.kind == DecodeErrorKind::TruncatedMessage => {
            return Err(cut(error.row, num_bytes));
        }
        Err(error) => return Err(bad(error.to_string())),
    };
    match survey.marker_end {
        None => Err(cut(survey.num_rows, num_bytes)),
        Some(end) if end < num_bytes => Err(bad(behind_marker(end, num_bytes))),
        Some(_) => Ok(()),
    }
}

fn cut(num_rows: u64, num_bytes: u64) -> QueryError {
    QueryError::new(
        ErrorKind::MissingEndOfStream,
        without_marker(num_rows, num_bytes),
        "send the complete stream: a writer ends it with FF FF FF FF 00 00 00 00",
    )
}

/// The error for an upload whose client has left.
pub(super) fn cancelled() -> QueryError {
    QueryError::new(
        ErrorKind::Cancelled,
        "the client left before the upload was checked",
        "send it again, and wait for the answer",
    )
}

/// An error `bad_upload`.
pub(super) fn bad(message: impl AsRef<str>) -> QueryError {
    QueryError::new(
        ErrorKind::BadUpload,
        message,
        "send a complete Arrow stream, Arrow file, Parquet, CSV, TSV or NDJSON",
    )
}
