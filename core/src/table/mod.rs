//! The rows so far: columns of several arrays each, addressed by row.

mod chunked_column;
mod window;

use std::sync::Arc;

use arrow_array::ArrayRef;

use crate::wire::StreamSchema;
pub use chunked_column::ChunkedColumn;
pub use window::{RowWindow, WindowError};

/// An append-only table. Row k is row k of the stream; batch boundaries show nowhere above it.
#[derive(Debug)]
pub struct Table {
    schema: Arc<StreamSchema>,
    columns: Vec<ChunkedColumn>,
    /// Rows before each batch, and after the last; strictly ascending.
    row_offsets: Vec<u64>,
}

impl Table {
    /// A table of no rows.
    #[must_use]
    pub fn new(schema: Arc<StreamSchema>) -> Self {
        let columns = schema
            .fields
            .iter()
            .map(|_| ChunkedColumn::default())
            .collect();
        Self {
            schema,
            columns,
            row_offsets: vec![0],
        }
    }

    /// Appends one batch: an array for each column, each of `num_rows` rows. Costs nothing in rows.
    pub(crate) fn append(&mut self, batch: &[ArrayRef], num_rows: usize) {
        if num_rows == 0 {
            return;
        }
        for (column, array) in self.columns.iter_mut().zip(batch) {
            column.push(array.clone());
        }
        self.row_offsets.push(self.num_rows() + num_rows as u64);
    }

    /// Drops the chunks that begin at row `num_rows` or after it.
    pub(crate) fn keep_first(&mut self, num_rows: u64) {
        let kept = self
            .row_offsets
            .partition_point(|&start| start < num_rows)
            .min(self.row_offsets.len() - 1);
        for column in &mut self.columns {
            column.keep_first(kept);
        }
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

    /// Rows of each chunk; the same in every column.
    #[cfg(feature = "kernels")]
    pub(crate) fn chunk_lens(&self) -> Vec<usize> {
        let pairs = self.row_offsets.windows(2);
        pairs.map(|pair| (pair[1] - pair[0]) as usize).collect()
    }

    /// Where `row` is: the index of its chunk, and its index there. `None` beyond the last row.
    #[must_use]
    pub fn locate(&self, row: u64) -> Option<(usize, usize)> {
        if row >= self.num_rows() {
            return None;
        }
        let chunk = self.row_offsets.partition_point(|&start| start <= row) - 1;
        Some((chunk, (row - self.row_offsets[chunk]) as usize))
    }
}
