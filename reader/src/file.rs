//! A Parquet file: its footer, and what is kept of its pages.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::Page;
use parquet::data_type::AsBytes;
use parquet::file::metadata::{
    FooterTail, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::schema::types::ColumnDescPtr;

use crate::chunk::Chunk;
use crate::error::{ReadError, Result};
use crate::footer::{self, Int96Values, Outline};
use crate::page::{PageFormat, PageHeader, decode_page};
use crate::pages::PageList;

/// The bytes that are read first, from the end of a file: its footer and page index are there.
const TAIL_BYTES: u64 = 512 << 10;

/// After the footer: its length and the magic.
const MAGIC_BYTES: u64 = 8;

/// The longest footer that is read, in bytes.
const MAX_FOOTER_BYTES: u64 = 128 << 20;

/// The most memory that a footer may need, in bytes.
const MAX_FOOTER_MEMORY_BYTES: u64 = 2 << 30;

/// The most bytes of INT96 columns that are read when a file is opened. In a larger file, their values are checked when
/// they are read.
const MAX_INT96_BYTES: u64 = 16 << 20;

/// The most bytes of decompressed pages that are kept for the next reader.
const MAX_CACHED_BYTES: usize = 64 << 20;

/// The most column chunks whose pages are remembered.
const MAX_CHUNKS: usize = 1 << 16;

/// Opens a file: says which bytes it needs, and takes them.
pub struct Opening {
    file_bytes: u64,
    /// The last bytes of the file, and the offset of the first of them.
    tail: (u64, Bytes),
    footer: Option<Footer>,
    /// The bytes of INT96 columns, by their offsets.
    int96: HashMap<u64, Bytes>,
}

struct Footer {
    metadata: Arc<ParquetMetaData>,
    schema: SchemaRef,
    num_rows: u64,
    has_encrypted_columns: bool,
}

impl Opening {
    /// Begins a file of `file_bytes` bytes.
    #[must_use]
    pub fn new(file_bytes: u64) -> Self {
        Self {
            file_bytes,
            tail: (file_bytes, Bytes::new()),
            footer: None,
            int96: HashMap::new(),
        }
    }

    /// The bytes that are needed next; none once the file is open.
    ///
    /// # Errors
    /// The bytes are not those of a Parquet file that can be read.
    pub fn needs(&mut self) -> Result<Vec<Range<u64>>> {
        let (start, tail) = &self.tail;
        if tail.is_empty() {
            let least = MAGIC_BYTES + 4;
            if self.file_bytes < least {
                return Err(ReadError::invalid(format!(
                    "the file has {} bytes; a Parquet file has {least} at least",
                    self.file_bytes
                )));
            }
            let start = self.file_bytes.saturating_sub(TAIL_BYTES);
            return Ok(std::iter::once(start..self.file_bytes).collect());
        }
        if self.footer.is_none() {
            let footer_start = footer_start(self.file_bytes, tail)?;
            if footer_start < *start {
                return Ok(std::iter::once(footer_start..*start).collect());
            }
            let bytes = &tail[(footer_start - start) as usize..tail.len() - MAGIC_BYTES as usize];
            self.footer = Some(Footer::parse(bytes, footer_start)?);
        }
        let footer = self.footer.iter();
        Ok(footer
            .flat_map(int96_chunks)
            .map(|(_, bytes)| bytes)
            .filter(|bytes| !self.int96.contains_key(&bytes.start))
            .collect())
    }

    /// Takes bytes of the file from the offset `start` on, which [`needs`](Self::needs) named.
    pub fn put(&mut self, start: u64, bytes: Bytes) {
        if self.footer.is_some() {
            self.int96.insert(start, bytes);
        } else if start + bytes.len() as u64 == self.tail.0 {
            self.tail = (start, Bytes::from([&bytes[..], &self.tail.1].concat()));
        }
    }

    /// The file, once nothing more is needed.
    ///
    /// # Errors
    /// A column cannot be read.
    pub fn finish(self) -> Result<ParquetFile> {
        let footer = self
            .footer
            .ok_or_else(|| ReadError::invalid("the footer is missing"))?;
        if footer.has_encrypted_columns {
            return Err(ReadError::unsupported(
                "the file has encrypted columns, which cannot be read",
            ));
        }
        let mut int96 = Int96Values::of_writer(&footer.metadata).unwrap_or_default();
        for ((group, column), bytes) in int96_chunks(&footer) {
            let chunk = footer.metadata.row_group(group).column(column);
            let format = PageFormat {
                codec: chunk.compression(),
                has_wrong_compression: false,
            };
            let held = self.int96.get(&bytes.start).cloned().unwrap_or_default();
            let pages = PageList(all_pages(format, &held)?.into_iter());
            int96.add(chunk.column_descr_ptr(), Box::new(pages))?;
        }
        let Footer {
            metadata,
            mut schema,
            num_rows,
            ..
        } = footer;
        let is_micros = int96.are_micros().map_err(ReadError::unsupported)?;
        if is_micros {
            let fields = footer::with_int96_micros(schema.fields(), &metadata);
            schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        }
        ParquetFile::try_new(metadata, &schema, num_rows, is_micros, self.tail)
    }
}

/// Where the footer begins. `tail` are the last bytes of the file.
fn footer_start(file_bytes: u64, tail: &[u8]) -> Result<u64> {
    let magic = tail
        .last_chunk()
        .ok_or_else(|| ReadError::invalid("the file is too short"))?;
    let end = FooterTail::try_new(magic).map_err(|_| {
        ReadError::invalid("the file does not end as a Parquet file does; it may be cut off")
    })?;
    if end.is_encrypted_footer() {
        return Err(ReadError::unsupported(
            "the Parquet file is encrypted; write it without encryption",
        ));
    }
    let length = end.metadata_length() as u64;
    if length > MAX_FOOTER_BYTES {
        return Err(ReadError::too_large(format!(
            "the footer of the file has {length} bytes; at most {MAX_FOOTER_BYTES} are read"
        )));
    }
    let footer_end = file_bytes - MAGIC_BYTES;
    let start = footer_end.checked_sub(length).filter(|start| *start >= 4);
    start.ok_or_else(|| ReadError::invalid("the footer is longer than the file"))
}

impl Footer {
    /// Reads the footer. What it describes lies before its own offset, `start`.
    fn parse(bytes: &[u8], start: u64) -> Result<Self> {
        let outline = Outline::of(bytes)?;
        if outline.memory_bytes > MAX_FOOTER_MEMORY_BYTES {
            return Err(ReadError::too_large(format!(
                "the footer of the file needs {} bytes of memory; at most {MAX_FOOTER_MEMORY_BYTES} are taken",
                outline.memory_bytes
            )));
        }
        let metadata = ParquetMetaDataReader::decode_metadata(bytes).and_then(footer::readable);
        let metadata = metadata.map_err(|error| ReadError::invalid(footer::explain(&error)))?;
        let num_rows = footer::num_rows(&metadata).map_err(ReadError::invalid)?;
        metadata
            .row_groups()
            .iter()
            .try_for_each(|group| check_chunks(group, start))?;
        let metadata = Arc::new(footer::with_num_rows(metadata, num_rows));
        let arrow = ArrowReaderMetadata::try_new(Arc::clone(&metadata), ArrowReaderOptions::new())?;
        let schema = footer::with_extension_types(arrow.schema(), &metadata);
        Ok(Self {
            metadata,
            schema,
            num_rows,
            has_encrypted_columns: outline.has_encrypted_columns,
        })
    }
}

/// Checks that the column chunks of a row group lie inside the file.
fn check_chunks(group: &RowGroupMetaData, end: u64) -> Result<()> {
    for column in group.columns() {
        let start = column
            .dictionary_page_offset()
            .unwrap_or(column.data_page_offset());
        let chunk_end = start.checked_add(column.compressed_size());
        let is_inside = start >= 0
            && column.compressed_size() >= 0
            && chunk_end.is_some_and(|chunk_end| chunk_end as u64 <= end);
        if !is_inside {
            return Err(ReadError::invalid(format!(
                "the footer says that column {} lies outside the file; it may be cut off",
                column.column_path()
            )));
        }
        if column.file_path().is_some_and(|path| !path.is_empty()) {
            return Err(ReadError::unsupported(
                "the rows are in other files, which the footer names",
            ));
        }
    }
    Ok(())
}

/// The INT96 column chunks whose values decide the unit, by row group and column, with their bytes.
fn int96_chunks(footer: &Footer) -> Vec<((usize, usize), Range<u64>)> {
    let metadata = &footer.metadata;
    if Int96Values::of_writer(metadata).is_some() || footer.has_encrypted_columns {
        return Vec::new();
    }
    let mut chunks = Vec::new();
    for (index, group) in metadata.row_groups().iter().enumerate() {
        for (column, chunk) in group.columns().iter().enumerate() {
            if chunk.column_type() == Type::INT96 {
                let (start, length) = chunk.byte_range();
                chunks.push(((index, column), start..start + length));
            }
        }
    }
    let num_bytes: u64 = chunks
        .iter()
        .map(|(_, bytes)| bytes.end - bytes.start)
        .sum();
    match num_bytes <= MAX_INT96_BYTES {
        true => chunks,
        false => Vec::new(),
    }
}

/// All pages of a column chunk, whose bytes are `bytes`.
fn all_pages(format: PageFormat, bytes: &Bytes) -> Result<Vec<Page>> {
    let mut pages = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = bytes.slice(at..);
        let header = PageHeader::parse(&rest)
            .ok_or_else(|| ReadError::invalid("a page header is damaged"))?;
        pages.extend(decode_page(format, &rest)?);
        at += header.page_bytes();
    }
    Ok(pages)
}

/// Columns that are read.
pub(crate) struct Columns {
    pub(crate) schema: SchemaRef,
    pub(crate) levels: FieldLevels,
    /// The numbers of their column chunks in a row group.
    pub(crate) leaves: Vec<usize>,
}

impl Columns {
    /// The columns of `schema`, which is that of the whole file, with these numbers.
    fn try_new(footer: &ParquetMetaData, schema: &Schema, numbers: &[usize]) -> Result<Self> {
        let descriptor = footer.file_metadata().schema_descr();
        let is_read = |leaf: &usize| numbers.contains(&descriptor.get_column_root_idx(*leaf));
        Ok(Self {
            levels: parquet_to_arrow_field_levels(
                descriptor,
                ProjectionMask::roots(descriptor, numbers.iter().copied()),
                Some(schema.fields()),
            )?,
            leaves: (0..descriptor.num_columns()).filter(is_read).collect(),
            schema: Arc::new(schema.project(numbers)?),
        })
    }
}

/// What it takes to read all values of a column.
#[derive(Debug, Clone, Copy, Default)]
pub struct ColumnCost {
    /// The compressed size, in bytes.
    pub file_bytes: u64,
    /// The least size in memory, in bytes.
    pub memory_bytes: u64,
}

/// A Parquet file whose footer has been read.
pub struct ParquetFile {
    pub(crate) footer: Arc<ParquetMetaData>,
    all_columns: Arc<Columns>,
    /// The number of the first row of each row group, and the number of all rows.
    first_rows: Vec<u64>,
    has_int96_micros: bool,
    tail: (u64, Bytes),
    /// What is known of the pages of row groups.
    groups: HashMap<usize, Vec<Chunk>>,
    cache: PageCache,
}

impl ParquetFile {
    fn try_new(
        footer: Arc<ParquetMetaData>,
        schema: &Schema,
        num_rows: u64,
        has_int96_micros: bool,
        tail: (u64, Bytes),
    ) -> Result<Self> {
        let numbers: Vec<usize> = (0..schema.fields().len()).collect();
        let all_columns = Arc::new(Columns::try_new(&footer, schema, &numbers)?);
        let mut first_rows = Vec::with_capacity(footer.num_row_groups() + 1);
        let mut row = 0;
        for group in footer.row_groups() {
            first_rows.push(row);
            row += group.num_rows().max(0) as u64;
        }
        first_rows.push(num_rows);
        Ok(Self {
            footer,
            all_columns,
            first_rows,
            has_int96_micros,
            tail,
            groups: HashMap::new(),
            cache: PageCache::default(),
        })
    }

    /// The number of rows.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        self.first_rows.last().copied().unwrap_or(0)
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.all_columns.schema
    }

    /// What it takes to read each column.
    #[must_use]
    pub fn column_costs(&self) -> Vec<ColumnCost> {
        let descriptor = self.footer.file_metadata().schema_descr();
        let mut costs = vec![ColumnCost::default(); self.schema().fields().len()];
        for group in self.footer.row_groups() {
            for (leaf, chunk) in group.columns().iter().enumerate() {
                let Some(cost) = costs.get_mut(descriptor.get_column_root_idx(leaf)) else {
                    continue;
                };
                cost.file_bytes += chunk.compressed_size().max(0) as u64;
                let value_bytes = match chunk.column_type() {
                    Type::BOOLEAN => 0,
                    Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
                    Type::INT64 | Type::DOUBLE | Type::INT96 => 8,
                    Type::FIXED_LEN_BYTE_ARRAY => chunk.column_descr().type_length().max(0) as u64,
                };
                cost.memory_bytes += value_bytes * chunk.num_values().max(0) as u64;
            }
        }
        costs
    }

    /// The columns with these numbers, which ascend; all of them for `None`.
    pub(crate) fn columns(&self, numbers: Option<&[usize]>) -> Result<Arc<Columns>> {
        match numbers {
            None => Ok(Arc::clone(&self.all_columns)),
            Some(numbers) => Ok(Arc::new(Columns::try_new(
                &self.footer,
                self.schema(),
                numbers,
            )?)),
        }
    }

    /// The row group that holds a row, with the numbers of its rows in the file.
    pub(crate) fn group_at(&self, row: u64) -> Option<(usize, Range<u64>)> {
        let index = self
            .first_rows
            .partition_point(|first| *first <= row)
            .checked_sub(1)?;
        let end = self.first_rows.get(index + 1)?;
        Some((index, self.first_rows[index]..*end))
    }

    /// Bytes of the file that are kept since it was opened.
    pub(crate) fn kept(&self, range: &Range<u64>) -> Option<Bytes> {
        let (start, tail) = &self.tail;
        let from = usize::try_from(range.start.checked_sub(*start)?).ok()?;
        let to = usize::try_from(range.end - start).ok()?;
        (to <= tail.len()).then(|| tail.slice(from..to))
    }

    /// What is known of the pages of a row group.
    pub(crate) fn known_chunks(&self, group: usize) -> Option<Vec<Chunk>> {
        self.groups.get(&group).cloned()
    }

    /// The bytes of the offset indexes of a row group, if all its columns have one.
    pub(crate) fn index_range(&self, group: usize) -> Option<Range<u64>> {
        let columns = self.footer.row_group(group).columns();
        let mut whole: Option<Range<u64>> = None;
        for column in columns {
            let start = u64::try_from(column.offset_index_offset()?).ok()?;
            let end = start + u64::try_from(column.offset_index_length()?).ok()?;
            whole = Some(whole.map_or(start..end, |all| all.start.min(start)..all.end.max(end)));
        }
        // They lie side by side, before the footer.
        whole.filter(|all| {
            all.end <= self.tail.0 + self.tail.1.len() as u64
                && all.end - all.start <= MAX_FOOTER_BYTES
        })
    }

    /// The chunks of a row group, with the pages that `index` names: the bytes of [`index_range`](Self::index_range).
    pub(crate) fn chunks(&self, group: usize, index: Option<&[u8]>) -> Vec<Chunk> {
        let metadata = self.footer.row_group(group);
        let start = self.index_range(group).map_or(0, |range| range.start);
        let has_wrong_compression = footer::has_wrong_compression(&self.footer);
        let columns = metadata.columns().iter().map(|column| {
            let mut chunk = Chunk::new(metadata, column, has_wrong_compression);
            let own = index.and_then(|index| {
                let from = (column.offset_index_offset()? as u64 - start) as usize;
                index.get(from..from + column.offset_index_length()? as usize)
            });
            // Without its index, a chunk is still readable, but more of it has to be read.
            if let Some(own) = own {
                chunk.take_index(own);
            }
            chunk
        });
        columns.collect()
    }

    /// Remembers what is known of the pages of a row group.
    pub(crate) fn learn(&mut self, group: usize, chunks: Vec<Chunk>) {
        if (self.groups.len() + 1) * chunks.len() > MAX_CHUNKS {
            self.groups.clear();
        }
        self.groups.insert(group, chunks);
    }

    /// A page that was decompressed before, by its first byte.
    pub(crate) fn cached_page(&mut self, start: u64) -> Option<Page> {
        self.cache.get(start)
    }

    /// Decompresses a page of a column and keeps it. `bytes` are the page with its header.
    pub(crate) fn decode_page(
        &mut self,
        start: u64,
        format: PageFormat,
        column: usize,
        bytes: &Bytes,
    ) -> Result<Page> {
        let page = decode_page(format, bytes)?;
        let page = page.ok_or_else(|| {
            ReadError::invalid("a page of another kind is where the index names one with rows")
        })?;
        let descriptor = self.footer.file_metadata().schema_descr().column(column);
        if descriptor.physical_type() == Type::INT96 && !self.has_int96_micros {
            check_nanos(&descriptor, &page)?;
        }
        // Uncompressed pages are slices of larger pieces, which they would keep in memory.
        if format.codec != Compression::UNCOMPRESSED {
            self.cache.insert(start, page.clone());
        }
        Ok(page)
    }

    /// The most bytes that a value of one of these dictionaries has, added up.
    pub(crate) fn longest_values(&self, dictionaries: &[(usize, Page)]) -> usize {
        let columns = self.footer.file_metadata().schema_descr();
        let longest = dictionaries.iter().map(|(column, page)| {
            match columns.column(*column).physical_type() {
                Type::BYTE_ARRAY => longest_value(page.buffer()),
                _ => 0,
            }
        });
        longest.sum()
    }
}

/// The length of the longest of texts that follow each other, each after its length.
fn longest_value(mut texts: &[u8]) -> usize {
    let mut longest = 0;
    while let Some((length, rest)) = texts.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        longest = longest.max(length);
        texts = rest.get(length..).unwrap_or_default();
    }
    longest
}

/// Checks that nanoseconds hold the INT96 values of a page.
fn check_nanos(column: &ColumnDescPtr, page: &Page) -> Result<()> {
    let mut values = Int96Values::default();
    match page {
        Page::DictionaryPage { buf, .. } => values.add_plain(buf.as_bytes())?,
        page if page.encoding() == Encoding::PLAIN => {
            let pages = vec![page.clone()].into_iter();
            values.add(Arc::clone(column), Box::new(PageList(pages)))?;
        }
        _ => {}
    }
    match values.needs_micros {
        false => Ok(()),
        true => Err(ReadError::unsupported(
            "an INT96 timestamp is outside the years 1677 to 2262; write it as INT64",
        )),
    }
}

/// Decompressed pages, the most recently used ones last.
#[derive(Default)]
struct PageCache {
    pages: HashMap<u64, (Page, u64)>,
    /// The uses, in their order: a page, and the number of the use.
    uses: VecDeque<(u64, u64)>,
    num_uses: u64,
    num_bytes: usize,
}

impl PageCache {
    fn get(&mut self, start: u64) -> Option<Page> {
        self.num_uses += 1;
        let (page, last_use) = self.pages.get_mut(&start)?;
        *last_use = self.num_uses;
        self.uses.push_back((start, self.num_uses));
        Some(page.clone())
    }

    fn insert(&mut self, start: u64, page: Page) {
        self.num_uses += 1;
        self.num_bytes += page.buffer().len();
        if let Some((before, _)) = self.pages.insert(start, (page, self.num_uses)) {
            self.num_bytes -= before.buffer().len();
        }
        self.uses.push_back((start, self.num_uses));
        while self.num_bytes > MAX_CACHED_BYTES || self.uses.len() > 8 * self.pages.len() + 64 {
            let Some((start, used)) = self.uses.pop_front() else {
                return;
            };
            let is_stale = self.pages.get(&start).is_none_or(|(_, last)| *last != used);
            if is_stale {
                continue;
            }
            if let Some((page, _)) = self.pages.remove(&start) {
                self.num_bytes -= page.buffer().len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    #[test]
    fn a_footer_of_too_many_row_groups_is_not_decoded() {
        let num_groups = 1_u32 << 25;
        let varint = [0x80, 0x80, 0x80, (num_groups >> 21) as u8];
        let mut bytes = vec![0x29, 0x1C, 0x48, 1, b'c', 0x15, 0, 0, 0x29, 0xFC];
        bytes.extend(varint);
        bytes.resize(bytes.len() + num_groups as usize + 1, 0);
        let error = Footer::parse(&bytes, 0).err().unwrap();
        assert_eq!(error.code, ErrorCode::TooLarge, "{error}");
    }
}
