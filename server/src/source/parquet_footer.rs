//! Reads a Parquet footer, also one that lacks what the library requires.

use std::io::BufReader;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use datafusion::parquet::errors::Result;
use datafusion::parquet::file::FOOTER_SIZE;
use datafusion::parquet::file::metadata::{
    PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader,
};
use datafusion::parquet::file::reader::{ChunkReader, Length};

use crate::source::SourceFile;
use crate::source::cursor::Cursor;
use crate::source::page_walk::Chunks;
use crate::source::parquet_encryption;
use crate::source::parquet_repetition::with_repetition;

/// A file that remembers the bytes of its footer.
pub(super) struct FooterReader {
    chunks: Chunks,
    footer: Mutex<Bytes>,
}

impl FooterReader {
    pub(super) fn new(file: &SourceFile) -> Self {
        Self {
            chunks: Chunks(file.clone()),
            footer: Mutex::default(),
        }
    }

    /// The footer. Blocks, and panics at some damaged footers.
    ///
    /// # Errors
    /// The file cannot be read, or is no Parquet.
    pub(super) fn read(&self, page_indexes: PageIndexPolicy) -> Result<ParquetMetaData> {
        let reader = ParquetMetaDataReader::new().with_page_index_policy(page_indexes);
        reader.parse_and_finish(self).or_else(|error| {
            let footer = with_repetition(&self.footer()).ok_or(error)?;
            let footer = ParquetMetaDataReader::decode_metadata(&footer)?;
            let reader = ParquetMetaDataReader::new_with_metadata(footer);
            let mut reader = reader.with_page_index_policy(page_indexes);
            reader.read_page_indexes(&self.chunks)?;
            reader.finish()
        })
    }

    /// Whether columns of the file are encrypted, once the footer was read.
    pub(super) fn has_encrypted_columns(&self) -> bool {
        parquet_encryption::has_encrypted_columns(self.footer())
    }

    fn footer(&self) -> Bytes {
        let footer = self.footer.lock();
        footer.unwrap_or_else(PoisonError::into_inner).clone()
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
        let bytes = self.chunks.get_bytes(start, length)?;
        // Only the footer is directly before its length and the magic number.
        if start + (length + FOOTER_SIZE) as u64 == self.len() {
            *self.footer.lock().unwrap_or_else(PoisonError::into_inner) = bytes.clone();
        }
        Ok(bytes)
    }
}
