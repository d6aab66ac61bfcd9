use arrow_array::ArrayRef;

/// One column: an array for each batch that has rows.
#[derive(Debug, Default)]
pub struct ChunkedColumn {
    chunks: Vec<ArrayRef>,
}

impl ChunkedColumn {
    pub(super) fn push(&mut self, chunk: ArrayRef) {
        self.chunks.push(chunk);
    }

    pub(super) fn keep_first(&mut self, num_chunks: usize) {
        self.chunks.truncate(num_chunks);
    }

    /// The arrays in row order, none empty.
    #[must_use]
    pub fn chunks(&self) -> &[ArrayRef] {
        &self.chunks
    }
}
