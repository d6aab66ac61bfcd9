//! The pages of a row group, in the form in which the Parquet library takes them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parquet::arrow::arrow_reader::RowGroups;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::chunk::Chunk;

/// The pages of a row group that are ready, and where the others are. The decoder reads them while others are added.
#[derive(Default)]
pub(crate) struct ReadyPages {
    pub(crate) chunks: Vec<Chunk>,
    /// By their first bytes in the file.
    pub(crate) pages: HashMap<u64, Page>,
}

/// [`ReadyPages`] that a decoder and its owner share. The library wants its readers to be [`Send`].
pub(crate) type SharedPages = Arc<Mutex<ReadyPages>>;

pub(crate) fn lock(pages: &SharedPages) -> MutexGuard<'_, ReadyPages> {
    pages.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One row group.
pub(crate) struct OneRowGroup {
    pub(crate) footer: Arc<ParquetMetaData>,
    pub(crate) index: usize,
    pub(crate) pages: SharedPages,
}

impl RowGroups for OneRowGroup {
    fn num_rows(&self) -> usize {
        self.footer.row_group(self.index).num_rows().max(0) as usize
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let reader = ChunkReader {
            pages: Arc::clone(&self.pages),
            column,
            next: 0,
            is_begun: false,
        };
        Ok(Box::new(OneChunk(Some(Box::new(reader)))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.footer.row_group(self.index)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.footer
    }
}

struct OneChunk(Option<Box<dyn PageReader>>);

impl Iterator for OneChunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for OneChunk {}

/// Reads the pages of one column chunk in order.
struct ChunkReader {
    pages: SharedPages,
    column: usize,
    /// The number of the next page that has rows.
    next: usize,
    /// Whether the dictionary has been read.
    is_begun: bool,
}

fn not_ready() -> ParquetError {
    ParquetError::General("a page of the file is missing where its row group has one".to_owned())
}

impl ChunkReader {
    fn has_dictionary(&self, chunk: &Chunk) -> bool {
        !self.is_begun && chunk.dictionary.is_some()
    }
}

impl PageReader for ChunkReader {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let ready = lock(&self.pages);
        let chunk = &ready.chunks[self.column];
        let bytes = match chunk.dictionary.as_ref().filter(|_| !self.is_begun) {
            Some(bytes) => {
                self.is_begun = true;
                bytes
            }
            None => match chunk.pages.get(self.next) {
                Some(page) => {
                    self.next += 1;
                    &page.bytes
                }
                None if chunk.is_known() => return Ok(None),
                None => return Err(not_ready()),
            },
        };
        let page = ready.pages.get(&bytes.start);
        page.cloned().map(Some).ok_or_else(not_ready)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let ready = lock(&self.pages);
        let chunk = &ready.chunks[self.column];
        let is_dict = self.has_dictionary(chunk);
        if !is_dict && self.next >= chunk.pages.len() {
            return if chunk.is_known() {
                Ok(None)
            } else {
                Err(not_ready())
            };
        }
        Ok(Some(PageMetadata {
            num_rows: chunk.rows_of(self.next).filter(|_| !is_dict),
            num_levels: None,
            is_dict,
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        let is_dictionary = self.has_dictionary(&lock(&self.pages).chunks[self.column]);
        match is_dictionary {
            true => self.is_begun = true,
            false => self.next += 1,
        }
        Ok(())
    }

    /// A page begins with a new row if its rows are known.
    fn at_record_boundary(&mut self) -> Result<bool> {
        let ready = lock(&self.pages);
        let chunk = &ready.chunks[self.column];
        Ok(chunk
            .pages
            .get(self.next)
            .is_none_or(|page| page.first_row.is_some()))
    }
}

impl Iterator for ChunkReader {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Pages that have been decoded, in order.
pub(crate) struct PageList(pub(crate) std::vec::IntoIter<Page>);

impl PageReader for PageList {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        Ok(self.0.next())
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Ok(self.0.as_slice().first().map(|page| PageMetadata {
            num_rows: None,
            num_levels: None,
            is_dict: matches!(page, Page::DictionaryPage { .. }),
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.next();
        Ok(())
    }
}

impl Iterator for PageList {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(Ok)
    }
}
