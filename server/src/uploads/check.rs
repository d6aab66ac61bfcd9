//! What an upload is, and whether it is whole.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use colonnade_core::wire::{Limits, Survey, SurveyError, survey_stream};

use crate::error::{ErrorKind, QueryError};
use crate::source::{Compression, FileFormat, FileKind, KNOWN_EXTENSIONS};

/// The largest body of one message, compressed or not: it is in memory while it is checked.
const MAX_BODY_BYTES: u64 = 1 << 30;

/// How much of a text is looked at for bytes that text does not have.
const TEXT_START_BYTES: u64 = 64 << 10;

/// Text is mostly 5 times as large as its gzip, a bomb 1000 times.
const MAX_EXPANSION: u64 = 250;

/// Text of this size may expand as it likes.
const FREE_TEXT_BYTES: u64 = 1 << 30;

/// One check at a time, so that their memory does not add up.
static CHECKING: Mutex<()> = Mutex::new(());

const MARKER: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// The kind of a file, and that an Arrow stream ends with its marker and nothing after it.
///
/// # Errors
/// `unsupported_media_type`, `bad_upload`, `missing_end_of_stream`.
pub(super) fn kind_of(path: &Path) -> Result<FileKind, QueryError> {
    let cannot_read = |error: io::Error| bad(format!("the upload cannot be read: {error}"));
    let file = File::open(path).map_err(cannot_read)?;
    let num_bytes = file.metadata().map_err(cannot_read)?.len();
    if num_bytes == 0 {
        return Err(bad("the upload has no bytes"));
    }
    let kind = FileKind::detect(path)
        .map_err(cannot_read)?
        .ok_or_else(|| {
            QueryError::new(
                ErrorKind::UnsupportedMediaType,
                "the upload is not a kind of table that is read",
                format!("send {KNOWN_EXTENSIONS}, with the Content-Type where it is text"),
            )
        })?;
    if kind.format.is_text() {
        check_text(path, kind, num_bytes)?;
    }
    if kind.format == FileFormat::ArrowStream {
        let _checking = CHECKING.lock().unwrap_or_else(PoisonError::into_inner);
        check_stream(file, num_bytes)?;
    }
    Ok(kind)
}

/// The extension with which a file of that kind is kept.
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
    }
}

/// The extension that a media type suggests, where the content itself does not say.
pub(super) fn suggested_extension(media_type: &str) -> &'static str {
    let media_type = media_type.split(';').next().unwrap_or_default();
    match media_type.trim().to_ascii_lowercase().as_str() {
        "text/csv" | "application/csv" => "csv",
        "text/tab-separated-values" => "tsv",
        "application/x-ndjson"
        | "application/ndjson"
        | "application/jsonl"
        | "application/x-jsonlines" => "ndjson",
        "application/vnd.apache.arrow.stream" => "arrows",
        _ => "unknown",
    }
}

/// Text has no zero bytes at its start; compressed text is whole and of a size that text has.
fn check_text(path: &Path, kind: FileKind, num_bytes: u64) -> Result<(), QueryError> {
    let damaged = |error: &dyn std::fmt::Display| bad(format!("the upload is damaged: {error}"));
    let file = File::open(path).map_err(|error| damaged(&error))?;
    let mut text = kind
        .compression
        .datafusion()
        .convert_read(file)
        .map_err(|error| damaged(&error))?;
    let mut start = Vec::with_capacity(TEXT_START_BYTES as usize);
    text.by_ref()
        .take(TEXT_START_BYTES)
        .read_to_end(&mut start)
        .map_err(|error| damaged(&error))?;
    if start.contains(&0) {
        return Err(bad("the upload is declared as text and holds zero bytes"));
    }
    if kind.compression == Compression::None {
        return Ok(());
    }
    let max_bytes = num_bytes.saturating_mul(MAX_EXPANSION) + FREE_TEXT_BYTES;
    let text_bytes =
        io::copy(&mut text.take(max_bytes), &mut io::sink()).map_err(|error| damaged(&error))?;
    if text_bytes == max_bytes {
        return Err(bad(format!(
            "the upload expands to more than {MAX_EXPANSION} times its size"
        )));
    }
    Ok(())
}

/// A reader of core's survey accepts a stream without a marker. So a marker is put behind the file,
/// and nobody may have needed it.
fn check_stream(file: File, num_bytes: u64) -> Result<(), QueryError> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut appended = Cursor::new(MARKER);
    let surveyed = survey((&mut reader).chain(&mut appended));
    let is_complete = appended.position() == 0;
    match surveyed {
        Ok(_) if is_complete => {
            let end = reader
                .stream_position()
                .map_err(|error| bad(format!("the upload cannot be read: {error}")))?;
            if end < num_bytes {
                return Err(bad(format!(
                    "{} bytes stand behind the end-of-stream marker at byte {end}",
                    num_bytes - end
                )));
            }
            Ok(())
        }
        Err(error) if is_complete => Err(bad(error.to_string())),
        _ => {
            // Once more without the marker that is not there.
            reader
                .rewind()
                .map_err(|error| bad(format!("the upload cannot be read: {error}")))?;
            Err(match survey(reader) {
                Ok(survey) => QueryError::new(
                    ErrorKind::MissingEndOfStream,
                    format!(
                        "the Arrow stream ends after {} rows, at byte {num_bytes}, without its end-of-stream marker",
                        survey.num_rows
                    ),
                    "send all of it: its writer closes the stream with FF FF FF FF 00 00 00 00",
                ),
                Err(error) => bad(error.to_string()),
            })
        }
    }
}

fn survey(reader: impl Read) -> Result<Survey, SurveyError> {
    let limits = Limits {
        max_body_bytes: MAX_BODY_BYTES,
        max_decompressed_bytes: MAX_BODY_BYTES,
        ..Limits::default()
    };
    survey_stream(reader, &limits)
}

/// A failure of the bytes.
pub(super) fn bad(message: impl AsRef<str>) -> QueryError {
    QueryError::new(
        ErrorKind::BadUpload,
        message,
        "send a whole Arrow stream, Arrow file, Parquet, CSV, TSV or NDJSON",
    )
}
