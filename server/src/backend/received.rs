//! Messages of a remote engine, each checked before it is used.

use std::panic::catch_unwind;
use std::sync::Arc;

use bytes::Bytes;
use colonnade_core::wire::{BatchHeader, DecodeError, Limits, Message, StreamSchema, read_layout};
use datafusion::arrow::datatypes::{DataType, FieldRef, Fields, Schema, SchemaRef};
use datafusion::arrow::ipc::convert::try_schema_from_flatbuffer_bytes;

use crate::encode::{Codec, schema_message};
use crate::error::{ErrorKind, QueryError};
use crate::message::{END_OF_STREAM, IpcMessage, MessageKind};

/// A schema that came over the network.
#[derive(Debug, Clone)]
pub struct ReceivedSchema {
    /// The message as received.
    pub message: IpcMessage,
    /// The schema as an Arrow type.
    pub schema: SchemaRef,
    checked: Arc<StreamSchema>,
}

/// The most data that a compressed body may hold.
const MAX_DECOMPRESSED_BYTES: u64 = 256 << 20;

/// Checks the messages of one result against its schema, and numbers their rows.
#[derive(Debug)]
pub struct Received {
    schema: ReceivedSchema,
    codec: Option<Codec>,
    num_rows: u64,
}

impl ReceivedSchema {
    /// Reads a schema message's metadata.
    ///
    /// # Errors
    /// `bad_engine`: the message is not a schema, or has an unsupported type.
    pub fn read(metadata: &[u8]) -> Result<Self, QueryError> {
        let (message, _) = Message::read(metadata, &Limits::default()).map_err(|e| unsound(&e))?;
        let Message::Schema(checked) = message else {
            return Err(bad_engine("the first message is not a schema"));
        };
        // The header is valid, but arrow-rs panics on types that it does not know.
        let schema = catch_unwind(|| try_schema_from_flatbuffer_bytes(metadata))
            .map_err(|_| bad_engine("a column has an unsupported type"))?
            .map_err(|error| bad_engine(&error.to_string()))?;
        Ok(Self {
            message: IpcMessage {
                kind: MessageKind::Schema,
                metadata: Bytes::copy_from_slice(metadata),
                body: Bytes::new(),
                num_rows: 0,
            },
            schema: Arc::new(schema),
            checked,
        })
    }

    /// The same columns, each of which may have nulls: what an engine that plans a query twice agrees with.
    ///
    /// # Errors
    /// `bad_engine`: the columns cannot be sent.
    pub(super) fn loosened(&self) -> Result<Self, QueryError> {
        let fields = self.schema.fields().iter().map(loosened);
        let schema = Schema::new(fields.collect::<Fields>());
        let schema = schema.with_metadata(self.schema.metadata().clone());
        Self::read(&schema_message(&schema).metadata)
    }

    /// Whether its columns are those of a schema message, except that they may have nulls.
    fn is_loosened_of(&self, metadata: &[u8]) -> Result<bool, QueryError> {
        Ok(Self::read(metadata)?.loosened()?.checked.fields == self.checked.fields)
    }

    /// The schema at the start of a complete Arrow IPC stream in memory; `missing` is the error's text if
    /// there is none.
    ///
    /// # Errors
    /// `bad_engine`: there is none, or the bytes are invalid.
    pub(super) fn of_stream(stream: &[u8], missing: &str) -> Result<Self, QueryError> {
        let messages = split_stream(stream)?;
        let (metadata, _) = messages.first().ok_or_else(|| bad_engine(missing))?;
        Self::read(metadata)
    }
}

/// A field that may have nulls, with children that may. What Arrow forbids them stays.
fn loosened(field: &FieldRef) -> FieldRef {
    let all = |fields: &Fields| fields.iter().map(loosened).collect::<Fields>();
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(all(fields)),
        DataType::List(item) => DataType::List(loosened(item)),
        DataType::LargeList(item) => DataType::LargeList(loosened(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(loosened(item), *length),
        DataType::Map(entries, is_sorted) => {
            let DataType::Struct(pair) = entries.data_type() else {
                return Arc::clone(field);
            };
            let keys = pair.iter().take(1).map(Arc::clone);
            let pair = keys.chain(pair.iter().skip(1).map(loosened)).collect();
            let entries = entries
                .as_ref()
                .clone()
                .with_data_type(DataType::Struct(pair));
            DataType::Map(Arc::new(entries), *is_sorted)
        }
        other => other.clone(),
    };
    let field = field.as_ref().clone().with_data_type(data_type);
    Arc::new(field.with_nullable(true))
}

impl Received {
    /// A check of the messages that follow this schema.
    pub fn new(schema: ReceivedSchema) -> Self {
        Self {
            schema,
            codec: None,
            num_rows: 0,
        }
    }

    /// Accepts bodies with this compression too.
    #[must_use]
    pub fn with_codec(self, codec: Option<Codec>) -> Self {
        Self { codec, ..self }
    }

    /// Rows received so far.
    pub fn num_rows(&self) -> u64 {
        self.num_rows
    }

    /// Checks the next message, given as metadata and body. Both are copied, so that the result holds no
    /// other memory. A repeated schema must be the same, and returns `None`.
    ///
    /// # Errors
    /// `bad_engine`: the bytes are invalid, or do not fit the schema.
    pub fn take(&mut self, metadata: &[u8], body: &[u8]) -> Result<Option<IpcMessage>, QueryError> {
        self.check(
            Bytes::copy_from_slice(metadata),
            Bytes::copy_from_slice(body),
        )
    }

    /// Like [`Received::take`], without a copy.
    ///
    /// # Errors
    /// As [`Received::take`].
    pub fn check(
        &mut self,
        metadata: Bytes,
        body: Bytes,
    ) -> Result<Option<IpcMessage>, QueryError> {
        // The body is here already, so its size is what its sender was allowed.
        let (message, body_bytes) =
            Message::read(&metadata, &Limits::of_memory()).map_err(|e| unsound(&e))?;
        if body_bytes != body.len() as u64 {
            return Err(bad_engine(&format!(
                "a message claims a body of {body_bytes} bytes and has {}",
                body.len()
            )));
        }
        let (kind, header, num_rows) = match &message {
            Message::Schema(schema) if schema.fields == self.schema.checked.fields => {
                return Ok(None);
            }
            Message::Schema(_) if self.schema.is_loosened_of(&metadata)? => return Ok(None),
            Message::Schema(_) => {
                return Err(bad_engine("the schema changed in the middle of the result"));
            }
            Message::Dictionary(dictionary) => {
                let fields = &self.schema.checked;
                let field = fields.dictionary_field(dictionary.id).ok_or_else(|| {
                    bad_engine(&format!("no column uses dictionary {}", dictionary.id))
                })?;
                read_layout(
                    &dictionary.values,
                    std::slice::from_ref(&field.dictionary_values()),
                )
                .map_err(|e| unsound(&e))?;
                let kind = MessageKind::Dictionary {
                    id: dictionary.id,
                    is_delta: dictionary.is_delta,
                };
                (kind, &dictionary.values, 0)
            }
            Message::Batch(batch) => {
                read_layout(batch, &self.schema.checked.fields).map_err(|e| unsound(&e))?;
                (MessageKind::Batch, batch, batch.num_rows as u64)
            }
        };
        if header.compression.is_some() && claimed_bytes(header, &body) > MAX_DECOMPRESSED_BYTES {
            return Err(bad_engine("a message claims too much data"));
        }
        if header.compression.is_some() && header.compression != self.codec {
            return Err(bad_engine(
                "a message is compressed, which was not requested",
            ));
        }
        self.num_rows += num_rows;
        Ok(Some(IpcMessage {
            kind,
            metadata,
            body,
            num_rows,
        }))
    }
}

/// Metadata and body of a message.
pub type MessageBytes<'a> = (&'a [u8], &'a [u8]);

/// Splits a complete Arrow IPC stream in memory into metadata and body of each message. Only the lengths are
/// checked.
///
/// # Errors
/// `bad_engine`: the bytes end within a message.
pub fn split_stream(stream: &[u8]) -> Result<Vec<MessageBytes<'_>>, QueryError> {
    let cut_short = || bad_engine("a message is truncated");
    let mut messages = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() && rest != END_OF_STREAM {
        let (prefix, after) = rest.split_at_checked(8).ok_or_else(cut_short)?;
        let (continuation, length) = prefix.split_at(4);
        if continuation != &END_OF_STREAM[..4] {
            return Err(bad_engine("a message does not begin with FFFFFFFF"));
        }
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let (metadata, after) = after.split_at_checked(length).ok_or_else(cut_short)?;
        let (_, body_bytes) =
            Message::read(metadata, &Limits::default()).map_err(|e| unsound(&e))?;
        let body_bytes = usize::try_from(body_bytes).map_err(|_| cut_short())?;
        let (body, after) = after.split_at_checked(body_bytes).ok_or_else(cut_short)?;
        messages.push((metadata, body));
        rest = after;
    }
    Ok(messages)
}

/// The decompressed size of a compressed body, as its buffers claim it. Each begins with its size; -1 means that it
/// is not compressed.
fn claimed_bytes(header: &BatchHeader, body: &[u8]) -> u64 {
    let claims = header.buffers.iter().map(|buffer| {
        let prefix = body.get(buffer.offset..buffer.offset.checked_add(8)?)?;
        let claim = i64::from_le_bytes(prefix.try_into().ok()?);
        Some(u64::try_from(claim).unwrap_or(0))
    });
    claims.flatten().fold(0, u64::saturating_add)
}

fn unsound(error: &DecodeError) -> QueryError {
    bad_engine(&error.to_string())
}

/// The error for an invalid answer of the engine.
pub(super) fn bad_engine(what: &str) -> QueryError {
    QueryError::new(
        ErrorKind::BadEngine,
        format!("the engine's answer is invalid: {what}"),
        "run the query again; if it fails again, check the engine's log",
    )
}
