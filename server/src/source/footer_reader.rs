//! Reads the bytes of a Parquet footer after its memory has been taken.

use std::io::BufReader;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use colonnade_reader::footer::Outline;
use datafusion::parquet::errors::Result;
use datafusion::parquet::file::metadata::ParquetMetaData;
use datafusion::parquet::file::reader::{ChunkReader, Length};

use crate::source::SourceFile;
use crate::source::cursor::Cursor;
use crate::source::footer_memory::{FooterBudget, Purpose};
use crate::source::page_walk::Chunks;

/// A decoded page index takes up to this many times its bytes: an offset of 8 bytes has 2 bytes or more in the file.
const INDEX_FACTOR: u64 = 4;

/// A decoded footer takes up to this many times its bytes, if it has more column chunks than columns.
const FOOTER_FACTOR: u64 = 16;

/// The end of a Parquet file for a reader of footers, which reads the footer first and then possibly the page index.
pub(super) struct FooterReader {
    chunks: Chunks,
    purpose: Purpose,
    read: OnceLock<(Outline, FooterBudget)>,
}

impl FooterReader {
    pub(super) fn new(file: &SourceFile, purpose: Purpose) -> Self {
        Self {
            chunks: Chunks(file.clone()),
            purpose,
            read: OnceLock::new(),
        }
    }

    /// Whether columns of the file are encrypted, after its footer has been read.
    pub(super) fn has_encrypted_columns(&self) -> bool {
        self.read
            .get()
            .is_some_and(|(outline, _)| outline.has_encrypted_columns)
    }

    /// The footer, which has its memory as long as somebody has it.
    pub(super) fn share(self, footer: ParquetMetaData) -> Arc<ParquetMetaData> {
        match self.read.into_inner() {
            Some((_, budget)) => budget.share(footer),
            None => Arc::new(footer),
        }
    }

    fn read_footer(&self, start: u64, length: usize) -> Result<Bytes> {
        let num_bytes = length as u64;
        let budget = FooterBudget::new(self.purpose, FOOTER_FACTOR * num_bytes);
        budget.take(
            num_bytes,
            &format!("the Parquet footer of {num_bytes} bytes"),
        )?;
        let bytes = self.chunks.get_bytes(start, length)?;
        let outline = Outline::of(&bytes)?;
        let num_chunks = outline.num_column_chunks;
        let name = format!("the Parquet footer of {num_chunks} column chunks");
        budget.take(outline.memory_bytes, &name)?;
        let _ = self.read.set((outline, budget));
        Ok(bytes)
    }
}

impl Length for FooterReader {
    fn len(&self) -> u64 {
        self.chunks.len()
    }
}

impl ChunkReader for FooterReader {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.chunks.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let Some((outline, budget)) = self.read.get() else {
            return self.read_footer(start, length);
        };
        let bytes = outline.memory_bytes + INDEX_FACTOR * length as u64;
        budget.take(bytes, "the Parquet footer with its page index")?;
        self.chunks.get_bytes(start, length)
    }
}
