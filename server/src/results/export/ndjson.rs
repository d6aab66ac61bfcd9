use colonnade_core::semantics::distinct_names;
use colonnade_core::table::Table;
use colonnade_core::text::{CellText, FixedOffsets, json_string};
use colonnade_core::wire::DecodeError;

use super::FileChunks;
use super::batches::schema_of;
use super::text::{RowWriter, text_file};
use crate::error::QueryError;
use crate::results::stream::ResultStream;

/// Writes one JSON object per row, with its members in column order.
struct NdjsonWriter {
    /// The text before each value: `{"a":`, `,"b":`.
    keys: Vec<String>,
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
    text_file(result, NdjsonWriter { keys }, num_threads)
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
                let mut cell = CellText::for_programs(out);
                rows.write_json(column, chunk, index, &FixedOffsets, &mut cell)?;
            }
            out.push_str("}\n");
        }
        Ok(())
    }
}
