//! Where the pages of a column chunk are.

use std::ops::Range;

use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use crate::page::{PageFormat, PageHeader, PageKind};
use crate::thrift::Compact;

/// A page that has rows.
#[derive(Debug, Clone)]
pub(crate) struct PageEntry {
    /// Its bytes in the file, header included.
    pub(crate) bytes: Range<u64>,
    /// The first of its rows in the row group; `None` if only all pages before it tell.
    pub(crate) first_row: Option<u64>,
}

/// What is known of the pages of a column chunk. Its offset index tells all pages; without one, the pages follow each other
/// and their headers are found one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub(crate) format: PageFormat,
    /// The bytes of all its pages.
    pub(crate) bytes: Range<u64>,
    pub(crate) num_rows: u64,
    pub(crate) dictionary: Option<Range<u64>>,
    /// In their order.
    pub(crate) pages: Vec<PageEntry>,
    /// The pages before this byte are known.
    pub(crate) known_to: u64,
    /// The rows of the known pages, if their headers tell them.
    num_known_rows: Option<u64>,
    has_lists: bool,
}

impl Chunk {
    /// A chunk of which no page is known. The bytes are inside the file.
    pub(crate) fn new(
        group: &RowGroupMetaData,
        column: &ColumnChunkMetaData,
        has_wrong_compression: bool,
    ) -> Self {
        let (start, length) = column.byte_range();
        Self {
            format: PageFormat {
                codec: column.compression(),
                has_wrong_compression,
            },
            bytes: start..start + length,
            num_rows: group.num_rows().max(0) as u64,
            dictionary: None,
            pages: Vec::new(),
            known_to: start,
            num_known_rows: Some(0),
            has_lists: column.column_descr().max_rep_level() > 0,
        }
    }

    /// Takes the pages from an offset index. Returns false, and takes none, if the index contradicts the footer.
    ///
    /// Spec: `OffsetIndex` in `parquet.thrift`.
    pub(crate) fn take_index(&mut self, index: &[u8]) -> bool {
        let Some(mut pages) = page_locations(index) else {
            return false;
        };
        let mut end = self.bytes.start;
        let mut row = None;
        for PageEntry { bytes, first_row } in &pages {
            let follows = match row {
                None => *first_row == Some(0),
                Some(before) => first_row.is_some_and(|row| row >= before),
            };
            if bytes.start < end || bytes.end > self.bytes.end || !follows {
                return false;
            }
            end = bytes.end;
            row = *first_row;
        }
        let Some(first) = pages.first() else {
            return self.num_rows == 0;
        };
        if row.is_some_and(|row| row >= self.num_rows) {
            return false;
        }
        if first.bytes.start > self.bytes.start {
            self.dictionary = Some(self.bytes.start..first.bytes.start);
        }
        // Pages without rows come before those that begin with the same row.
        pages.reverse();
        pages.dedup_by_key(|page| page.first_row);
        pages.reverse();
        self.pages = pages;
        self.known_to = self.bytes.end;
        true
    }

    /// Takes the page that begins at [`known_to`](Self::known_to). Returns its length in bytes.
    pub(crate) fn take_header(&mut self, header: &PageHeader) -> u64 {
        let start = self.known_to;
        let bytes = start..(start + header.page_bytes() as u64).min(self.bytes.end);
        self.known_to = bytes.end;
        match header.kind {
            PageKind::Other => {}
            PageKind::Dictionary(_) => self.dictionary = Some(bytes),
            PageKind::Data(_) | PageKind::DataV2(_) => {
                let first_row = self.num_known_rows;
                let num_rows = header.num_rows(self.has_lists);
                // Some writers end a row group with a page without rows.
                if num_rows == Some(0) {
                    return header.page_bytes() as u64;
                }
                self.num_known_rows = first_row.zip(num_rows).map(|(row, rows)| row + rows);
                // Pages after one of unknown rows have unknown rows as well, this one included.
                let first_row = self.num_known_rows.and(first_row);
                self.pages.push(PageEntry { bytes, first_row });
            }
        }
        header.page_bytes() as u64
    }

    /// Whether all pages are known.
    pub(crate) fn is_known(&self) -> bool {
        self.known_to >= self.bytes.end
    }

    /// Whether the rows of the known pages are not known, so that all pages have to be read from the first one on.
    pub(crate) fn has_unknown_rows(&self) -> bool {
        self.num_known_rows.is_none()
            && self
                .pages
                .last()
                .is_some_and(|page| page.first_row.is_none())
    }

    /// Whether all pages with rows before `end` are known.
    pub(crate) fn knows_rows(&self, end: u64) -> bool {
        self.is_known()
            || (!self.has_unknown_rows() && self.num_known_rows.is_some_and(|rows| rows >= end))
    }

    /// The known pages that are needed for `rows` of the row group, by their numbers.
    pub(crate) fn pages_of(&self, rows: &Range<u64>) -> Range<usize> {
        if self.has_unknown_rows() {
            return 0..self.pages.len();
        }
        let first_row = |page: &PageEntry| page.first_row.unwrap_or(0);
        let end = self
            .pages
            .partition_point(|page| first_row(page) < rows.end);
        let start = self
            .pages
            .partition_point(|page| first_row(page) <= rows.start);
        start.saturating_sub(1)..end
    }

    /// The rows of a known page, if they are known.
    pub(crate) fn rows_of(&self, index: usize) -> Option<usize> {
        let first = self.pages.get(index)?.first_row?;
        let end = match self.pages.get(index + 1) {
            Some(next) => next.first_row?,
            None if self.is_known() => self.num_rows,
            None => self.num_known_rows?,
        };
        Some(end.saturating_sub(first) as usize)
    }

    /// The byte before which the pages of rows up to `end` probably are, for a chunk whose pages are not known.
    pub(crate) fn expected_end(&self, end: u64) -> u64 {
        let length = u128::from(self.bytes.end - self.bytes.start);
        let share = length * u128::from(end.min(self.num_rows)) / u128::from(self.num_rows.max(1));
        let margin = share as u64 / 16 + LEAST_BYTES;
        (self.bytes.start + share as u64 + margin).min(self.bytes.end)
    }
}

/// The bytes that are read beyond the expected ones: a dictionary or a page may be there.
const LEAST_BYTES: u64 = 256 << 10;

fn page_locations(index: &[u8]) -> Option<Vec<PageEntry>> {
    let mut pages = Vec::new();
    Compact::new(index).fields(|value, field| {
        if field.id != 1 {
            return value.skip(field);
        }
        value.structs(|value| {
            let (mut offset, mut length, mut row) = (None, None, None);
            value.fields(|value, field| {
                match field.id {
                    1 => offset = Some(value.integer()?),
                    2 => length = Some(value.int32()?),
                    3 => row = Some(value.integer()?),
                    _ => value.skip(field)?,
                }
                Some(())
            })?;
            let start = u64::try_from(offset?).ok()?;
            let end = start.checked_add(u64::try_from(length?).ok()?)?;
            pages.push(PageEntry {
                bytes: start..end,
                first_row: Some(u64::try_from(row?).ok()?),
            });
            Some(())
        })
    })?;
    Some(pages)
}
