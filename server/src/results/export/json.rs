use bytes::Buf;
use colonnade_core::table::Table;
use colonnade_core::text::{CellText, FixedOffsets, WideNumbers};
use colonnade_core::wire::{DecodeError, Limits, describe_fields};
use futures::{StreamExt, future};
use serde_json::json;

use super::text::{RowWriter, text_file};
use super::{FileChunk, FileChunks};
use crate::encode::cells::unreadable;
use crate::error::QueryError;
use crate::results::stream::ResultStream;

/// Writes `{"fields": [{"name", "type", "nullable"}], "rows": [[…], …]}`, a line per row. Each row begins with
/// the comma that separates it from the row before it.
struct JsonWriter {
    head: String,
    num_columns: usize,
}

pub(super) fn json_file(
    result: ResultStream,
    num_threads: usize,
) -> Result<FileChunks, QueryError> {
    let fields = describe_fields(&result.schema.frame(), &Limits::default()).map_err(unreadable)?;
    let num_columns = fields.len();
    let fields = fields.into_iter().map(
        |field| json!({ "name": field.name, "type": field.type_name, "nullable": field.nullable }),
    );
    let fields: Vec<_> = fields.collect();
    let head = format!("{{\"fields\":{},\"rows\":[", json!(fields));
    let writer = JsonWriter { head, num_columns };
    let mut has_rows = false;
    let rows = text_file(result, writer, num_threads)?.map(move |chunk| {
        let mut chunk = chunk?;
        if chunk.num_rows > 0 && !std::mem::replace(&mut has_rows, true) {
            chunk.bytes.advance(",".len());
        }
        Ok(chunk)
    });
    let end = FileChunk {
        bytes: "\n]}\n".into(),
        num_rows: 0,
    };
    Ok(rows.chain(futures::stream::once(future::ok(end))).boxed())
}

impl RowWriter for JsonWriter {
    fn head(&self) -> String {
        self.head.clone()
    }

    fn write(&self, rows: &Table, out: &mut String) -> Result<(), DecodeError> {
        for row in 0..rows.num_rows() {
            let Some((chunk, index)) = rows.locate(row) else {
                return Ok(());
            };
            out.push_str(",\n[");
            for column in 0..self.num_columns {
                if column > 0 {
                    out.push(',');
                }
                let mut cell = CellText::new(out, 0);
                let wide = WideNumbers::Strings;
                rows.write_json(column, chunk, index, &FixedOffsets, wide, &mut cell)?;
            }
            out.push(']');
        }
        Ok(())
    }
}
