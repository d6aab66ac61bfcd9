//! CSV and TSV: the columns of a file, and the position of an invalid row.

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use colonnade_core::semantics::distinct_names;
use datafusion::arrow::csv::ReaderBuilder;
use datafusion::arrow::csv::reader::Format;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;

use crate::error::{ErrorKind, QueryError};
use crate::source::cursor::Cursor;
use crate::source::text_format::{INFER_ROWS, of_sound_rows, open};
use crate::source::{Compression, FileKind, SourceFile};

/// Rows that are parsed at once during the search for an invalid row.
const SEARCH_ROWS: usize = 64;

/// Uncompressed files up to this size are searched for line breaks inside quotes. A larger file is read
/// in one piece, which is always correct.
const MAX_SEARCH_BYTES: u64 = 4 << 30;

/// The same limit for a file in an object store, which must be downloaded for the search.
const MAX_REMOTE_SEARCH_BYTES: u64 = 64 << 20;

/// The columns of a CSV file: names from its first line, types from its first rows. Rows with a wrong
/// number of fields are ignored here; they are reported when they are read.
///
/// # Errors
/// The file cannot be read or has no header line.
pub(super) fn infer_schema(file: &SourceFile, kind: FileKind) -> Result<SchemaRef, ArrowError> {
    let infer = |max_rows: usize| {
        let format = Format::default()
            .with_header(true)
            .with_delimiter(kind.format.delimiter());
        let (schema, _) = format.infer_schema(open(file, kind)?, Some(max_rows))?;
        Ok::<_, ArrowError>(schema)
    };
    // If no row is valid, the header line alone decides.
    let schema = of_sound_rows(infer).or_else(|error| infer(0).map_err(|_| error))?;
    if schema.fields().is_empty() {
        return Err(ArrowError::CsvError("the file has no header line".into()));
    }
    let names: Vec<String> = schema
        .fields()
        .iter()
        .enumerate()
        .map(
            |(index, field)| match field.name().trim_start_matches('\u{feff}') {
                "" => format!("column_{}", index + 1),
                name => name.to_owned(),
            },
        )
        .collect();
    let fields: Vec<Field> = distinct_names(names.iter().map(String::as_str))
        .into_iter()
        .zip(schema.fields())
        .map(|(name, field)| {
            let data_type = match field.data_type() {
                DataType::Null => DataType::Utf8,
                other => other.clone(),
            };
            Field::new(name, data_type, true)
        })
        .collect();
    Ok(Arc::new(Schema::new(fields)))
}

/// The common schema of several files. The names must be the same and in the same order; types are
/// widened.
///
/// # Errors
/// One line that says which file differs and how.
pub(super) fn merge(a: &Schema, b: &Schema, label: &str) -> Result<SchemaRef, String> {
    let names = |schema: &Schema| {
        schema
            .fields()
            .iter()
            .map(|f| f.name().clone())
            .collect::<Vec<_>>()
    };
    if names(a) != names(b) {
        return Err(format!(
            "{label} has the columns {:?}, but the files before it have {:?}",
            names(b),
            names(a)
        ));
    }
    let fields: Vec<Field> = a
        .fields()
        .iter()
        .zip(b.fields())
        .map(|(a, b)| Field::new(a.name(), wider(a.data_type(), b.data_type()), true))
        .collect();
    Ok(Arc::new(Schema::new(fields)))
}

fn wider(a: &DataType, b: &DataType) -> DataType {
    match (a, b) {
        _ if a == b => a.clone(),
        (DataType::Int64, DataType::Float64) | (DataType::Float64, DataType::Int64) => {
            DataType::Float64
        }
        _ => DataType::Utf8,
    }
}

/// Whether line breaks may be inside quotes, so that the file cannot be split.
pub(super) fn has_quoted_newlines(file: &SourceFile, kind: FileKind) -> bool {
    let max_bytes = if file.is_remote() {
        MAX_REMOTE_SEARCH_BYTES
    } else {
        MAX_SEARCH_BYTES
    };
    if kind.compression != Compression::None || file.size_bytes() > max_bytes {
        return true;
    }
    search_quoted_newline(Cursor::buffered(file)).unwrap_or(true)
}

fn search_quoted_newline(mut reader: impl Read) -> io::Result<bool> {
    let mut buffer = vec![0; 1 << 20];
    let mut quoted = false;
    loop {
        let read = reader.read(&mut buffer)?;
        if read == 0 {
            return Ok(false);
        }
        let bytes = &buffer[..read];
        if !quoted && !bytes.contains(&b'"') {
            continue;
        }
        for byte in bytes {
            match byte {
                b'"' => quoted = !quoted,
                b'\n' | b'\r' if quoted => return Ok(true),
                _ => {}
            }
        }
    }
}

/// Reads the file from the start and describes the first invalid row.
pub(super) fn find_broken_row(
    file: &SourceFile,
    kind: FileKind,
    schema: &SchemaRef,
    is_cancelled: &dyn Fn() -> bool,
) -> Option<QueryError> {
    let reader = ReaderBuilder::new(Arc::clone(schema))
        .with_header(true)
        .with_delimiter(kind.format.delimiter())
        .with_batch_size(SEARCH_ROWS)
        .build(open(file, kind).ok()?)
        .ok()?;
    let mut batches = reader.into_iter().take_while(|_| !is_cancelled());
    let error = batches.find_map(Result::err)?;
    Some(describe(&error, file, kind, schema))
}

fn describe(error: &ArrowError, file: &SourceFile, kind: FileKind, schema: &Schema) -> QueryError {
    let label = &file.label;
    let text = match error {
        ArrowError::CsvError(text) | ArrowError::ParseError(text) => text.clone(),
        other => other.to_string(),
    };
    let line_of = |record: &str, offset: u64| {
        let record = record.parse::<u64>().ok()? + offset;
        Some(physical_line(file, kind, record).unwrap_or(record))
    };
    if let Some(rest) = text.strip_prefix("incorrect number of fields for line ")
        && let Some((record, rest)) = rest.split_once(", expected ")
        && let Some((expected, got)) = rest.split_once(" got ")
        && let Some(line) = line_of(record, 0)
    {
        return QueryError::new(
            ErrorKind::BrokenRow,
            format!(
                "{label}, line {line}: the row has {got} fields, but the header has {expected}"
            ),
            format!(
                "give line {line} {expected} fields, or put a field that holds the delimiter in quotes"
            ),
        );
    }
    if let Some(rest) = text.strip_prefix("Error while parsing value ")
        && let Some((value, rest)) = rest.split_once(" as type '")
        && let Some((data_type, rest)) = rest.split_once("' for column ")
        && let Some((column, rest)) = rest.split_once(" at line ")
        && let Some((record, _)) = rest.split_once('.')
        // arrow-csv counts from 0 here, but from 1 in its other messages.
        && let Some(line) = line_of(record, 1)
    {
        let field = column
            .parse()
            .ok()
            .and_then(|index: usize| schema.fields().get(index));
        let name = field.map_or(column, |field| field.name());
        return QueryError::new(
            ErrorKind::BrokenRow,
            format!(
                "{label}, line {line}: {value} in column {name:?} is not a valid {data_type}, which is the column's type in the first {INFER_ROWS} rows"
            ),
            format!(
                "correct the value, or put a text into one of the first {INFER_ROWS} rows so that the column is read as text"
            ),
        );
    }
    if let Some(rest) = text.strip_prefix("Encountered invalid UTF-8 data for line ")
        && let Some((record, _)) = rest.split_once(' ')
        && let Some(line) = line_of(record, 0)
    {
        return QueryError::new(
            ErrorKind::BrokenRow,
            format!("{label}, line {line}: the text is not UTF-8"),
            "save the file as UTF-8",
        );
    }
    QueryError::new(
        ErrorKind::BrokenRow,
        format!("{label}: {text}"),
        "correct that row of the file",
    )
}

/// The line on which a record begins. Both are counted from 1; the header is record 1. A record can
/// span lines inside quotes, and empty lines are not records.
fn physical_line(file: &SourceFile, kind: FileKind, record: u64) -> Option<u64> {
    let (mut records, mut line, mut quoted, mut at_start) = (0, 1, false, true);
    for byte in BufReader::with_capacity(1 << 16, open(file, kind).ok()?).bytes() {
        match byte.ok()? {
            b'\n' => {
                line += 1;
                at_start = !quoted;
            }
            b'\r' => {}
            byte => {
                if at_start {
                    records += 1;
                    if records == record {
                        return Some(line);
                    }
                    at_start = false;
                }
                quoted ^= byte == b'"';
            }
        }
    }
    None
}
