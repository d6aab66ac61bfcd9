//! Turns checked messages into arrays.

mod body;
mod continuity;
mod dictionaries;

use std::ops::Range;
use std::sync::Arc;

use crate::check::check_array;
pub use crate::check::check_batch;
use crate::table::{Batch, Table};
use crate::wire::{
    DecodeError, DecodeErrorKind, DictionaryHeader, Footer, Frame, Framer, Limits, Message,
    SchemaField, SlabPool, StreamSchema,
};
use body::{additional_bytes, content};
use continuity::Continuity;
use dictionaries::Dictionaries;

/// The progress of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Whether the schema is known.
    pub has_schema: bool,
    /// Rows that can be read now.
    pub num_rows: u64,
    /// Record batches received in all responses, including empty ones.
    pub num_batches: u64,
    /// Whether the end-of-stream marker has been read.
    pub is_complete: bool,
}

/// Decodes an Arrow IPC stream into a [`Table`] as its bytes land. A file is decoded as a stream with a
/// footer after it, or by its footer ([`open_file`](Self::open_file)).
///
/// Rows that were read stay readable after an error. After [`resume`](Self::resume), a further response
/// appends its rows to them.
#[derive(Debug)]
pub struct Decoder {
    framer: Framer,
    limits: Limits,
    dictionaries: Dictionaries,
    table: Option<Table>,
    num_batches: u64,
    /// The schema message of this response has been read.
    has_schema: bool,
    /// A message that waits for a larger memory budget.
    waiting: Option<Frame>,
    continuity: Continuity,
}

impl Decoder {
    /// A decoder at the start of a stream. It keeps at most `memory_bytes` of message bodies.
    #[must_use]
    pub fn new(memory_bytes: u64, limits: Limits) -> Self {
        Self::with_pool(memory_bytes, limits, SlabPool::default())
    }

    /// Like [`new`](Self::new), with memory from `pool`. The memory returns to the pool when the rows
    /// are dropped.
    #[must_use]
    pub fn with_pool(memory_bytes: u64, limits: Limits, pool: SlabPool) -> Self {
        Self {
            framer: Framer::with_memory(limits.clone(), memory_bytes, pool),
            limits,
            dictionaries: Dictionaries::default(),
            table: None,
            num_batches: 0,
            has_schema: false,
            waiting: None,
            continuity: Continuity::default(),
        }
    }

    /// Begins a further response of the same result, which was requested from the next row on:
    /// `first_row` of the result. The incomplete message, the dictionaries and any error are dropped;
    /// the rows stay. The response is a stream of its own: the same schema, every dictionary that it
    /// uses, then batches that state their rows.
    pub fn resume(&mut self, first_row: u64) {
        self.framer.restart_at(0);
        self.waiting = None;
        self.dictionaries = Dictionaries::default();
        self.has_schema = false;
        self.continuity = self.continuity.resumed(first_row, self.num_rows());
    }

    /// Begins an IPC file whose footer is the FlatBuffers bytes `footer` at byte `start`. The schema is
    /// taken from the footer. Returns the byte ranges `[start, end)` of the file to push, in this
    /// order. The caller pushes an end-of-stream marker after them.
    ///
    /// # Errors
    /// As [`Footer::read`].
    pub fn open_file(&mut self, footer: &[u8], start: u64) -> Result<Vec<Range<u64>>, DecodeError> {
        let footer =
            Footer::read(footer, start, &self.limits).map_err(|error| error.at_byte(start))?;
        let ranges = footer.ranges();
        let first = ranges.first().map_or(start, |range| range.start);
        self.framer.restart_at(first);
        self.continuity = Continuity::of_file(&footer);
        self.accept_schema(&footer.schema)?;
        Ok(ranges)
    }

    /// A decoder for other rows of the same result, from `first_row` of the result on. It keeps at most
    /// `memory_bytes`, and returns freed memory to the allocator. It refuses another schema, and rows
    /// of another state of the source.
    #[must_use]
    pub fn row_block(&self, first_row: u64, memory_bytes: u64) -> Self {
        Self {
            table: self.schema().cloned().map(Table::new),
            continuity: self.continuity.resumed(first_row, 0),
            ..Self::with_pool(memory_bytes, self.limits.clone(), SlabPool::keeping(0))
        }
    }

    /// Drops the batches that begin at or after row `num_rows`; the batch with the row before it stays
    /// whole. The memory is free for other use. The stream cannot be read further.
    pub fn keep_first(&mut self, num_rows: u64) {
        if let Some(table) = &mut self.table {
            table.keep_first(num_rows);
        }
        self.dictionaries = Dictionaries::default();
        self.framer.restart_at(0);
        self.waiting = None;
        self.framer.arena().release();
    }

    /// Changes the memory budget. A message that was refused because it exceeded the budget is tried
    /// again.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub fn set_memory_bytes(&mut self, memory_bytes: u64) -> Result<Progress, DecodeError> {
        self.framer.arena().set_budget_bytes(memory_bytes);
        self.advance(0)
    }

    /// The buffer for the next bytes of the stream. It is empty once the stream is complete, has
    /// failed, or waits for a larger budget.
    pub fn space(&mut self) -> &mut [u8] {
        match self.waiting {
            None => self.framer.space(),
            Some(_) => &mut [],
        }
    }

    /// Address and length of [`space`](Self::space), for a caller who writes through a pointer. The
    /// memory may never have been written, and `space` would write it first. The address is valid until
    /// the next call.
    pub fn unwritten(&mut self) -> (*mut u8, usize) {
        match self.waiting {
            None => self.framer.unwritten(),
            Some(_) => (std::ptr::NonNull::dangling().as_ptr(), 0),
        }
    }

    /// Counts the first `num_bytes` of [`unwritten`](Self::unwritten) as written, so that
    /// [`advance`](Self::advance) accepts them.
    ///
    /// # Safety
    /// The caller has written them.
    pub unsafe fn assume_written(&mut self, num_bytes: usize) {
        // SAFETY: the caller guarantees it.
        unsafe { self.framer.assume_written(num_bytes) }
    }

    /// Accepts the first `num_bytes` bytes of [`space`](Self::space), which the caller has written.
    ///
    /// # Errors
    /// What is wrong with the stream, with byte and row. After an error nothing more can be read. The
    /// exception is a message that exceeds the memory budget, which waits for
    /// [`set_memory_bytes`](Self::set_memory_bytes).
    pub fn advance(&mut self, num_bytes: usize) -> Result<Progress, DecodeError> {
        let row = self.num_rows();
        let frame = match self.waiting.take() {
            Some(frame) => Some(frame),
            None => self
                .framer
                .advance(num_bytes)
                .map_err(|error| error.at_row(row))?,
        };
        let (byte, taken) = match frame {
            Some(frame) => {
                let byte = frame.byte;
                if let Err(error) = self.check_budget(&frame) {
                    self.waiting = Some(frame);
                    return Err(DecodeError { byte, row, ..error });
                }
                (byte, self.accept(frame))
            }
            None if self.framer.is_complete() => (self.framer.position(), self.continuity.finish()),
            None => return Ok(self.progress()),
        };
        taken.map_err(|error| {
            let error = DecodeError { byte, row, ..error };
            self.framer.fail(error.clone());
            error
        })?;
        Ok(self.progress())
    }

    /// Copies `bytes` into the decoder. Bytes after the end-of-stream marker are ignored.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Progress, DecodeError> {
        while !bytes.is_empty() && !self.framer.is_complete() {
            let space = self.space();
            let taken = space.len().min(bytes.len());
            space[..taken].copy_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            self.advance(taken)?;
        }
        Ok(self.progress())
    }

    /// Refuses a message that takes more memory besides its body than the budget has left.
    fn check_budget(&mut self, frame: &Frame) -> Result<(), DecodeError> {
        let Some(schema) = self.table.as_ref().map(Table::schema) else {
            return Ok(());
        };
        let (body, limits) = (&frame.body, &self.limits);
        let num_bytes = match &frame.message {
            Message::Schema(_) => return Ok(()),
            Message::Batch(header) => additional_bytes(header, body, &schema.fields, limits),
            Message::Dictionary(DictionaryHeader { id, values, .. }) => {
                let field = schema
                    .dictionary_field(*id)
                    .map(SchemaField::dictionary_values);
                additional_bytes(values, body, field.as_slice(), limits)
            }
        };
        // What is wrong with the message is reported when it is read.
        let num_bytes = num_bytes.unwrap_or(0);
        self.framer.arena().check_budget(num_bytes)
    }

    fn accept(&mut self, frame: Frame) -> Result<(), DecodeError> {
        if let Message::Schema(schema) = &frame.message {
            return self.accept_schema(schema);
        }
        let Some(table) = self.table.as_mut().filter(|_| self.has_schema) else {
            return Err(DecodeError::new(
                DecodeErrorKind::InvalidHeader,
                "the first message is not a schema",
            ));
        };
        self.continuity.check(&frame, table.num_rows())?;
        let fields = &table.schema().fields;
        match frame.message {
            Message::Schema(_) => {}
            Message::Dictionary(dictionary) => {
                let (id, is_delta) = (dictionary.id, dictionary.is_delta);
                // Spec: in a file, all dictionaries are known before the first row.
                let is_file = self.continuity.is_file() || self.framer.is_file();
                if is_file && !is_delta && self.dictionaries.by_id().contains_key(&id) {
                    return Err(DecodeError::new(
                        DecodeErrorKind::InvalidHeader,
                        format!(
                            "dictionary {id} occurs twice, but a file cannot replace a dictionary"
                        ),
                    ));
                }
                let field = table.schema().dictionary_field(id).ok_or_else(|| {
                    DecodeError::new(
                        DecodeErrorKind::InvalidHeader,
                        format!("no field uses dictionary {id}"),
                    )
                })?;
                let field = field.dictionary_values();
                let fields = std::slice::from_ref(&field);
                let (arena, limits) = (self.framer.arena(), &self.limits);
                let (content, slots) =
                    content(dictionary.values, frame.body, fields, arena, limits)?;
                self.dictionaries
                    .accept(id, is_delta, field, content, slots)?;
            }
            Message::Batch(header) => {
                let (arena, limits) = (self.framer.arena(), &self.limits);
                let (content, slots) = content(header, frame.body, fields, arena, limits)?;
                let by_id = self.dictionaries.by_id();
                for (slot, field) in slots.iter().zip(fields) {
                    check_array(slot, field, &content.body, by_id.as_ref())?;
                }
                // SAFETY: every column has passed `check_array`.
                let batch = unsafe { Batch::new_unchecked(content, Arc::clone(by_id)) };
                table.append(batch);
                self.num_batches += 1;
            }
        }
        Ok(())
    }

    fn accept_schema(&mut self, schema: &Arc<StreamSchema>) -> Result<(), DecodeError> {
        if self.has_schema {
            return Err(DecodeError::new(
                DecodeErrorKind::InvalidHeader,
                "the stream has a second schema",
            ));
        }
        let table = self.table.get_or_insert_with(|| Table::new(schema.clone()));
        if table.schema() != schema {
            return Err(DecodeError::new(
                DecodeErrorKind::SchemaChanged,
                format!(
                    "the schema of the response from row {} on differs from that of the rows before it",
                    table.num_rows()
                ),
            ));
        }
        self.has_schema = true;
        Ok(())
    }

    /// The progress of the stream so far.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress {
            has_schema: self.table.is_some(),
            num_rows: self.num_rows(),
            num_batches: self.num_batches,
            is_complete: self.framer.is_complete(),
        }
    }

    /// Checks that the stream is complete, after the last byte of the body.
    ///
    /// # Errors
    /// `MissingEndOfStream` or `TruncatedMessage` if the marker has not been read; the earlier error if
    /// there was one.
    pub fn finish(&self) -> Result<(), DecodeError> {
        self.framer
            .finish()
            .map_err(|error| error.at_row(self.num_rows()))
    }

    /// Whether the stream is between two messages.
    #[must_use]
    pub fn at_message_boundary(&self) -> bool {
        self.framer.at_message_boundary()
    }

    /// The rows so far; `None` until the schema is known.
    #[must_use]
    pub fn table(&self) -> Option<&Table> {
        self.table.as_ref()
    }

    /// The schema, once it is known.
    #[must_use]
    pub fn schema(&self) -> Option<&Arc<StreamSchema>> {
        self.table.as_ref().map(Table::schema)
    }

    /// Removes the rows so far from the decoder and returns them, so that they can be dropped while the
    /// stream goes on. Returns `None` until the schema is known. Dictionaries stay. Rows of later
    /// batches are counted from 0 again. The memory of the returned table counts as used until it is
    /// dropped.
    pub fn take_table(&mut self) -> Option<Table> {
        let table = self.table.as_mut()?;
        let empty = Table::new(Arc::clone(table.schema()));
        Some(std::mem::replace(table, empty))
    }

    /// Bytes of memory that hold message bodies. They include bodies that are being read, tables that
    /// were taken and not yet dropped, and unused memory between them.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.framer.used_bytes()
    }

    fn num_rows(&self) -> u64 {
        self.table.as_ref().map_or(0, Table::num_rows)
    }
}
