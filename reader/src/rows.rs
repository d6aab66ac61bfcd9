//! Reads rows: says which bytes it needs, takes them, and gives messages.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use bytes::Bytes;

use crate::error::{ReadError, Result};
use crate::file::{Columns, ParquetFile};
use crate::group::{Group, Readiness};
use crate::messages::MessageWriter;
use crate::selection::Selection;
use crate::wanted::WantedBytes;

/// The rows of the first message: few, so that they are on the screen at once.
const FIRST_ROWS: u64 = 1024;

/// The size of a message, in bytes.
const MESSAGE_BYTES: u64 = 512 << 10;

/// The most rows of a message.
const MAX_ROWS: u64 = 64 << 10;

/// The most bytes of decompressed pages that the rows of a message may be spread over, as a rule.
const SPREAD_BYTES: u64 = 32 << 20;

/// The most memory of rows that are read in another order than that of the file, in bytes.
const MAX_REORDERED_BYTES: usize = 128 << 20;

/// How many bytes are requested before they are needed, so that the network is not idle while pages are decoded.
const AHEAD_BYTES: u64 = 16 << 20;

/// How many row groups are requested before they are needed.
const AHEAD_GROUPS: usize = 16;

/// How much is requested at once, in bytes: little at first, then more and more, so that requests are few.
const UNIT_BYTES: Range<u64> = 512 << 10..8 << 20;

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
    selection: Arc<Selection>,
    columns: Arc<Columns>,
    /// How many of the selected rows have been decoded.
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
    reordering: Option<Reordering>,
}

/// Rows that are wanted in another order than that of the file.
struct Reordering {
    /// For each wanted row, its place among the selected ones.
    ranks: Vec<u32>,
    read: Vec<RecordBatch>,
    /// How many rows have been read before each batch.
    starts: Vec<usize>,
    num_rows: usize,
    num_bytes: usize,
    /// How many rows have been written.
    num_written: usize,
}

impl RowReader {
    /// A reader of rows of a file, as far as it has them. Their numbers in the stream are those in the file.
    ///
    /// `columns` are numbers of columns, in ascending order; `None` are all.
    ///
    /// # Errors
    /// There is no such column.
    pub fn new(file: &ParquetFile, rows: Range<u64>, columns: Option<&[usize]>) -> Result<Self> {
        let end = rows.end.min(file.num_rows());
        let rows = rows.start.min(end)..end;
        let first_row = rows.start;
        Self::of(file, Selection::range(rows), columns, first_row)
    }

    /// A reader of the rows with these numbers in the file, in this order. In the stream, they are numbered from
    /// `first_row` on.
    ///
    /// # Errors
    /// There is no such row or column. Later: rows that do not ascend take more than 128 MiB.
    pub fn selected(
        file: &ParquetFile,
        rows: &[u32],
        columns: Option<&[usize]>,
        first_row: u64,
    ) -> Result<Self> {
        let num_rows = file.num_rows();
        let select = |rows: &[u32]| {
            let numbers = rows.iter().copied().map(u64::from);
            Selection::rows(numbers, num_rows)
        };
        if rows.is_sorted_by(|a, b| a < b) {
            return Self::of(file, select(rows)?, columns, first_row);
        }
        let mut ascending = rows.to_vec();
        ascending.sort_unstable();
        ascending.dedup();
        let selection = select(&ascending)?;
        let ranks = rows
            .iter()
            .map(|row| selection.rank(u64::from(*row)) as u32);
        let ranks = ranks.collect();
        let mut reader = Self::of(file, selection, columns, first_row)?;
        reader.reordering = Some(Reordering {
            ranks,
            read: Vec::new(),
            starts: Vec::new(),
            num_rows: 0,
            num_bytes: 0,
            num_written: 0,
        });
        Ok(reader)
    }

    fn of(
        file: &ParquetFile,
        selection: Selection,
        columns: Option<&[usize]>,
        first_row: u64,
    ) -> Result<Self> {
        Ok(Self {
            selection: Arc::new(selection),
            columns: file.columns(columns)?,
            cursor: 0,
            state: State::Schema,
            writer: MessageWriter::new(first_row),
            groups: VecDeque::new(),
            wanted: WantedBytes::default(),
            row_bytes: None,
            unit_bytes: UNIT_BYTES.start,
            reordering: None,
        })
    }

    /// The next row of the file to decode: where an error of a step is.
    #[must_use]
    pub fn row(&self) -> u64 {
        self.selection.row(self.cursor)
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
                Ok(Step::Message(self.writer.schema(&self.columns.schema)))
            }
            State::Rows if self.cursor < self.selection.len() => self.step_rows(file),
            State::Rows => {
                if let Some(batch) = self.next_reordered()? {
                    return Ok(Step::Message(self.writer.batch(&batch)?));
                }
                self.state = State::Done;
                Ok(Step::Message(self.writer.end(&self.columns.schema)?))
            }
            State::Done => Ok(Step::Done),
        }
    }

    fn step_rows(&mut self, file: &mut ParquetFile) -> Result<Step> {
        self.request(file);
        let first_row = self.row();
        let num_rows = self.batch_rows(file);
        let Some(group) = self.groups.front_mut() else {
            return Ok(Step::Starved);
        };
        let end = self.selection.row(self.cursor + num_rows - 1) + 1;
        match group.prepare(file, &mut self.wanted, first_row..end)? {
            Readiness::All => {}
            Readiness::Some => return Ok(Step::Worked),
            Readiness::Starved => return Ok(Step::Starved),
        }
        let num_rows = num_rows.min(group.most_rows(file)).max(1);
        let batch = group.decode(file, first_row, num_rows)?;
        let batch = with_schema(&self.columns, &batch)?;
        self.cursor += num_rows;
        self.drop_used(file);
        match &mut self.reordering {
            Some(reordering) => {
                reordering.add(batch)?;
                Ok(Step::Worked)
            }
            None => {
                let message = self.writer.batch(&batch)?;
                self.adapt(message.len() as u64 / num_rows);
                Ok(Step::Message(message))
            }
        }
    }

    /// Remembers the places of pages for the next reader.
    pub fn close(self, file: &mut ParquetFile) {
        self.groups.into_iter().for_each(|group| group.teach(file));
    }

    /// The number of rows of the next batch: at least 1, and all in the first row group.
    fn batch_rows(&self, file: &ParquetFile) -> u64 {
        let fitting = self.row_bytes.map(|bytes| MESSAGE_BYTES / bytes.max(1));
        let mut num_rows = fitting.map_or(FIRST_ROWS, |rows| rows.clamp(1, MAX_ROWS));
        num_rows = num_rows.min(self.selection.len() - self.cursor);
        if let Some(group) = self.groups.front() {
            num_rows = num_rows.min(self.selection.rank(group.rows.end) - self.cursor);
            let spread_rows = SPREAD_BYTES / group.row_bytes(file).1;
            let spread = |num_rows| self.selection.row(self.cursor + num_rows - 1) - self.row();
            while num_rows > 1 && spread(num_rows) > spread_rows {
                num_rows /= 2;
            }
        }
        num_rows.max(1)
    }

    /// Adapts the rows of a batch to their size.
    fn adapt(&mut self, row_bytes: u64) {
        let fits = |before: u64| row_bytes <= 2 * before && before <= 2 * row_bytes;
        if !self.row_bytes.is_some_and(fits) {
            self.row_bytes = Some(row_bytes);
        }
    }

    /// Frees the pages before the cursor.
    fn drop_used(&mut self, file: &mut ParquetFile) {
        let next = match self.cursor < self.selection.len() {
            true => self.row(),
            false => u64::MAX,
        };
        let Some(group) = self.groups.front_mut() else {
            return;
        };
        if next < group.rows.end {
            return group.drop_before(next);
        }
        if let Some(group) = self.groups.pop_front() {
            group.teach(file);
        }
    }

    /// Requests the bytes of selected rows from the cursor on.
    fn request(&mut self, file: &mut ParquetFile) {
        loop {
            let batch_rows = self.batch_rows(file);
            let batch_end = self.selection.row(self.cursor + batch_rows - 1) + 1;
            let is_urgent = (self.groups.front()).is_none_or(|group| group.asked_to < batch_end);
            let is_ahead = self.held_bytes() >= AHEAD_BYTES || self.groups.len() > AHEAD_GROUPS;
            let asked_to = self.groups.back().map_or(0, |group| group.asked_to);
            let next_rank = self.cursor.max(self.selection.rank(asked_to));
            if next_rank >= self.selection.len() || (is_ahead && !is_urgent) {
                return;
            }
            let next = self.selection.row(next_rank);
            if self
                .groups
                .back()
                .is_none_or(|group| next >= group.rows.end)
            {
                let Some((index, rows)) = file.group_at(next) else {
                    return;
                };
                let group = Group::new(index, rows, next, &self.columns, &self.selection);
                self.groups.push_back(group);
            }
            let Some(group) = self.groups.back_mut() else {
                return;
            };
            if !group.find_pages(file, &mut self.wanted) {
                return;
            }
            // The rows of the first message come alone, because they are waited for.
            let unit_end = match next_rank > 0 {
                false => batch_end,
                true => batch_end.max(next + self.unit_bytes / group.row_bytes(file).0),
            };
            self.unit_bytes = (2 * self.unit_bytes).min(UNIT_BYTES.end);
            let end = unit_end.min(group.rows.end);
            group.ask(file, &mut self.wanted, next..end);
        }
    }

    fn held_bytes(&self) -> u64 {
        let raw = self.groups.iter().map(|group| group.raw_bytes);
        self.wanted.num_bytes() + raw.sum::<u64>()
    }

    /// The next batch in the wanted order, if it is not that of the file.
    fn next_reordered(&mut self) -> Result<Option<RecordBatch>> {
        match &mut self.reordering {
            Some(reordering) => reordering.next(&self.columns),
            None => Ok(None),
        }
    }
}

impl Reordering {
    /// Keeps rows until all have been read.
    fn add(&mut self, batch: RecordBatch) -> Result<()> {
        self.num_bytes += batch.get_array_memory_size();
        self.starts.push(self.num_rows);
        self.num_rows += batch.num_rows();
        self.read.push(batch);
        if self.num_bytes > MAX_REORDERED_BYTES {
            return Err(ReadError::too_large(format!(
                "{} rows in another order than that of the file take more than {} MiB",
                self.ranks.len(),
                MAX_REORDERED_BYTES >> 20
            )));
        }
        Ok(())
    }

    /// The next rows in the wanted order.
    fn next(&mut self, columns: &Columns) -> Result<Option<RecordBatch>> {
        let row_bytes = (self.num_bytes / self.num_rows.max(1)).max(1);
        let fitting = (MESSAGE_BYTES as usize / row_bytes).clamp(1, MAX_ROWS as usize);
        let rest = &self.ranks[self.num_written..];
        let ranks = &rest[..fitting.min(rest.len())];
        if ranks.is_empty() {
            return Ok(None);
        }
        let places = ranks.iter().map(|rank| {
            let batch = self
                .starts
                .partition_point(|start| *start <= *rank as usize)
                - 1;
            (batch, *rank as usize - self.starts[batch])
        });
        let places: Vec<(usize, usize)> = places.collect();
        let arrays = (0..columns.schema.fields().len()).map(|column| {
            let read = self.read.iter().map(|batch| batch.column(column).to_data());
            pick(&read.collect::<Vec<_>>(), &places)
        });
        let arrays = arrays.collect::<Result<_>>()?;
        let batch = RecordBatch::try_new(Arc::clone(&columns.schema), arrays)?;
        self.num_written += ranks.len();
        Ok(Some(batch))
    }
}

/// The values at places: each the number of an array, and a position in it.
fn pick(arrays: &[ArrayData], places: &[(usize, usize)]) -> Result<ArrayRef> {
    let mut picked = MutableArrayData::new(arrays.iter().collect(), false, places.len());
    for (array, position) in places {
        picked.try_extend(*array, *position, position + 1)?;
    }
    Ok(make_array(picked.freeze()))
}

/// A batch with the fields of the table, which may have extension types.
fn with_schema(columns: &Columns, batch: &RecordBatch) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let arrays = batch.columns().to_vec();
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(&columns.schema),
        arrays,
        &options,
    )?)
}
