use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::error::KernelError;
use crate::table::Table;

/// Writes the rows of a table as an Arrow IPC stream, piece by piece and uncompressed.
pub struct StreamPieces {
    schema: SchemaRef,
    writer: StreamWriter<Vec<u8>>,
    columns: Vec<Vec<ArrayRef>>,
    /// Rows of each batch.
    batch_rows: Vec<usize>,
    next_batch: usize,
    is_finished: bool,
}

impl StreamPieces {
    /// A stream of `table` as it is now.
    ///
    /// # Errors
    /// `not_writable` for a schema that arrow-rs does not write.
    pub fn try_new(table: &Table) -> Result<Self, KernelError> {
        let stream = table.schema();
        let schema = Schema::new_with_metadata(stream.arrow_fields(), stream.metadata.clone());
        let schema = Arc::new(schema);
        Ok(Self {
            writer: StreamWriter::try_new(Vec::new(), &schema)
                .map_err(|error| not_writable(&error))?,
            schema,
            columns: table
                .columns()
                .iter()
                .map(|column| column.chunks().cloned().collect())
                .collect(),
            batch_rows: table.chunk_lens(),
            next_batch: 0,
            is_finished: false,
        })
    }

    /// The next bytes: the schema, a batch with its dictionaries, the end-of-stream marker; `None`
    /// behind that.
    ///
    /// # Errors
    /// `not_writable` for an array that arrow-rs does not write.
    pub fn next_piece(&mut self) -> Result<Option<Vec<u8>>, KernelError> {
        if self.writer.get_ref().is_empty() {
            if self.is_finished {
                return Ok(None);
            }
            self.write_next().map_err(|error| not_writable(&error))?;
        }
        Ok(Some(std::mem::take(self.writer.get_mut())))
    }

    fn write_next(&mut self) -> Result<(), ArrowError> {
        let Some(&num_rows) = self.batch_rows.get(self.next_batch) else {
            self.is_finished = true;
            return self.writer.finish();
        };
        let columns = self.columns.iter();
        let columns = columns.map(|chunks| Arc::clone(&chunks[self.next_batch]));
        let options = RecordBatchOptions::new().with_row_count(Some(num_rows));
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, columns.collect(), &options)?;
        self.next_batch += 1;
        self.writer.write(&batch)
    }
}

fn not_writable(error: &ArrowError) -> KernelError {
    KernelError::new(
        "not_writable",
        format!("the table cannot be written as Arrow: {error}; leave that column out"),
    )
}
