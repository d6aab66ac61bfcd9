//! From checked messages to arrays.

mod array;
mod continuity;
mod dictionary;

use std::sync::Arc;

use arrow_array::make_array;

use crate::table::Table;
use crate::wire::{
    DecodeError, DecodeErrorKind, Frame, Framer, Limits, Message, StreamSchema, read_layout,
};
use array::{Body, build_array};
use continuity::Continuity;
use dictionary::Dictionaries;

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

/// Decodes an Arrow IPC stream into a [`Table`] as its bytes land.
///
/// Rows that were read stay readable after an error, and after [`resume`](Self::resume) a further
/// response goes on behind them.
#[derive(Debug)]
pub struct Decoder {
    framer: Framer,
    limits: Limits,
    /// Budget for the bodies of all batches, in bytes.
    memory_bytes: u64,
    used_bytes: u64,
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
        let mut framer = Framer::new(limits.clone());
        framer.set_remaining_budget_bytes(memory_bytes);
        Self {
            framer,
            limits,
            memory_bytes,
            used_bytes: 0,
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
        self.framer = Framer::new(self.limits.clone());
        self.bound_memory();
        self.dictionaries = Dictionaries::default();
        self.has_schema = false;
        self.continuity = self.continuity.resumed(first_row, self.num_rows());
    }

    /// A decoder for other rows of the same result, from `first_row` of the result on, that keeps at
    /// most `memory_bytes`. It refuses another schema and rows of another state of the source.
    #[must_use]
    pub fn block(&self, first_row: u64, memory_bytes: u64) -> Self {
        Self {
            table: self.schema().cloned().map(Table::new),
            continuity: self.continuity.resumed(first_row, 0),
            ..Self::new(memory_bytes, self.limits.clone())
        }
    }

    /// Drops the batches after row `num_rows`, and nothing of the batch that holds it. No more of the
    /// stream can be read. What stays is reckoned by rows.
    pub fn keep_first(&mut self, num_rows: u64) {
        if let Some(table) = &mut self.table {
            let before = u128::from(table.num_rows().max(1));
            table.keep_first(num_rows);
            let kept = u128::from(self.used_bytes) * u128::from(table.num_rows()) / before;
            self.used_bytes = kept as u64;
        }
        self.dictionaries = Dictionaries::default();
    }

    /// Changes the budget. A message that was beyond it is taken up again.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub fn set_memory_bytes(&mut self, memory_bytes: u64) -> Result<Progress, DecodeError> {
        self.memory_bytes = memory_bytes;
        self.bound_memory();
        self.advance(0)
    }

    fn bound_memory(&mut self) {
        self.framer
            .set_remaining_budget_bytes(self.memory_bytes.saturating_sub(self.used_bytes));
    }

    /// Where the next bytes of the stream go; empty once it is complete or has failed.
    pub fn space(&mut self) -> &mut [u8] {
        self.framer.space()
    }

    /// Takes the first `num_bytes` bytes of [`space`](Self::space).
    ///
    /// # Errors
    /// What is wrong with the stream, with byte and row; nothing can be read from it after that.
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
        let cap_bytes = self.limits.max_decompressed_bytes;
        match frame.message {
            Message::Schema(_) => {}
            Message::Dictionary(header) => {
                let mut body = Body::new(frame.body, &header.values, cap_bytes);
                self.dictionaries
                    .accept(&header, &mut body, table.schema())?;
                self.used_bytes += body.kept_bytes();
            }
            Message::Batch(header) => {
                let mut body = Body::new(frame.body, &header, cap_bytes);
                let fields = &table.schema().fields;
                let columns = read_layout(&header, fields)?
                    .iter()
                    .zip(fields)
                    .map(|(slot, field)| {
                        build_array(slot, field, &mut body, &self.dictionaries).map(make_array)
                    })
                    .collect::<Result<Vec<_>, _>>()?;
                table.append(&columns, header.num_rows);
                self.num_batches += 1;
                self.used_bytes += body.kept_bytes();
            }
        }
        self.bound_memory();
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
    /// the schema is known. Dictionaries stay, rows of later batches are counted from 0 again.
    pub fn take_table(&mut self) -> Option<Table> {
        let table = self.table.as_mut()?;
        let empty = Table::new(Arc::clone(table.schema()));
        self.used_bytes = 0;
        self.framer.set_remaining_budget_bytes(self.memory_bytes);
        Some(std::mem::replace(table, empty))
    }

    /// Bytes of message bodies that are kept.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    fn num_rows(&self) -> u64 {
        self.table.as_ref().map_or(0, Table::num_rows)
    }
}
