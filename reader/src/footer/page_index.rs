//! What the bytes of a page index say before the library decodes it.
//!
//! The library reserves memory for as many pages as an index claims. Spec: `ColumnIndex` and `OffsetIndex` in
//! `parquet.thrift`.

use std::ops::Range;

use parquet::file::metadata::ParquetMetaData;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

use crate::error::{ReadError, Result};
use crate::thrift::Compact;

/// The memory of one decoded number or text, besides its bytes.
const VALUE_BYTES: u64 = 16;

/// The memory of the indexes of one column chunk, besides their values.
const CHUNK_BYTES: usize = size_of::<ColumnIndexMetaData>() + size_of::<OffsetIndexMetaData>();

/// Where the page index of a file is.
#[derive(Debug)]
pub struct PageIndex {
    /// The column index and the offset index of each column chunk, as bytes of the file.
    parts: Vec<Range<u64>>,
    num_column_chunks: usize,
}

impl PageIndex {
    /// The page index according to a footer.
    pub fn of(footer: &ParquetMetaData) -> Self {
        let chunks = || footer.row_groups().iter().flat_map(|group| group.columns());
        let parts = chunks().flat_map(|chunk| {
            [
                part(chunk.column_index_offset(), chunk.column_index_length()),
                part(chunk.offset_index_offset(), chunk.offset_index_length()),
            ]
        });
        Self {
            parts: parts.flatten().collect(),
            num_column_chunks: chunks().count(),
        }
    }

    /// The bytes of the file from the start of the index to its end; `None` if there is none.
    pub fn range(&self) -> Option<Range<u64>> {
        let start = self.parts.iter().map(|part| part.start).min()?;
        let end = self.parts.iter().map(|part| part.end).max()?;
        Some(start..end)
    }

    /// About how much memory it takes to decode the index with these bytes, which are those of its range, in bytes.
    ///
    /// # Errors
    /// The index is damaged. The library may believe a number in it and ask for more memory than there is.
    pub fn memory_bytes(&self, bytes: &[u8]) -> Result<u64> {
        let damaged = || ReadError::invalid("the Parquet page index is damaged");
        let range = self.range().unwrap_or(0..0);
        let parts_bytes: u64 = self.parts.iter().map(|part| part.end - part.start).sum();
        // Otherwise many column chunks have the same bytes, and each decodes them.
        if parts_bytes > range.end - range.start {
            return Err(damaged());
        }
        let mut num_values = 0;
        for part in &self.parts {
            let at = |position: u64| usize::try_from(position - range.start).ok();
            let part = at(part.start).zip(at(part.end));
            let part = part.and_then(|(start, end)| bytes.get(start..end));
            num_values += part.and_then(Compact::num_values).ok_or_else(damaged)?;
        }
        let chunks_bytes = (self.num_column_chunks * CHUNK_BYTES) as u64;
        Ok(bytes.len() as u64 + chunks_bytes + VALUE_BYTES * num_values)
    }
}

fn part(offset: Option<i64>, length: Option<i32>) -> Option<Range<u64>> {
    let start = u64::try_from(offset?).ok()?;
    let length = u64::try_from(length?).ok()?;
    Some(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An offset index of this many pages, which has two.
    fn offset_index(num_pages: &[u8]) -> Vec<u8> {
        let page = [0x16, 8, 0x15, 40, 0x16, 0, 0];
        [&[0x19], num_pages, &page, &page, &[0]].concat()
    }

    /// An index whose parts have these starts and lengths.
    fn index(parts: &[(u64, usize)]) -> PageIndex {
        let parts = parts.iter();
        PageIndex {
            parts: parts
                .map(|(start, length)| *start..start + *length as u64)
                .collect(),
            num_column_chunks: 2,
        }
    }

    #[test]
    fn claims_without_bytes_are_damage() {
        let good = offset_index(&[0x2C]);
        let memory_bytes = index(&[(9, good.len())]).memory_bytes(&good).unwrap();
        let least_bytes = good.len() as u64 + 2 * 3 * VALUE_BYTES;
        assert!((least_bytes..least_bytes + 1000).contains(&memory_bytes));

        let claimed = offset_index(&[0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07]);
        let claim = index(&[(9, claimed.len())]);
        assert!(claim.memory_bytes(&claimed).is_err());
    }

    #[test]
    fn bytes_belong_to_one_part() {
        let good = offset_index(&[0x2C]);
        let length = good.len();
        let apart = index(&[(0, length), (length as u64, length)]);
        assert!(apart.memory_bytes(&good.repeat(2)).is_ok());
        let shared = index(&[(0, length), (0, length)]);
        assert!(shared.memory_bytes(&good).is_err());
        assert!(index(&[(0, length + 1)]).memory_bytes(&good).is_err());
    }
}
