use std::collections::HashSet;

use colonnade_core::table::Table;
use colonnade_core::text::{CellText, FixedOffsets, json_string};
use datafusion::arrow::datatypes::Schema;

use super::FileChunks;
use super::batches::schema_of;
use super::text::{RowWriter, text_file};
use crate::error::QueryError;
use crate::results::stream::ResultStream;

/// One JSON object a row, its members in column order.
struct NdjsonWriter {
    /// What stands before each value: `{"a":`, `,"b":`.
    keys: Vec<String>,
}

pub(super) fn ndjson_file(
    result: ResultStream,
    num_threads: usize,
) -> Result<FileChunks, QueryError> {
    let keys = unique_names(schema_of(&result.schema)?.as_ref())
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let before = if index == 0 { '{' } else { ',' };
            format!("{before}{}:", json_string(name))
        })
        .collect();
    text_file(result, NdjsonWriter { keys }, num_threads)
}

/// The columns' names, where a repeated one gets `_2`, `_3`, … so that it differs from all others.
fn unique_names(schema: &Schema) -> Vec<String> {
    let all: HashSet<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    let mut used = HashSet::new();
    schema
        .fields()
        .iter()
        .map(|field| {
            let mut name = field.name().clone();
            let mut number = 2;
            while used.contains(&name) || (number > 2 && all.contains(name.as_str())) {
                name = format!("{}_{number}", field.name());
                number += 1;
            }
            used.insert(name.clone());
            name
        })
        .collect()
}

impl RowWriter for NdjsonWriter {
    fn head(&self) -> String {
        String::new()
    }

    fn write(&self, rows: &Table, out: &mut String) {
        for row in 0..rows.num_rows() {
            let Some((chunk, index)) = rows.locate(row) else {
                return;
            };
            if self.keys.is_empty() {
                out.push('{');
            }
            for (column, key) in self.keys.iter().enumerate() {
                out.push_str(key);
                let mut cell = CellText::new(out, 0);
                rows.write_json(column, chunk, index, &FixedOffsets, &mut cell);
            }
            out.push_str("}\n");
        }
    }
}
