//! From checked messages to arrays.

mod array;
mod dictionary;

use std::sync::Arc;

use arrow_array::make_array;

use crate::table::Table;
use crate::wire::{
    DecodeError, DecodeErrorKind, Frame, Framer, Limits, Message, StreamSchema, read_layout,
};
use array::{Body, build_array};
use dictionary::Dictionaries;

/// How far a stream has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The schema is known.
    pub has_schema: bool,
    /// Rows that can be read now.
    pub num_rows: u64,
    /// Record batches received, empty ones included.
    pub num_batches: u64,
    /// The end-of-stream marker was seen.
    pub is_complete: bool,
}

/// Decodes an Arrow IPC stream into a [`Table`] as its bytes land.
///
/// Rows that were read stay readable after an error.
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
        }
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
        if let Some(frame) = self
            .framer
            .advance(num_bytes)
            .map_err(|error| error.at_row(row))?
        {
            let byte = frame.byte;
            self.accept(frame).map_err(|error| {
                let error = DecodeError { byte, row, ..error };
                self.framer.fail(error.clone());
                error
            })?;
        }
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
        match (frame.message, &mut self.table) {
            (Message::Schema(schema), None) => self.table = Some(Table::new(schema)),
            (Message::Schema(_), Some(_)) => {
                return Err(DecodeError::new(
                    DecodeErrorKind::InvalidHeader,
                    "a second schema stands in the stream",
                ));
            }
            (_, None) => {
                return Err(DecodeError::new(
                    DecodeErrorKind::InvalidHeader,
                    "the first message is not a schema",
                ));
            }
            (Message::Dictionary(header), Some(table)) => {
                let mut body = Body::new(
                    frame.body,
                    &header.values,
                    self.limits.max_decompressed_bytes,
                );
                self.dictionaries
                    .accept(&header, &mut body, table.schema())?;
                self.used_bytes += body.kept_bytes();
            }
            (Message::Batch(header), Some(table)) => {
                let mut body = Body::new(frame.body, &header, self.limits.max_decompressed_bytes);
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
        self.framer
            .set_remaining_budget_bytes(self.memory_bytes.saturating_sub(self.used_bytes));
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

    /// Bytes of message bodies that are kept.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    fn num_rows(&self) -> u64 {
        self.table.as_ref().map_or(0, Table::num_rows)
    }
}
