//! Finds the pages of a Parquet file without offset index, so that reading can start at any page.

use std::io::BufReader;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use datafusion::parquet::column::page::PageReader;
use datafusion::parquet::errors::Result;
use datafusion::parquet::file::metadata::{OffsetIndexBuilder, ParquetMetaData, RowGroupMetaData};
use datafusion::parquet::file::page_index::offset_index::OffsetIndexMetaData;
use datafusion::parquet::file::reader::{ChunkReader, Length};
use datafusion::parquet::file::serialized_reader::SerializedPageReader;

use crate::source::SourceFile;
use crate::source::cursor::Cursor;

/// Row groups up to this size are read from their start. For larger ones, finding the pages pays off.
const SMALL_BYTES: i64 = 16 << 20;

/// The bytes that are read for a page header. Most are shorter, but statistics can make them longer.
const HEADER_BYTES: usize = 512;

/// The maximum number of pages; finding more takes too long.
const MAX_PAGES: usize = 200_000;

/// The pages of all columns of all row groups, according to the page headers. `None` if the file has an
/// index, if no row group is large, if the headers do not state the number of rows, or if the file is
/// remote, because each header would be a request.
pub(super) fn find_pages(
    file: &SourceFile,
    footer: &ParquetMetaData,
) -> Option<Vec<Vec<OffsetIndexMetaData>>> {
    let is_large = |group: &RowGroupMetaData| group.compressed_size() > SMALL_BYTES;
    if file.is_remote()
        || footer.offset_index().is_some()
        || !footer.row_groups().iter().any(is_large)
    {
        return None;
    }
    let mut num_pages = 0;
    footer
        .row_groups()
        .iter()
        .map(|group| {
            let columns = group.columns().iter();
            columns
                .map(|column| {
                    let offsets = Offsets::new(file);
                    let num_rows = usize::try_from(group.num_rows()).ok()?;
                    let mut pages =
                        SerializedPageReader::new(Arc::clone(&offsets), column, num_rows, None)
                            .ok()?;
                    let mut index = OffsetIndexBuilder::new();
                    let mut page_starts = Vec::new();
                    let mut rows_before_end = 0;
                    while let Some(page) = pages.peek_next_page().ok()? {
                        num_pages += 1;
                        if num_pages > MAX_PAGES {
                            return None;
                        }
                        if !page.is_dict {
                            page_starts.push(offsets.last()?);
                            let rows = page.num_rows.or_else(|| {
                                let is_flat = column.column_descr().max_rep_level() == 0;
                                page.num_levels.filter(|_| is_flat)
                            })?;
                            index.append_row_count(i64::try_from(rows).ok()?);
                            rows_before_end += rows;
                        }
                        pages.skip_next_page().ok()?;
                    }
                    if rows_before_end != num_rows {
                        return None;
                    }
                    let (start, length) = column.byte_range();
                    let ends = page_starts.iter().skip(1).copied().chain([start + length]);
                    for (page_start, end) in page_starts.iter().zip(ends) {
                        let num_bytes = i32::try_from(end.checked_sub(*page_start)?).ok()?;
                        index.append_offset_and_size(i64::try_from(*page_start).ok()?, num_bytes);
                    }
                    Some(index.build())
                })
                .collect()
        })
        .collect()
}

/// A file with the interface of Parquet's synchronous readers.
pub(super) struct Chunks(pub(super) SourceFile);

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.size_bytes()
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let cursor = Cursor::new(&self.0, start);
        Ok(BufReader::with_capacity(HEADER_BYTES, cursor))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        Ok(self.0.read(start..start.saturating_add(length as u64))?)
    }
}

/// Remembers the position at which the page reader reads. A page header is read from the start of its
/// page.
struct Offsets {
    chunks: Chunks,
    last: Mutex<Option<u64>>,
}

impl Offsets {
    fn new(file: &SourceFile) -> Arc<Self> {
        Arc::new(Self {
            chunks: Chunks(file.clone()),
            last: Mutex::new(None),
        })
    }

    fn last(&self) -> Option<u64> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Length for Offsets {
    fn len(&self) -> u64 {
        self.chunks.len()
    }
}

impl ChunkReader for Offsets {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(start);
        self.chunks.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.chunks.get_bytes(start, length)
    }
}
