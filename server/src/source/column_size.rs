//! What the columns of a Parquet file take while they are read.

use std::collections::HashMap;
use std::ops::Range;

use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
use datafusion::parquet::arrow::arrow_reader::RowSelection;
use datafusion::parquet::basic::Type;
use datafusion::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use datafusion::parquet::file::page_index::offset_index::OffsetIndexMetaData;

/// Writers look every so many values whether a dictionary has become too large, so one that is much larger than the
/// usual limit consists of few large values.
const CHECKED_VALUES: u64 = 1024;

/// The usual limit of a dictionary.
const USUAL_DICTIONARY_BYTES: u64 = 1 << 20;

/// What the reader of a column takes besides: buffers for levels and for numbers of dictionary values, and its parts.
/// Measured with 4,900 columns of 500 values.
const READER_BYTES: u64 = 16 << 10;

/// More than any file has, so that sums of what a damaged footer says do not overflow.
const MAX_BYTES: u64 = 1 << 48;

/// Estimates for one column.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ColumnSize {
    /// What reading it takes: its pages as they are in the file, decompressed a page and the dictionary, and readers.
    pub(super) held_bytes: u64,
    /// A value in memory.
    pub(super) value_bytes: u64,
}

/// The sizes of the columns of a file, by name, for the row group with selected rows in which each is largest.
pub(super) fn column_sizes<'a>(
    footer: &'a ParquetMetaData,
    file: &PartitionedFile,
) -> HashMap<&'a str, ColumnSize> {
    let schema = footer.file_metadata().schema_descr();
    let mut sizes: HashMap<&str, ColumnSize> = HashMap::new();
    let selection = file.extension::<ParquetRowSelection>();
    let selected = selection.map_or(0..u64::MAX, |selection| span(selection.selection()));
    let mut first_row = 0;
    for (index, group) in footer.row_groups().iter().enumerate() {
        let num_rows = group.num_rows().max(0) as u64;
        let start = selected.start.saturating_sub(first_row).min(num_rows);
        let end = selected.end.saturating_sub(first_row).min(num_rows);
        first_row += num_rows;
        if start >= end || !is_in_range(group, file) {
            continue;
        }
        let pages = footer.offset_index().and_then(|groups| groups.get(index));
        let mut of_group: HashMap<&str, ColumnSize> = HashMap::new();
        for (leaf, chunk) in group.columns().iter().enumerate() {
            let chunk = Chunk::new(chunk, num_rows);
            let size = of_group
                .entry(schema.get_column_root(leaf).name())
                .or_default();
            let pages = pages.and_then(|pages| pages.get(leaf));
            size.held_bytes += chunk.held_bytes(pages, &(start..end));
            size.value_bytes += chunk.value_bytes();
        }
        for (name, size) in of_group {
            let largest = sizes.entry(name).or_default();
            largest.held_bytes = largest.held_bytes.max(size.held_bytes);
            largest.value_bytes = largest.value_bytes.max(size.value_bytes);
        }
    }
    sizes
}

/// From the first selected row to the last.
fn span(selection: &RowSelection) -> Range<u64> {
    let (mut start, mut end, mut row) = (None, 0, 0);
    for selector in selection.iter() {
        let next = row + selector.row_count as u64;
        if !selector.skip && next > row {
            start.get_or_insert(row);
            end = next;
        }
        row = next;
    }
    start.unwrap_or(0)..end
}

/// Whether a scan of a range of bytes reads a row group, as DataFusion decides it: by the row group's first byte.
fn is_in_range(group: &RowGroupMetaData, file: &PartitionedFile) -> bool {
    let first = group.columns().first();
    let at = first.map(|chunk| {
        chunk
            .dictionary_page_offset()
            .unwrap_or_else(|| chunk.data_page_offset())
    });
    let (Some(range), Some(at)) = (&file.range, at) else {
        return true;
    };
    range.contains(at)
}

struct Chunk<'a> {
    chunk: &'a ColumnChunkMetaData,
    num_rows: u64,
    compressed_bytes: u64,
    uncompressed_bytes: u64,
    /// Of the compressed bytes.
    dictionary_bytes: u64,
}

impl<'a> Chunk<'a> {
    fn new(chunk: &'a ColumnChunkMetaData, num_rows: u64) -> Self {
        let compressed_bytes = (chunk.compressed_size().max(0) as u64).min(MAX_BYTES);
        let dictionary = chunk
            .dictionary_page_offset()
            .and_then(|start| u64::try_from(chunk.data_page_offset().saturating_sub(start)).ok());
        Self {
            chunk,
            num_rows: num_rows.max(1),
            compressed_bytes,
            uncompressed_bytes: chunk.uncompressed_size().max(0) as u64,
            dictionary_bytes: dictionary.unwrap_or(0).min(compressed_bytes),
        }
    }

    fn held_bytes(&self, pages: Option<&OffsetIndexMetaData>, rows: &Range<u64>) -> u64 {
        let all = self.compressed_bytes - self.dictionary_bytes;
        let (read, largest) = pages.map_or((all, all), |pages| read_pages(pages, rows));
        // The dictionary is kept as a page and as values.
        let decoded = self.decompressed(largest) + 2 * self.decompressed(self.dictionary_bytes);
        READER_BYTES + read + self.dictionary_bytes + decoded
    }

    fn value_bytes(&self) -> u64 {
        let dictionary_bytes = self.decompressed(self.dictionary_bytes);
        let in_dictionary = if dictionary_bytes > USUAL_DICTIONARY_BYTES {
            dictionary_bytes / CHECKED_VALUES
        } else {
            0
        };
        let text_bytes = self.chunk.unencoded_byte_array_data_bytes().unwrap_or(0);
        let in_pages = self.uncompressed_bytes.max(text_bytes.max(0) as u64) / self.num_rows;
        let type_length = self.chunk.column_descr().type_length().max(0) as u64;
        let of_type = match self.chunk.column_type() {
            Type::BOOLEAN => 1,
            Type::INT32 | Type::FLOAT => 4,
            Type::FIXED_LEN_BYTE_ARRAY => type_length,
            _ => 8,
        };
        of_type.max(in_pages).max(in_dictionary)
    }

    fn decompressed(&self, num_bytes: u64) -> u64 {
        let product = u128::from(num_bytes) * u128::from(self.uncompressed_bytes);
        let scaled = product / u128::from(self.compressed_bytes.max(1));
        num_bytes.max(scaled.min(u128::from(MAX_BYTES)) as u64)
    }
}

/// The compressed bytes of the pages that are read for `rows`, and those of the largest one.
fn read_pages(pages: &OffsetIndexMetaData, rows: &Range<u64>) -> (u64, u64) {
    let pages = pages.page_locations();
    let first_row = |page: usize| pages[page].first_row_index.max(0) as u64;
    let (mut read, mut largest) = (0, 0);
    for (index, page) in pages.iter().enumerate() {
        let ends_before = index + 1 < pages.len() && first_row(index + 1) <= rows.start;
        if ends_before || first_row(index) >= rows.end {
            continue;
        }
        let num_bytes = page.compressed_page_size.max(0) as u64;
        read += num_bytes;
        largest = num_bytes.max(largest);
    }
    (read, largest)
}
