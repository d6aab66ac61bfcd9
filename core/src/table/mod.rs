//! The rows so far: columns of several arrays each, addressed by row number.

mod batch;
mod chunked_column;
mod content;
mod dictionary;
mod gather;
mod window;

use std::sync::Arc;

use crate::text::{CellKind, CellText, Extension, TimeZones, WideNumbers, write_cell, write_json};
use crate::wire::{DecodeError, StreamSchema};
pub(crate) use batch::{Batch, array_data};
pub use chunked_column::ChunkedColumn;
pub(crate) use content::Content;
pub(crate) use dictionary::{DictionariesById, Dictionary, DictionaryChunk};
pub use window::{CellWindow, WindowError};

/// An append-only table. Row k is row k of the stream; batch boundaries do not show above it.
#[derive(Debug)]
pub struct Table {
    schema: Arc<StreamSchema>,
    columns: Vec<ChunkedColumn>,
    /// The batches that have rows.
    batches: Vec<Arc<Batch>>,
    /// The number of rows before each batch, and after the last one; strictly ascending.
    row_offsets: Vec<u64>,
    /// The extension type of each column.
    extensions: Vec<Option<Extension>>,
}

impl Table {
    /// A table of no rows.
    #[must_use]
    pub fn new(schema: Arc<StreamSchema>) -> Self {
        let fields = schema.fields.iter();
        Self {
            extensions: fields.map(|field| Extension::of(&field.field)).collect(),
            columns: ChunkedColumn::all(&schema),
            batches: Vec::new(),
            schema,
            row_offsets: vec![0],
        }
    }

    /// Appends a batch, unless it has no rows. The cost does not depend on the number of rows.
    pub(crate) fn append(&mut self, batch: Batch) {
        let num_rows = batch.num_rows() as u64;
        if num_rows == 0 {
            return;
        }
        let batch = Arc::new(batch);
        for column in &mut self.columns {
            column.push(&batch);
        }
        self.batches.push(batch);
        self.row_offsets.push(self.num_rows() + num_rows);
    }

    /// Drops the chunks that begin at or after row `num_rows`.
    pub(crate) fn keep_first(&mut self, num_rows: u64) {
        let kept = self
            .row_offsets
            .partition_point(|&start| start < num_rows)
            .min(self.row_offsets.len() - 1);
        for column in &mut self.columns {
            column.keep_first(kept);
        }
        self.batches.truncate(kept);
        self.row_offsets.truncate(kept + 1);
    }

    /// The schema of the stream.
    #[must_use]
    pub fn schema(&self) -> &Arc<StreamSchema> {
        &self.schema
    }

    /// Rows that can be read.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        self.row_offsets.last().copied().unwrap_or(0)
    }

    /// The columns, in schema order.
    #[must_use]
    pub fn columns(&self) -> &[ChunkedColumn] {
        &self.columns
    }

    /// Writes the text of a cell. `index` is the index in the chunk, as [`locate`](Self::locate)
    /// returns it.
    ///
    /// # Errors
    /// As [`ChunkedColumn::chunk`].
    pub fn write_cell(
        &self,
        column: usize,
        chunk: usize,
        index: usize,
        zones: &dyn TimeZones,
        out: &mut CellText,
    ) -> Result<CellKind, DecodeError> {
        let array = self.columns[column].chunk(chunk)?;
        let extension = self.extensions[column];
        Ok(write_cell(array, extension, index, zones, out))
    }

    /// Writes a cell as JSON, with the parameters of [`write_cell`](Self::write_cell) and [`write_json`].
    ///
    /// # Errors
    /// As [`ChunkedColumn::chunk`].
    pub fn write_json(
        &self,
        column: usize,
        chunk: usize,
        index: usize,
        zones: &dyn TimeZones,
        wide: WideNumbers,
        out: &mut CellText,
    ) -> Result<(), DecodeError> {
        let array = self.columns[column].chunk(chunk)?;
        write_json(array, self.extensions[column], index, zones, wide, out);
        Ok(())
    }

    /// Rows of each chunk; the same in every column.
    #[cfg(feature = "kernels")]
    pub(crate) fn chunk_lens(&self) -> Vec<usize> {
        let pairs = self.row_offsets.windows(2);
        pairs.map(|pair| (pair[1] - pair[0]) as usize).collect()
    }

    /// The batches that have rows.
    #[cfg(feature = "kernels")]
    pub(crate) fn batches(&self) -> impl Iterator<Item = &Arc<Batch>> {
        self.batches.iter()
    }

    /// The index of the chunk that holds `row`, and the row's index in it. `None` beyond the last row.
    #[must_use]
    pub fn locate(&self, row: u64) -> Option<(usize, usize)> {
        if row >= self.num_rows() {
            return None;
        }
        let chunk = self.row_offsets.partition_point(|&start| start <= row) - 1;
        Some((chunk, (row - self.row_offsets[chunk]) as usize))
    }
}
