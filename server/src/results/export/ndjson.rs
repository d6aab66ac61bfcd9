use colonnade_core::semantics::distinct_names;
use colonnade_core::table::Table;
use colonnade_core::text::{CellKind, CellText, FixedOffsets, json_string};
use colonnade_core::wire::{DecodeError, EXTENSION_NAME};
use datafusion::arrow::datatypes::Field;
use serde::de::IgnoredAny;

use super::FileChunks;
use super::batches::schema_of;
use super::text::{RowWriter, text_file};
use crate::error::QueryError;
use crate::results::stream::ResultStream;

/// Writes one JSON object per row, with its members in column order.
struct NdjsonWriter {
    /// The text before each value: `{"a":`, `,"b":`.
    keys: Vec<String>,
    /// For each column, whether its values are JSON.
    are_json: Vec<bool>,
}

pub(super) fn ndjson_file(
    result: ResultStream,
    num_threads: usize,
) -> Result<FileChunks, QueryError> {
    let schema = schema_of(&result.schema)?;
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let keys = distinct_names(names)
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let before = if index == 0 { '{' } else { ',' };
            format!("{before}{}:", json_string(name))
        })
        .collect();
    let fields = schema.fields().iter();
    let are_json = fields.map(|field| is_json(field)).collect();
    text_file(result, NdjsonWriter { keys, are_json }, num_threads)
}

/// Whether the values of a column are JSON, such as those of different kinds in one column of NDJSON.
/// <https://arrow.apache.org/docs/format/CanonicalExtensions.html#json>
fn is_json(field: &Field) -> bool {
    let name = field.metadata().get(EXTENSION_NAME);
    name.is_some_and(|name| name == "arrow.json")
}

/// The value that a text is, in one line; `None` if it is not JSON.
fn json_line(text: &str) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    // Line ends inside strings are escaped.
    Some(text.replace(['\n', '\r'], " "))
}

impl RowWriter for NdjsonWriter {
    fn head(&self) -> String {
        String::new()
    }

    fn write(&self, rows: &Table, out: &mut String) -> Result<(), DecodeError> {
        for row in 0..rows.num_rows() {
            let Some((chunk, index)) = rows.locate(row) else {
                return Ok(());
            };
            if self.keys.is_empty() {
                out.push('{');
            }
            for (column, key) in self.keys.iter().enumerate() {
                out.push_str(key);
                if self.are_json[column] {
                    let mut text = String::new();
                    let mut cell = CellText::new(&mut text, 0);
                    let kind = rows.write_cell(column, chunk, index, &FixedOffsets, &mut cell)?;
                    let line = json_line(&text).filter(|_| kind == CellKind::Value);
                    if let Some(line) = line {
                        out.push_str(&line);
                        continue;
                    }
                }
                let mut cell = CellText::for_programs(out);
                rows.write_json(column, chunk, index, &FixedOffsets, &mut cell)?;
            }
            out.push_str("}\n");
        }
        Ok(())
    }
}
