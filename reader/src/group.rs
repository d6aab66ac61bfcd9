//! A row group that is being read: its pages are requested, decompressed and decoded.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::{Bytes, BytesMut};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection, RowSelector};
use parquet::column::page::Page;

use crate::chunk::Chunk;
use crate::error::{ReadError, Result};
use crate::file::{Columns, ParquetFile};
use crate::page::{MAX_HEADER_BYTES, PageHeader};
use crate::pages::{OneRowGroup, ReadyPages, SharedPages, lock};
use crate::selection::Selection;
use crate::wanted::WantedBytes;

/// The most bytes that the texts of a message may have, if each were the longest of its dictionary.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// A step ends after so many decompressed bytes, so that it takes some milliseconds.
const STEP_BYTES: usize = 1 << 20;

/// How much more of a column is requested if its next page is not found, in bytes.
const FURTHER_BYTES: u64 = 512 << 10;

/// If the rows of a selector are fewer on the average, the library reads the rows between them.
const LIBRARY_MEAN_ROWS: usize = 64;

/// What is ready of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// All pages.
    All,
    /// Pages became ready, and others can.
    Some,
    /// Bytes are missing.
    Starved,
}

/// A row group that is being read.
pub(crate) struct Group {
    index: usize,
    /// Its rows, by their numbers in the file.
    pub(crate) rows: Range<u64>,
    /// The bytes of rows before this one have been requested.
    pub(crate) asked_to: u64,
    columns: Arc<Columns>,
    /// The rows to read, of all row groups.
    selection: Arc<Selection>,
    /// `None` until its offset index has arrived.
    pages: Option<SharedPages>,
    /// The pages of each column that have been requested: those before this number.
    asked_pages: Vec<usize>,
    /// The pages of each column that are no longer held: those before this number.
    dropped_pages: Vec<usize>,
    /// Columns whose pages are found one after the other.
    walks: HashMap<usize, Walk>,
    /// Pages that were found so, compressed, by their first bytes.
    raw: HashMap<u64, Bytes>,
    pub(crate) raw_bytes: u64,
    /// The decoder, and the rows of each of its batches.
    decoder: Option<(ParquetRecordBatchReader, u64)>,
}

/// The search for the pages of a column chunk.
#[derive(Default)]
struct Walk {
    /// The bytes behind the known pages.
    tail: BytesMut,
    /// The first bytes of pieces that were requested.
    pieces: VecDeque<u64>,
    /// The bytes before this one have been requested.
    asked_to: u64,
    /// The end of the page that begins behind the known ones, as far as it is known.
    needed_to: u64,
}

impl Group {
    /// The row group `index` of a file, whose rows are `rows`. Those from `first_row` on are read.
    pub(crate) fn new(
        index: usize,
        rows: Range<u64>,
        first_row: u64,
        columns: &Arc<Columns>,
        selection: &Arc<Selection>,
    ) -> Self {
        Self {
            index,
            rows,
            asked_to: first_row,
            columns: Arc::clone(columns),
            selection: Arc::clone(selection),
            pages: None,
            asked_pages: Vec::new(),
            dropped_pages: Vec::new(),
            walks: HashMap::new(),
            raw: HashMap::new(),
            raw_bytes: 0,
            decoder: None,
        }
    }

    /// The compressed and the decompressed size of a row, in bytes; 1 at least.
    pub(crate) fn row_bytes(&self, file: &ParquetFile) -> (u64, u64) {
        let chunks = file.footer.row_group(self.index).columns();
        let num_rows = (self.rows.end - self.rows.start).max(1);
        let (mut compressed, mut whole) = (0, 0);
        for leaf in &self.columns.leaves {
            compressed += chunks[*leaf].compressed_size().max(0) as u64;
            whole += chunks[*leaf].uncompressed_size().max(0) as u64;
        }
        ((compressed / num_rows).max(1), (whole / num_rows).max(1))
    }

    /// Reads the offset index if there is one. False while its bytes are on their way.
    pub(crate) fn find_pages(&mut self, file: &ParquetFile, wanted: &mut WantedBytes) -> bool {
        if self.pages.is_some() {
            return true;
        }
        let chunks = match (file.known_chunks(self.index), file.index_range(self.index)) {
            (Some(known), _) => known,
            (None, None) => file.chunks(self.index, None),
            (None, Some(range)) => {
                wanted.want(file, range.clone());
                match wanted.take(range.start) {
                    None => return false,
                    Some(index) => file.chunks(self.index, Some(&index)),
                }
            }
        };
        let first_row = self.asked_to - self.rows.start;
        let first_pages = chunks
            .iter()
            .map(|chunk| chunk.pages_of(&(first_row..first_row + 1)).start);
        self.asked_pages = first_pages.collect();
        self.dropped_pages = self.asked_pages.clone();
        let pages = HashMap::new();
        self.pages = Some(SharedPages::new(ReadyPages { chunks, pages }.into()));
        true
    }

    /// Requests the bytes of the selected ones of `rows`.
    pub(crate) fn ask(
        &mut self,
        file: &mut ParquetFile,
        wanted: &mut WantedBytes,
        rows: Range<u64>,
    ) {
        self.asked_to = rows.end;
        let own_rows = rows.start - self.rows.start..rows.end - self.rows.start;
        let Some(pages) = &self.pages else {
            return;
        };
        let ready = lock(pages);
        for column in &self.columns.leaves {
            let chunk = &ready.chunks[*column];
            let asked = &mut self.asked_pages[*column];
            let needed = chunk.pages_of(&own_rows);
            if *asked < needed.end || chunk.pages.is_empty() {
                let is_selected = is_selected(chunk, self.rows.start, &self.selection);
                let pages = (*asked..needed.end).filter(is_selected);
                let pages = pages.map(|page| &chunk.pages[page].bytes);
                for bytes in chunk.dictionary.iter().chain(pages) {
                    if file.cached_page(bytes.start).is_none()
                        && !ready.pages.contains_key(&bytes.start)
                    {
                        wanted.want(file, bytes.clone());
                    }
                }
                *asked = needed.end.max(*asked);
            }
            if !chunk.is_known() {
                let walk = self.walks.entry(*column).or_insert_with(|| Walk::of(chunk));
                walk.ask(file, wanted, chunk.expected_end(own_rows.end));
            }
        }
    }

    /// Makes the pages of the selected ones of `rows` ready.
    pub(crate) fn prepare(
        &mut self,
        file: &mut ParquetFile,
        wanted: &mut WantedBytes,
        rows: Range<u64>,
    ) -> Result<Readiness> {
        let rows = rows.start - self.rows.start..rows.end - self.rows.start;
        let Some(pages) = &self.pages else {
            return Ok(Readiness::Starved);
        };
        let mut ready = lock(pages);
        let ReadyPages { chunks, pages } = &mut *ready;
        let mut is_starved = false;
        let mut decoded_bytes = 0;
        for &column in &self.columns.leaves {
            let chunk = &mut chunks[column];
            if let Some(walk) = self.walks.get_mut(&column) {
                for (start, bytes) in walk.find(wanted, chunk)? {
                    self.raw_bytes += bytes.len() as u64;
                    self.raw.insert(start, bytes);
                }
                let is_needed = chunk.has_unknown_rows() || !chunk.knows_rows(rows.end);
                if is_needed && !chunk.is_known() {
                    is_starved = true;
                    let end = if chunk.has_unknown_rows() {
                        chunk.bytes.end
                    } else {
                        walk.next_end(chunk)
                    };
                    walk.ask(file, wanted, end);
                }
            }
            let needed = chunk
                .pages_of(&rows)
                .filter(is_selected(chunk, self.rows.start, &self.selection))
                .map(|page| &chunk.pages[page].bytes);
            for bytes in chunk.dictionary.iter().chain(needed) {
                if pages.contains_key(&bytes.start) {
                    continue;
                }
                if let Some(page) = file.cached_page(bytes.start) {
                    pages.insert(bytes.start, page);
                    continue;
                }
                let walked = self.raw.remove(&bytes.start);
                self.raw_bytes -= walked.as_ref().map_or(0, |bytes| bytes.len() as u64);
                let Some(compressed) = walked.or_else(|| wanted.take(bytes.start)) else {
                    wanted.want(file, bytes.clone());
                    is_starved = true;
                    continue;
                };
                let page = file.decode_page(bytes.start, chunk.format, column, &compressed)?;
                decoded_bytes += page.buffer().len();
                pages.insert(bytes.start, page);
                if decoded_bytes > STEP_BYTES {
                    return Ok(Readiness::Some);
                }
            }
        }
        Ok(match is_starved {
            true => Readiness::Starved,
            false => Readiness::All,
        })
    }

    /// The next batch: `num_rows` selected rows from the file's row `first_row` on, whose pages are ready.
    pub(crate) fn decode(
        &mut self,
        file: &ParquetFile,
        first_row: u64,
        num_rows: u64,
    ) -> Result<RecordBatch> {
        // A batch at the end of the row group, or of the rows, may have fewer rows than the decoder's others.
        let left = self.selection.rank(self.rows.end) - self.selection.rank(first_row);
        let fits = |(_, batch_rows): &(_, u64)| num_rows == left.min(*batch_rows);
        let (mut decoder, batch_rows) = match self.decoder.take().filter(fits) {
            Some(decoder) => decoder,
            None => (self.make_decoder(file, first_row, num_rows)?, num_rows),
        };
        let batch = decoder.next().transpose()?;
        self.decoder = Some((decoder, batch_rows));
        batch
            .filter(|batch| batch.num_rows() as u64 == num_rows)
            .ok_or_else(|| {
                ReadError::invalid(
                    "a row group does not have the number of rows that the footer gives",
                )
            })
    }

    fn make_decoder(
        &self,
        file: &ParquetFile,
        first_row: u64,
        batch_rows: u64,
    ) -> Result<ParquetRecordBatchReader> {
        let mut selectors = Vec::new();
        let mut at = self.rows.start;
        for rows in self.selection.within(first_row..self.rows.end) {
            selectors.push(RowSelector::skip((rows.start - at) as usize));
            selectors.push(RowSelector::select((rows.end - rows.start) as usize));
            at = rows.end;
        }
        // If runs are short, the library reads the rows between them too, whose pages may be missing. It takes the share
        // of selected rows from all selectors, this one included, which it drops then.
        selectors.push(RowSelector::skip(selectors.len() * LIBRARY_MEAN_ROWS));
        let group = OneRowGroup {
            footer: Arc::clone(&file.footer),
            index: self.index,
            pages: self.pages.clone().unwrap_or_default(),
        };
        Ok(ParquetRecordBatchReader::try_new_with_row_groups(
            &self.columns.levels,
            &group,
            batch_rows as usize,
            Some(RowSelection::from_iter(selectors)),
        )?)
    }

    /// The most rows of a batch whose texts could all be the longest of their dictionaries.
    pub(crate) fn most_rows(&self, file: &ParquetFile) -> u64 {
        let Some(pages) = &self.pages else {
            return u64::MAX;
        };
        let ready = lock(pages);
        let dictionaries = ready
            .chunks
            .iter()
            .enumerate()
            .filter_map(|(column, chunk)| {
                let page = ready.pages.get(&chunk.dictionary.as_ref()?.start)?;
                Some((column, page.clone()))
            });
        let dictionaries: Vec<(usize, Page)> = dictionaries.collect();
        MAX_TEXT_BYTES / file.longest_values(&dictionaries).max(1) as u64
    }

    /// Frees the pages with rows before `row` only.
    pub(crate) fn drop_before(&mut self, row: u64) {
        let Some(pages) = &self.pages else {
            return;
        };
        let own_row = row - self.rows.start;
        let mut ready = lock(pages);
        let ReadyPages { chunks, pages } = &mut *ready;
        for &column in &self.columns.leaves {
            let chunk = &chunks[column];
            let first = chunk.pages_of(&(own_row..own_row + 1)).start;
            for page in self.dropped_pages[column]..first {
                let start = chunk.pages[page].bytes.start;
                pages.remove(&start);
                // Rows of pages that were found may not be selected.
                let raw = self.raw.remove(&start);
                self.raw_bytes -= raw.map_or(0, |bytes| bytes.len() as u64);
            }
            self.dropped_pages[column] = first.max(self.dropped_pages[column]);
        }
    }

    pub(crate) fn teach(self, file: &mut ParquetFile) {
        if let Some(pages) = self.pages {
            file.learn(self.index, std::mem::take(&mut lock(&pages).chunks));
        }
    }
}

/// Whether a page of a column has selected rows. The row group begins at the file's row `group_start`.
fn is_selected<'a>(
    chunk: &'a Chunk,
    group_start: u64,
    selection: &'a Selection,
) -> impl Fn(&usize) -> bool + 'a {
    let is_all = chunk.has_unknown_rows();
    move |page| match (chunk.pages[*page].first_row, chunk.rows_of(*page)) {
        (Some(first), Some(num_rows)) if !is_all => {
            let start = group_start + first;
            selection.has_any(&(start..start + num_rows as u64))
        }
        _ => true,
    }
}

impl Walk {
    fn of(chunk: &Chunk) -> Self {
        Self {
            asked_to: chunk.known_to,
            ..Self::default()
        }
    }

    /// Requests the bytes before `end`.
    fn ask(&mut self, file: &ParquetFile, wanted: &mut WantedBytes, end: u64) {
        if end <= self.asked_to {
            return;
        }
        self.pieces.push_back(self.asked_to);
        wanted.want(file, self.asked_to..end);
        self.asked_to = end;
    }

    /// The end of the next request, if the pages so far are not enough.
    fn next_end(&self, chunk: &Chunk) -> u64 {
        if !self.pieces.is_empty() {
            return self.asked_to;
        }
        let end = self.needed_to.max(self.asked_to + FURTHER_BYTES);
        end.min(chunk.bytes.end)
    }

    /// Finds pages in the pieces that have arrived: their first bytes, and their bytes.
    fn find(&mut self, wanted: &mut WantedBytes, chunk: &mut Chunk) -> Result<Vec<(u64, Bytes)>> {
        while let Some(piece) = self.pieces.front().and_then(|start| wanted.take(*start)) {
            self.pieces.pop_front();
            self.tail.extend_from_slice(&piece);
        }
        let mut pages = Vec::new();
        while !chunk.is_known() {
            let Some(header) = PageHeader::parse(&self.tail) else {
                let is_whole = chunk.known_to + self.tail.len() as u64 >= chunk.bytes.end;
                if is_whole || self.tail.len() >= MAX_HEADER_BYTES {
                    return Err(ReadError::invalid("a page header is damaged"));
                }
                break;
            };
            let start = chunk.known_to;
            self.needed_to = start + header.page_bytes() as u64;
            if self.needed_to > chunk.bytes.end {
                return Err(ReadError::invalid("a page is longer than its column"));
            }
            if self.tail.len() < header.page_bytes() {
                break;
            }
            chunk.take_header(&header);
            pages.push((start, self.tail.split_to(header.page_bytes()).freeze()));
        }
        Ok(pages)
    }
}
