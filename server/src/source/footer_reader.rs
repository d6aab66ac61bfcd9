//! Reads the bytes of a Parquet footer after its memory has been taken.

use std::io::BufReader;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use colonnade_reader::footer::{Outline, PageIndex};
use datafusion::parquet::DecodeResult;
use datafusion::parquet::errors::{ParquetError, Result};
use datafusion::parquet::file::metadata::{
    PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder,
};
use datafusion::parquet::file::reader::{ChunkReader, Length};

use crate::source::SourceFile;
use crate::source::cursor::Cursor;
use crate::source::footer_memory::{FooterBudget, Purpose};
use crate::source::page_walk::Chunks;

/// A decoded footer takes up to this many times its bytes, if it has more column chunks than columns.
const FOOTER_FACTOR: u64 = 16;

/// The end of a Parquet file for a reader of footers.
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

    /// The footer with its page index.
    ///
    /// # Errors
    /// The index is damaged, or its memory is not free.
    pub(super) fn with_page_index(&self, footer: ParquetMetaData) -> Result<ParquetMetaData> {
        let Some((range, bytes)) = self.read_index(&PageIndex::of(&footer))? else {
            return Ok(footer);
        };
        let mut decoder = ParquetMetaDataPushDecoder::try_new_with_metadata(self.len(), footer)?
            .with_page_index_policy(PageIndexPolicy::Optional);
        decoder.push_range(range, bytes)?;
        match decoder.try_decode()? {
            DecodeResult::Data(footer) => Ok(footer),
            _ => Err(ParquetError::General(
                "the page index is incomplete".to_owned(),
            )),
        }
    }

    fn read_index(&self, index: &PageIndex) -> Result<Option<(Range<u64>, Bytes)>> {
        let Some((range, (outline, budget))) = index.range().zip(self.read.get()) else {
            return Ok(None);
        };
        let length = range.end - range.start;
        let take = |index_bytes: u64| {
            let bytes = outline.memory_bytes + index_bytes;
            budget.take(bytes, "the Parquet footer with its page index")
        };
        take(length)?;
        let bytes = self.chunks.get_bytes(range.start, length as usize)?;
        take(index.memory_bytes(&bytes)?)?;
        Ok(Some((range, bytes)))
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
        self.read_footer(start, length)
    }
}
