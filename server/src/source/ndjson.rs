//! NDJSON: the columns of a file, and the position of an invalid line.

use std::io::{BufRead, BufReader};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::ReaderBuilder;
use datafusion::arrow::json::reader::infer_json_schema;

use crate::error::{ErrorKind, QueryError};
use crate::source::text_format::{of_sound_rows, open};
use crate::source::{FileKind, SourceFile};

/// Lines that are parsed at once during the search for an invalid line.
const SEARCH_LINES: usize = 1024;

/// Bytes of lines after which no more lines are added to one parse.
const SEARCH_BYTES: usize = 1 << 20;

/// The columns of an NDJSON file, from its first lines. Lines that are not objects are ignored here;
/// they are reported when they are read.
///
/// # Errors
/// The file cannot be read or none of its first lines is an object.
pub(super) fn infer_schema(file: &SourceFile, kind: FileKind) -> Result<SchemaRef, ArrowError> {
    let infer = |max_lines: usize| {
        Ok::<_, ArrowError>(infer_json_schema(lines(file, kind)?, Some(max_lines))?.0)
    };
    let schema = of_sound_rows(infer)?;
    if schema.fields().is_empty() {
        return Err(ArrowError::JsonError(
            "the file has no line with an object".into(),
        ));
    }
    Ok(Arc::new(Schema::new(
        schema
            .fields()
            .iter()
            .map(without_null_type)
            .collect::<Vec<_>>(),
    )))
}

/// Replaces the null type by text, for a column in which only nulls were seen.
fn without_null_type(field: &FieldRef) -> FieldRef {
    match field.data_type() {
        DataType::Null => Arc::new(Field::new(field.name(), DataType::Utf8, true)),
        DataType::List(item) => Arc::new(Field::new(
            field.name(),
            DataType::List(without_null_type(item)),
            true,
        )),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(without_null_type).collect();
            Arc::new(Field::new(field.name(), DataType::Struct(fields), true))
        }
        _ => Arc::clone(field),
    }
}

/// Reads the file from the start and describes the first invalid line.
pub(super) fn find_broken_row(
    file: &SourceFile,
    kind: FileKind,
    schema: &SchemaRef,
    is_cancelled: &dyn Fn() -> bool,
) -> Option<QueryError> {
    let mut lines = lines(file, kind).ok()?.split(b'\n');
    let mut first_line = 1;
    loop {
        let (mut block, mut block_bytes) = (Vec::new(), 0);
        for line in lines.by_ref().take(SEARCH_LINES) {
            let Ok(mut line) = line else {
                return Some(QueryError::new(
                    ErrorKind::BrokenRow,
                    format!(
                        "{}: the file ends early or is damaged after line {}",
                        file.label,
                        first_line + block.len()
                    ),
                    "write the file again",
                ));
            };
            line.push(b'\n');
            block_bytes += line.len();
            block.push(line);
            if block_bytes > SEARCH_BYTES {
                break;
            }
        }
        if block.is_empty() || is_cancelled() {
            return None;
        }
        if decode(&block.concat(), schema).is_err() {
            for (index, line) in block.iter().enumerate() {
                if let Err(error) = decode(line, schema) {
                    let text = match &error {
                        ArrowError::JsonError(text) => text.clone(),
                        other => other.to_string(),
                    };
                    let line = first_line + index;
                    return Some(QueryError::new(
                        ErrorKind::BrokenRow,
                        format!("{}, line {line}: {text}", file.label),
                        format!(
                            "give line {line} one JSON object whose values are of the same types as in the lines before"
                        ),
                    ));
                }
            }
        }
        first_line += block.len();
    }
}

fn decode(bytes: &[u8], schema: &SchemaRef) -> Result<(), ArrowError> {
    ReaderBuilder::new(Arc::clone(schema))
        .build(bytes)?
        .try_for_each(|batch| batch.map(drop))
}

fn lines(file: &SourceFile, kind: FileKind) -> Result<impl BufRead, ArrowError> {
    Ok(BufReader::with_capacity(1 << 16, open(file, kind)?))
}
