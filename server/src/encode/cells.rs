//! The rows of framed messages as cells with exact text.
//!
//! The texts are written by the functions that the browser's decoder uses, so that a file, a summary
//! and a search show what the screen shows.

use bytes::BytesMut;
use colonnade_core::decode::Decoder;
use colonnade_core::table::Table;
use colonnade_core::text::{CellKind, CellText, FixedOffsets};
use colonnade_core::wire::Limits;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::error::ArrowError;

use crate::encode::{Encoder, schema_message};
use crate::error::{ErrorKind, QueryError};
use crate::message::{IpcMessage, MessageKind, put_head};

/// Reads messages of this server, one after the other.
pub struct CellReader {
    decoder: Decoder,
}

impl CellReader {
    /// A reader of the messages that follow `schema`.
    ///
    /// # Errors
    /// `internal`: not a schema message.
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

    /// The rows of a record batch; `None` for a message without rows. Dictionaries are remembered.
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

/// The exact texts of a batch, column by column; `None` is null. Named time zones are shown in UTC.
///
/// # Errors
/// `internal`: a type that the IPC format cannot carry.
pub fn texts(batch: &RecordBatch) -> Result<Vec<Vec<Option<String>>>, QueryError> {
    let messages = encode(batch).map_err(unreadable)?;
    let mut reader = CellReader::try_new(&messages[0])?;
    let mut columns = vec![Vec::with_capacity(batch.num_rows()); batch.num_columns()];
    for message in &messages[1..] {
        let Some(table) = reader.read(message)? else {
            continue;
        };
        let places = (0..table.num_rows()).filter_map(|row| table.locate(row));
        for (chunk, index) in places {
            for (column, texts) in columns.iter_mut().enumerate() {
                let mut text = String::new();
                let mut out = CellText::new(&mut text, 0);
                let kind = table.write_cell(column, chunk, index, &FixedOffsets, &mut out);
                texts.push((kind != CellKind::Null).then_some(text));
            }
        }
    }
    Ok(columns)
}

fn encode(batch: &RecordBatch) -> Result<Vec<IpcMessage>, ArrowError> {
    let mut messages = vec![schema_message(&batch.schema())];
    let mut encoder = Encoder::try_new(batch.schema(), usize::MAX / 8, None, None)?;
    messages.extend(encoder.push(batch)?);
    messages.extend(encoder.flush()?);
    Ok(messages)
}

pub(crate) fn unreadable(error: impl std::fmt::Display) -> QueryError {
    QueryError::new(
        ErrorKind::Internal,
        format!("a message of the result cannot be read: {error}"),
        "run the query again",
    )
}
