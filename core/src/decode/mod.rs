//! From checked messages to arrays.

mod check;
mod continuity;
mod counts;
mod dictionaries;
mod integers;
mod problem;
mod text;

use std::ops::Range;
use std::sync::Arc;

use crate::table::{Batch, Content, DictionariesById, Table};
use crate::wire::{
    AlignedBody, ArraySlot, BatchHeader, DecodeError, DecodeErrorKind, Footer, Frame, Framer,
    Limits, Message, SchemaField, SlabPool, StreamSchema, decompress_body, read_layout,
};
use check::check_array;
use continuity::Continuity;
use counts::check_counts;
use dictionaries::Dictionaries;
use problem::not_valid;

/// Checks the values of an uncompressed batch of columns without dictionaries, as a [`Decoder`] does,
/// and that it has the nulls that its header counts, which a `Decoder` counts itself. `slots` are its
/// header laid over `fields`, `body` all of its body.
///
/// # Errors
/// `InvalidData`.
///
/// # Panics
/// Where `body` is shorter than the header says.
pub fn check_batch(
    slots: &[ArraySlot],
    fields: &[SchemaField],
    body: &[u8],
) -> Result<(), DecodeError> {
    let none = DictionariesById::default();
    let mut columns = slots.iter().zip(fields);
    columns.try_for_each(|(slot, field)| {
        check_array(slot, field, body, &none)?;
        check_counts(slot, field, body).map_err(|problem| not_valid(field, &problem))
    })
}

/// How far a stream has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The schema is known.
    pub has_schema: bool,
    /// Rows that can be read now.
    pub num_rows: u64,
    /// Record batches received, empty ones included, of all responses.
    pub num_batches: u64,
    /// The end-of-stream marker was seen.
    pub is_complete: bool,
}

/// Decodes an Arrow IPC stream into a [`Table`] as its bytes land; or a file, as a stream with a footer
/// behind it, or by its footer ([`open_file`](Self::open_file)).
///
/// Rows that were read stay readable after an error, and after [`resume`](Self::resume) a further
/// response goes on behind them.
#[derive(Debug)]
pub struct Decoder {
    framer: Framer,
    limits: Limits,
    dictionaries: Dictionaries,
    table: Option<Table>,
    num_batches: u64,
    /// This response's schema message was read.
    has_schema: bool,
    continuity: Continuity,
}

impl Decoder {
    /// A decoder at the start of a stream that keeps at most `memory_bytes` of message bodies.
    #[must_use]
    pub fn new(memory_bytes: u64, limits: Limits) -> Self {
        Self::with_pool(memory_bytes, limits, SlabPool::default())
    }

    /// The same, with the memory of `pool`, which gets it back when the rows are dropped.
    #[must_use]
    pub fn with_pool(memory_bytes: u64, limits: Limits, pool: SlabPool) -> Self {
        Self {
            framer: Framer::with_memory(limits.clone(), memory_bytes, pool),
            limits,
            dictionaries: Dictionaries::default(),
            table: None,
            num_batches: 0,
            has_schema: false,
            continuity: Continuity::default(),
        }
    }

    /// A further response of the same result begins, which was asked for from `first_row` of the
    /// result on: the row that comes next. Forgets the half-read message, the dictionaries and any
    /// error; keeps the rows. The response is a stream of its own: the same schema, every dictionary
    /// that it uses, then batches that say their rows.
    pub fn resume(&mut self, first_row: u64) {
        self.framer.restart_at(0);
        self.dictionaries = Dictionaries::default();
        self.has_schema = false;
        self.continuity = self.continuity.resumed(first_row, self.num_rows());
    }

    /// An IPC file begins, whose footer is the FlatBuffers bytes `footer` at byte `start`. The schema is
    /// the footer's. Returns the bytes `[start, end)` of the file to push, in this order, and behind
    /// them an end-of-stream marker.
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

    /// A decoder for other rows of the same result, from `first_row` of the result on, that keeps at
    /// most `memory_bytes`, and no memory for later. It refuses another schema and rows of another
    /// state of the source.
    #[must_use]
    pub fn row_block(&self, first_row: u64, memory_bytes: u64) -> Self {
        Self {
            table: self.schema().cloned().map(Table::new),
            continuity: self.continuity.resumed(first_row, 0),
            ..Self::with_pool(memory_bytes, self.limits.clone(), SlabPool::keeping(0))
        }
    }

    /// Drops the batches after row `num_rows`, and nothing of the batch that holds it; their memory is
    /// there for others then. No more of the stream can be read.
    pub fn keep_first(&mut self, num_rows: u64) {
        if let Some(table) = &mut self.table {
            table.keep_first(num_rows);
        }
        self.dictionaries = Dictionaries::default();
        self.framer.restart_at(0);
        self.framer.arena().release();
    }

    /// Changes the budget. A message that was beyond it is taken up again.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub fn set_memory_bytes(&mut self, memory_bytes: u64) -> Result<Progress, DecodeError> {
        self.framer.arena().set_budget_bytes(memory_bytes);
        self.advance(0)
    }

    /// Where the next bytes of the stream go; empty once it is complete, has failed, or waits for a
    /// larger budget.
    pub fn space(&mut self) -> &mut [u8] {
        self.framer.space()
    }

    /// Takes the first `num_bytes` bytes of [`space`](Self::space).
    ///
    /// # Errors
    /// What is wrong with the stream, with byte and row; nothing can be read from it after that, but
    /// for a message beyond the budget, which waits ([`set_memory_bytes`](Self::set_memory_bytes)).
    pub fn advance(&mut self, num_bytes: usize) -> Result<Progress, DecodeError> {
        let row = self.num_rows();
        let frame = self
            .framer
            .advance(num_bytes)
            .map_err(|error| error.at_row(row))?;
        let (byte, taken) = match frame {
            Some(frame) => (frame.byte, self.accept(frame)),
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

    /// Copies `bytes` in. Bytes after the end-of-stream marker are ignored.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Progress, DecodeError> {
        while !bytes.is_empty() && !self.framer.is_complete() {
            let space = self.framer.space();
            let taken = space.len().min(bytes.len());
            space[..taken].copy_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            self.advance(taken)?;
        }
        Ok(self.progress())
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
                        format!("dictionary {id} comes twice; in a file it cannot be replaced"),
                    ));
                }
                let framer = &mut self.framer;
                let content = plain(dictionary.values, frame.body, framer, &self.limits)?;
                self.dictionaries
                    .accept(id, is_delta, content, table.schema())?;
            }
            Message::Batch(header) => {
                let mut slots = read_layout(&header, fields)?;
                let is_compressed = header.compression.is_some();
                let content = plain(header, frame.body, &mut self.framer, &self.limits)?;
                if is_compressed {
                    slots = read_layout(&content.header, fields)?;
                }
                let by_id = self.dictionaries.by_id();
                for (slot, field) in slots.iter().zip(fields) {
                    check_array(slot, field, &content.body, by_id)?;
                }
                // SAFETY: every column has just passed.
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
                "a second schema stands in the stream",
            ));
        }
        let table = self.table.get_or_insert_with(|| Table::new(schema.clone()));
        if table.schema() != schema {
            return Err(DecodeError::new(
                DecodeErrorKind::SchemaChanged,
                format!(
                    "the response from row {} on has another schema than the rows before it",
                    table.num_rows()
                ),
            ));
        }
        self.has_schema = true;
        Ok(())
    }

    /// How far the stream has been read.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress {
            has_schema: self.table.is_some(),
            num_rows: self.num_rows(),
            num_batches: self.num_batches,
            is_complete: self.framer.is_complete(),
        }
    }

    /// The body has ended.
    ///
    /// # Errors
    /// `MissingEndOfStream` or `TruncatedMessage` unless the marker was seen; the earlier error
    /// where there was one.
    pub fn finish(&self) -> Result<(), DecodeError> {
        self.framer
            .finish()
            .map_err(|error| error.at_row(self.num_rows()))
    }

    /// No message is half read.
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

    /// Takes the rows so far out, so that they can be dropped while the stream goes on; `None` until
    /// the schema is known. Dictionaries stay, rows of later batches are counted from 0 again. What
    /// is taken counts as used until it is dropped.
    pub fn take_table(&mut self) -> Option<Table> {
        let table = self.table.as_mut()?;
        let empty = Table::new(Arc::clone(table.schema()));
        Some(std::mem::replace(table, empty))
    }

    /// Bytes of memory that hold message bodies: of those that are read, of tables that were taken
    /// and are still there, and what lies unused between them.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.framer.used_bytes()
    }

    fn num_rows(&self) -> u64 {
        self.table.as_ref().map_or(0, Table::num_rows)
    }
}

/// What a message brought, decompressed.
fn plain(
    header: BatchHeader,
    body: AlignedBody,
    framer: &mut Framer,
    limits: &Limits,
) -> Result<Content, DecodeError> {
    let (header, body) = match header.compression {
        None => (header, body),
        Some(codec) => {
            let cap_bytes = limits.max_decompressed_bytes;
            decompress_body(header, &body, codec, framer.arena(), cap_bytes)?
        }
    };
    let body = body.into_buffer();
    Ok(Content { header, body })
}
