//! Cells with exact text: the rows of framed messages, and the values of an array.
//!
//! The texts are written by the functions of the browser's decoder, so that files, summaries and
//! searches show the same texts as the screen.

use bytes::BytesMut;
use colonnade_core::decode::Decoder;
use colonnade_core::table::Table;
use colonnade_core::text::{CellKind, CellText, Extension, write_cell};
use colonnade_core::wire::Limits;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::Field;

use crate::encode::IanaTimeZones;
use crate::error::{ErrorKind, QueryError};
use crate::message::{IpcMessage, MessageKind, put_head};

/// Reads messages of this server in order.
pub struct CellReader {
    decoder: Decoder,
}

impl CellReader {
    /// A reader of the messages that follow `schema`.
    ///
    /// # Errors
    /// `internal`: the message is not a schema.
    pub fn try_new(schema: &IpcMessage) -> Result<Self, QueryError> {
        let limits = Limits {
            max_metadata_bytes: i32::MAX as u64,
            max_body_bytes: u64::MAX,
            max_decompressed_bytes: u64::MAX,
            ..Limits::default()
        };
        let decoder = Decoder::new(u64::MAX, limits);
        let mut reader = Self { decoder };
        reader.push(schema)?;
        Ok(reader)
    }

    /// The rows of a record batch; `None` for a message without rows. Dictionaries are kept for later
    /// batches.
    ///
    /// # Errors
    /// `internal`: the message does not fit the schema.
    pub fn read(&mut self, message: &IpcMessage) -> Result<Option<Table>, QueryError> {
        if message.kind == MessageKind::Batch && message.num_rows == 0 {
            return Ok(None);
        }
        self.push(message)?;
        Ok(self
            .decoder
            .take_table()
            .filter(|table| table.num_rows() > 0))
    }

    fn push(&mut self, message: &IpcMessage) -> Result<(), QueryError> {
        let mut head = BytesMut::new();
        put_head(&mut head, &message.metadata);
        for bytes in [&head[..], &message.body[..]] {
            self.decoder.push(bytes).map_err(unreadable)?;
        }
        Ok(())
    }
}

/// The exact text of each value of an array of `field`; `None` is null.
pub fn texts(field: &Field, array: &ArrayRef) -> Vec<Option<String>> {
    let extension = Extension::of(field);
    let text = |index| {
        let mut text = String::new();
        let mut out = CellText::new(&mut text, 0);
        let kind = write_cell(array, extension, index, &IanaTimeZones, &mut out);
        (kind != CellKind::Null).then_some(text)
    };
    (0..array.len()).map(text).collect()
}

pub(crate) fn unreadable(error: impl std::fmt::Display) -> QueryError {
    QueryError::new(
        ErrorKind::Internal,
        format!("a message of the result cannot be read: {error}"),
        "run the query again",
    )
}
