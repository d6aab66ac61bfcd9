//! Reads a range of rows: says which bytes it needs, takes them, and gives messages.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use bytes::{Bytes, BytesMut};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection, RowSelector};
use parquet::column::page::Page;

use crate::chunk::Chunk;
use crate::error::{ReadError, Result};
use crate::file::ParquetFile;
use crate::messages::MessageWriter;
use crate::page::{MAX_HEADER_BYTES, PageHeader};
use crate::pages::{OneRowGroup, ReadyPages, SharedPages, lock};
use crate::wanted::WantedBytes;

/// The rows of the first message: few, so that they are on the screen at once.
const FIRST_ROWS: u64 = 1024;

/// The size of a message, in bytes.
const MESSAGE_BYTES: u64 = 512 << 10;

/// The most rows of a message.
const MAX_ROWS: u64 = 64 << 10;

/// The most bytes that the texts of a message may have, if each were the longest of its dictionary.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// How many bytes are requested before they are needed, so that the network is not idle while pages are decoded.
const AHEAD_BYTES: u64 = 16 << 20;

/// How many row groups are requested before they are needed.
const AHEAD_GROUPS: usize = 16;

/// How much is requested at once, in bytes: little at first, then more and more, so that requests are few.
const UNIT_BYTES: Range<u64> = 512 << 10..8 << 20;

/// A step ends after so many decompressed bytes, so that it takes some milliseconds.
const STEP_BYTES: usize = 1 << 20;

/// What a step of a [`RowReader`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The next bytes of the Arrow stream.
    Message(Vec<u8>),
    /// It worked, and has more to do.
    Worked,
    /// It waits for bytes.
    Starved,
    /// The stream has ended.
    Done,
}

enum State {
    Schema,
    Rows,
    Done,
}

/// Reads some rows of a file as an Arrow stream.
pub struct RowReader {
    rows: Range<u64>,
    /// The next row to decode.
    cursor: u64,
    state: State,
    writer: MessageWriter,
    /// The row groups that are being read or requested, in order.
    groups: VecDeque<Group>,
    wanted: WantedBytes,
    /// The size of a row in memory, in bytes, once some have been decoded.
    row_bytes: Option<u64>,
    /// How much the next request is for.
    unit_bytes: u64,
}

impl RowReader {
    /// A reader of `rows` of a file, as far as it has them.
    #[must_use]
    pub fn new(file: &ParquetFile, rows: Range<u64>) -> Self {
        let end = rows.end.min(file.num_rows());
        let rows = rows.start.min(end)..end;
        Self {
            cursor: rows.start,
            writer: MessageWriter::new(rows.start),
            rows,
            state: State::Schema,
            groups: VecDeque::new(),
            wanted: WantedBytes::default(),
            row_bytes: None,
            unit_bytes: UNIT_BYTES.start,
        }
    }

    /// The next row to decode: where an error of a step is.
    #[must_use]
    pub fn row(&self) -> u64 {
        self.cursor
    }

    /// The bytes to fetch that were not returned before, in order of their offsets.
    pub fn take_wanted(&mut self) -> Vec<Range<u64>> {
        self.wanted.take_fresh()
    }

    /// Takes bytes of the file from the offset `start` on: a range that [`take_wanted`](Self::take_wanted) returned.
    pub fn put(&mut self, start: u64, bytes: &Bytes) {
        self.wanted.put(start, bytes);
    }

    /// Does a piece of work. After [`Step::Starved`], the next step needs more bytes.
    ///
    /// # Errors
    /// The file is damaged, or has what cannot be read. The reader cannot go on.
    pub fn step(&mut self, file: &mut ParquetFile) -> Result<Step> {
        match self.state {
            State::Schema => {
                self.state = State::Rows;
                self.request(file);
                Ok(Step::Message(self.writer.schema(file.schema())))
            }
            State::Rows if self.cursor < self.rows.end => self.step_rows(file),
            State::Rows => {
                self.state = State::Done;
                Ok(Step::Message(self.writer.end(file.schema())?))
            }
            State::Done => Ok(Step::Done),
        }
    }

    fn step_rows(&mut self, file: &mut ParquetFile) -> Result<Step> {
        self.request(file);
        let end = self.batch_end();
        let Some(group) = self.groups.front_mut() else {
            return Ok(Step::Starved);
        };
        let ready = group.prepare(file, &mut self.wanted, self.cursor..end)?;
        if ready != Step::Done {
            return Ok(ready);
        }
        let rows = self.cursor..group.rows.end.min(self.rows.end);
        let batch_rows = group.make_decoder(file, rows.clone(), end - self.cursor)?;
        let batch = group.decode()?;
        if batch.num_rows() as u64 != batch_rows.min(rows.end - rows.start) {
            return Err(ReadError::invalid(
                "a row group does not have the number of rows that the footer gives",
            ));
        }
        let message = self.writer.batch(&with_schema(file, &batch)?)?;
        self.cursor += batch.num_rows() as u64;
        self.adapt(message.len() as u64 / batch.num_rows().max(1) as u64);
        self.drop_used(file);
        Ok(Step::Message(message))
    }

    /// Remembers the places of pages for the next reader.
    pub fn close(self, file: &mut ParquetFile) {
        self.groups.into_iter().for_each(|group| group.teach(file));
    }

    /// The row before which the next batch ends.
    fn batch_end(&self) -> u64 {
        let group = self.groups.front();
        let rows = group
            .and_then(|group| group.batch_rows)
            .unwrap_or(self.batch_rows());
        let group_end = group.map_or(self.rows.end, |group| group.rows.end);
        (self.cursor + rows).min(group_end).min(self.rows.end)
    }

    fn batch_rows(&self) -> u64 {
        let fitting = self.row_bytes.map(|bytes| MESSAGE_BYTES / bytes.max(1));
        fitting.map_or(FIRST_ROWS, |rows| rows.clamp(1, MAX_ROWS))
    }

    /// Adapts the rows of a batch to their size.
    fn adapt(&mut self, row_bytes: u64) {
        let fits = |before: u64| row_bytes <= 2 * before && before <= 2 * row_bytes;
        if self.row_bytes.is_some_and(fits) {
            return;
        }
        self.row_bytes = Some(row_bytes);
        if let Some(group) = self.groups.front_mut() {
            group.decoder = None;
            group.batch_rows = None;
        }
    }

    /// Frees the pages before the cursor.
    fn drop_used(&mut self, file: &mut ParquetFile) {
        let Some(group) = self.groups.front_mut() else {
            return;
        };
        if self.cursor < group.rows.end.min(self.rows.end) {
            return group.drop_before(self.cursor);
        }
        if let Some(group) = self.groups.pop_front() {
            group.teach(file);
        }
    }

    /// Requests the bytes of rows from the cursor on.
    fn request(&mut self, file: &mut ParquetFile) {
        loop {
            let is_urgent =
                (self.groups.front()).is_none_or(|group| group.asked_to < self.batch_end());
            let is_ahead = self.held_bytes() >= AHEAD_BYTES || self.groups.len() > AHEAD_GROUPS;
            let next = self
                .groups
                .back()
                .map_or(self.cursor, |group| group.asked_to);
            if next >= self.rows.end || (is_ahead && !is_urgent) {
                return;
            }
            if self
                .groups
                .back()
                .is_none_or(|group| next >= group.rows.end)
            {
                let Some((index, rows)) = file.group_at(next) else {
                    return;
                };
                self.groups.push_back(Group::new(index, rows, next));
            }
            let batch_rows = self.batch_rows();
            let Some(group) = self.groups.back_mut() else {
                return;
            };
            if !group.find_pages(file, &mut self.wanted) {
                return;
            }
            // The rows of the first message come alone, because they are waited for.
            let unit_rows = match next > self.rows.start {
                false => batch_rows,
                true => batch_rows.max(self.unit_bytes / group.compressed_row_bytes(file)),
            };
            self.unit_bytes = (2 * self.unit_bytes).min(UNIT_BYTES.end);
            let end = (next + unit_rows).min(group.rows.end).min(self.rows.end);
            group.ask(file, &mut self.wanted, next..end);
        }
    }

    fn held_bytes(&self) -> u64 {
        let raw = self.groups.iter().map(|group| group.raw_bytes);
        self.wanted.num_bytes() + raw.sum::<u64>()
    }
}

/// A batch with the columns of the table, whose fields may have extension types.
fn with_schema(file: &ParquetFile, batch: &RecordBatch) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = batch.columns().to_vec();
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(file.schema()),
        columns,
        &options,
    )?)
}

/// A row group that is being read.
struct Group {
    index: usize,
    /// Its rows, by their numbers in the file.
    rows: Range<u64>,
    /// The bytes of rows before this one have been requested.
    asked_to: u64,
    /// `None` until its offset index has arrived.
    pages: Option<SharedPages>,
    /// The pages of each column that have been requested: those before this number.
    asked_pages: Vec<usize>,
    /// Columns whose pages are found one after the other.
    walks: HashMap<usize, Walk>,
    /// Pages that were found so, compressed, by their first bytes.
    raw: HashMap<u64, Bytes>,
    raw_bytes: u64,
    decoder: Option<ParquetRecordBatchReader>,
    /// The rows of each batch of the decoder.
    batch_rows: Option<u64>,
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
    fn new(index: usize, rows: Range<u64>, asked_to: u64) -> Self {
        Self {
            index,
            rows,
            asked_to,
            pages: None,
            asked_pages: Vec::new(),
            walks: HashMap::new(),
            raw: HashMap::new(),
            raw_bytes: 0,
            decoder: None,
            batch_rows: None,
        }
    }

    /// The compressed size of a row, in bytes.
    fn compressed_row_bytes(&self, file: &ParquetFile) -> u64 {
        let bytes = file.footer.row_group(self.index).compressed_size().max(0) as u64;
        (bytes / (self.rows.end - self.rows.start).max(1)).max(1)
    }

    /// Reads the offset index if there is one. False while its bytes are on their way.
    fn find_pages(&mut self, file: &ParquetFile, wanted: &mut WantedBytes) -> bool {
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
        let pages = HashMap::new();
        self.pages = Some(SharedPages::new(ReadyPages { chunks, pages }.into()));
        true
    }

    /// Requests the bytes of `rows`.
    fn ask(&mut self, file: &mut ParquetFile, wanted: &mut WantedBytes, rows: Range<u64>) {
        self.asked_to = rows.end;
        let own_rows = rows.start - self.rows.start..rows.end - self.rows.start;
        let Some(pages) = &self.pages else {
            return;
        };
        let ready = lock(pages);
        for (column, chunk) in ready.chunks.iter().enumerate() {
            let asked = &mut self.asked_pages[column];
            let needed = chunk.pages_of(&own_rows);
            if *asked < needed.end || chunk.pages.is_empty() {
                let first = chunk.dictionary.iter().chain(
                    chunk.pages[..needed.end]
                        .iter()
                        .skip(*asked)
                        .map(|page| &page.bytes),
                );
                for bytes in first {
                    if file.cached_page(bytes.start).is_none()
                        && !ready.pages.contains_key(&bytes.start)
                    {
                        wanted.want(file, bytes.clone());
                    }
                }
                *asked = needed.end;
            }
            if !chunk.is_known() {
                let walk = self.walks.entry(column).or_insert_with(|| Walk::of(chunk));
                walk.ask(file, wanted, chunk.expected_end(own_rows.end));
            }
        }
    }

    /// Makes the pages of `rows` ready: [`Step::Done`] if all are.
    fn prepare(
        &mut self,
        file: &mut ParquetFile,
        wanted: &mut WantedBytes,
        rows: Range<u64>,
    ) -> Result<Step> {
        let rows = rows.start - self.rows.start..rows.end - self.rows.start;
        let Some(pages) = &self.pages else {
            return Ok(Step::Starved);
        };
        let mut ready = lock(pages);
        let ReadyPages { chunks, pages } = &mut *ready;
        let mut is_starved = false;
        let mut decoded_bytes = 0;
        for (column, chunk) in chunks.iter_mut().enumerate() {
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
            let needed = chunk.pages[chunk.pages_of(&rows)]
                .iter()
                .map(|page| &page.bytes);
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
                    return Ok(Step::Worked);
                }
            }
        }
        Ok(if is_starved {
            Step::Starved
        } else {
            Step::Done
        })
    }

    /// Makes a decoder of `rows`, whose first pages are ready, unless there is one. Returns the rows of its batches: at most
    /// `batch_rows`.
    fn make_decoder(
        &mut self,
        file: &ParquetFile,
        rows: Range<u64>,
        batch_rows: u64,
    ) -> Result<u64> {
        if let (Some(_), Some(batch_rows)) = (&self.decoder, self.batch_rows) {
            return Ok(batch_rows);
        }
        let batch_rows = batch_rows.min(self.most_rows(file)).max(1);
        let selection = [
            RowSelector::skip((rows.start - self.rows.start) as usize),
            RowSelector::select((rows.end - rows.start) as usize),
        ];
        let group = OneRowGroup {
            footer: Arc::clone(&file.footer),
            index: self.index,
            pages: self.pages.clone().unwrap_or_default(),
        };
        self.decoder = Some(ParquetRecordBatchReader::try_new_with_row_groups(
            &file.levels,
            &group,
            batch_rows as usize,
            Some(RowSelection::from_iter(selection)),
        )?);
        self.batch_rows = Some(batch_rows);
        Ok(batch_rows)
    }

    /// The next batch, whose pages are ready.
    fn decode(&mut self) -> Result<RecordBatch> {
        let batch = self.decoder.as_mut().and_then(Iterator::next).transpose()?;
        batch.ok_or_else(|| ReadError::invalid("a row group has fewer rows than the footer gives"))
    }

    /// The most rows of a batch whose texts could all be the longest of their dictionaries.
    fn most_rows(&self, file: &ParquetFile) -> u64 {
        let Some(pages) = &self.pages else {
            return MAX_ROWS;
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
    fn drop_before(&mut self, row: u64) {
        let Some(pages) = &self.pages else {
            return;
        };
        let own_row = row - self.rows.start;
        let mut ready = lock(pages);
        let ReadyPages { chunks, pages } = &mut *ready;
        if pages.len() <= chunks.len() {
            return;
        }
        for chunk in chunks.iter() {
            let first = chunk.pages_of(&(own_row..own_row + 1)).start;
            // Only those just before can still be there.
            for page in chunk.pages[..first].iter().rev() {
                if pages.remove(&page.bytes.start).is_none() {
                    break;
                }
            }
        }
    }

    fn teach(self, file: &mut ParquetFile) {
        if let Some(pages) = self.pages {
            file.learn(self.index, std::mem::take(&mut lock(&pages).chunks));
        }
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
        let end = self.needed_to.max(self.asked_to + UNIT_BYTES.start);
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
