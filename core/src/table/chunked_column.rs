use std::sync::{Arc, OnceLock};

use arrow_array::ArrayRef;
use arrow_schema::ArrowError;

use super::batch::Batch;
use crate::check::ColumnStart;
use crate::wire::{DecodeError, StreamSchema};

/// One column: one array for each non-empty batch, built when it is first read.
#[derive(Debug)]
pub struct ChunkedColumn {
    schema: Arc<StreamSchema>,
    index: usize,
    start: ColumnStart,
    chunks: Vec<Chunk>,
}

#[derive(Debug)]
struct Chunk {
    batch: Arc<Batch>,
    array: OnceLock<ArrayRef>,
}

impl ChunkedColumn {
    /// The columns of `schema`, without rows.
    pub(super) fn all(schema: &Arc<StreamSchema>) -> Vec<Self> {
        let starts = ColumnStart::all(&schema.fields).into_iter();
        let columns = starts.enumerate().map(|(index, start)| Self {
            schema: Arc::clone(schema),
            index,
            start,
            chunks: Vec::new(),
        });
        columns.collect()
    }

    pub(super) fn push(&mut self, batch: &Arc<Batch>) {
        self.chunks.push(Chunk {
            batch: Arc::clone(batch),
            array: OnceLock::new(),
        });
    }

    /// How many arrays there are.
    #[must_use]
    pub fn num_chunks(&self) -> usize {
        self.chunks.len()
    }

    /// The array at `chunk_index`, which must be below [`num_chunks`](Self::num_chunks).
    ///
    /// # Errors
    /// `MemoryBudgetExceeded` if there is no memory for the values of a dictionary that grew, and
    /// `OverLimit` if they are more than an array can hold. A later call tries again.
    pub fn chunk(&self, chunk_index: usize) -> Result<&ArrayRef, DecodeError> {
        let chunk = &self.chunks[chunk_index];
        if let Some(array) = chunk.array.get() {
            return Ok(array);
        }
        let array = chunk
            .batch
            .array(&self.schema.fields[self.index], self.start)?;
        Ok(chunk.array.get_or_init(|| array))
    }

    pub(super) fn keep_first(&mut self, num_chunks: usize) {
        self.chunks.truncate(num_chunks);
    }

    /// The arrays in row order; none is empty. Errors are those of [`chunk`](Self::chunk).
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = Result<&ArrayRef, DecodeError>> {
        (0..self.num_chunks()).map(|chunk_index| self.chunk(chunk_index))
    }

    /// Validates all values again with arrow-rs. This is slow; it is for tests of the decoder's own
    /// check.
    ///
    /// # Errors
    /// What arrow-rs reports for the first invalid array.
    pub fn validate_full(&self) -> Result<(), ArrowError> {
        let field = &self.schema.fields[self.index];
        self.chunks.iter().try_for_each(|chunk| {
            let array = chunk.batch.array_data(field, self.start);
            array
                .map_err(|error| ArrowError::ExternalError(error.into()))?
                .validate_full()
        })
    }
}
