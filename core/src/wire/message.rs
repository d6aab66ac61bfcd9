//! The header of one message: what it is, how long its body is, where its buffers lie.
//!
//! Spec: `format/Message.fbs`.

use std::sync::Arc;

use super::compression::Codec;
use super::flatbuffer::Table;
use super::layout::BufferRange;
use super::schema::{StreamSchema, read_schema};
use super::{DecodeError, DecodeErrorKind, Limits};

/// Version of the metadata. Older ones than V4 have not been written since 2017.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataVersion {
    /// Arrow 0.8 to 0.17: unions have a validity buffer.
    V4,
    /// Arrow 1.0 and later.
    V5,
}

/// Length and null count of one array, as the header claims them, checked to be in range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldNode {
    /// Rows of this array, at most [`Limits::max_batch_rows`].
    pub num_rows: usize,
    /// Null slots among them, at most `num_rows`.
    pub null_count: usize,
}

/// A record batch's header: nodes and buffers in depth-first order of the fields.
#[derive(Debug, Clone)]
pub struct BatchHeader {
    /// Rows of the batch.
    pub num_rows: usize,
    /// One for each array, nested ones included.
    pub nodes: Vec<FieldNode>,
    /// One for each buffer, each checked to lie inside the body.
    pub buffers: Vec<BufferRange>,
    /// How many data buffers each view array has, in order.
    pub variadic_buffer_counts: Vec<usize>,
    /// Codec of the buffers, if they are compressed.
    pub compression: Option<Codec>,
    /// Version of the message's metadata.
    pub version: MetadataVersion,
}

/// A dictionary batch's header.
#[derive(Debug, Clone)]
pub struct DictionaryHeader {
    /// The dictionary's id, which fields of the schema refer to.
    pub id: i64,
    /// The values follow those that are there already; otherwise they replace them.
    pub is_delta: bool,
    /// The values: a batch of one column.
    pub values: BatchHeader,
}

/// A checked message header.
#[derive(Debug, Clone)]
pub enum Message {
    /// The schema, first in every stream.
    Schema(Arc<StreamSchema>),
    /// Values of a dictionary.
    Dictionary(DictionaryHeader),
    /// Rows.
    Batch(BatchHeader),
}

impl Message {
    /// Reads the metadata of one message (without continuation and length) and its body's length.
    ///
    /// # Errors
    /// `InvalidHeader`, `OverLimit` or `Unsupported`.
    pub fn read(metadata: &[u8], limits: &Limits) -> Result<(Self, u64), DecodeError> {
        let root = Table::root(metadata)?;
        let version = match root.i16(0, 0)? {
            3 => MetadataVersion::V4,
            4 => MetadataVersion::V5,
            other => {
                return Err(DecodeError::new(
                    DecodeErrorKind::Unsupported,
                    format!(
                        "metadata version V{} is not read; V4 and V5 are",
                        i32::from(other) + 1
                    ),
                ));
            }
        };
        let body_bytes = within(root.i64(3, 0)?, limits.max_body_bytes, "body length")?;
        let header_type = root.u8(1, 0)?;
        let header = root
            .table(2)?
            .ok_or_else(|| DecodeError::header("a message has no header"))?;
        let message = match header_type {
            1 => {
                if body_bytes != 0 {
                    return Err(DecodeError::header("a schema message claims a body"));
                }
                Self::Schema(Arc::new(read_schema(&header, limits)?))
            }
            2 => Self::Dictionary(DictionaryHeader {
                id: header.i64(0, 0)?,
                is_delta: header.bool(2)?,
                values: read_batch(
                    &header
                        .table(1)?
                        .ok_or_else(|| DecodeError::header("a dictionary batch has no values"))?,
                    version,
                    body_bytes,
                    limits,
                )?,
            }),
            3 => Self::Batch(read_batch(&header, version, body_bytes, limits)?),
            other => {
                return Err(DecodeError::new(
                    DecodeErrorKind::Unsupported,
                    format!(
                        "message type {other} is not read; schema, dictionary and record batches are"
                    ),
                ));
            }
        };
        Ok((message, body_bytes))
    }
}

fn read_batch(
    table: &Table,
    version: MetadataVersion,
    body_bytes: u64,
    limits: &Limits,
) -> Result<BatchHeader, DecodeError> {
    let num_rows = within(table.i64(0, 0)?, limits.max_batch_rows, "row count")?;
    let claimed = table.vector(1, 16)?.pairs();
    let mut nodes = Vec::with_capacity(claimed.len());
    for (length, null_count) in claimed {
        let length = within(length, limits.max_batch_rows, "row count")?;
        let null_count = inside(null_count, length, "null count")?;
        nodes.push(FieldNode {
            num_rows: length as usize,
            null_count: null_count as usize,
        });
    }
    let claimed = table.vector(2, 16)?.pairs();
    let mut buffers = Vec::with_capacity(claimed.len());
    for (offset, length) in claimed {
        let offset = inside(offset, body_bytes, "buffer offset")?;
        let length = inside(length, body_bytes - offset, "buffer length")?;
        buffers.push(BufferRange {
            offset: offset as usize,
            length: length as usize,
        });
    }
    let compression = table
        .table(3)?
        .map(|compression| match (compression.u8(0, 0)?, compression.u8(1, 0)?) {
            (0, 0) => Ok(Codec::Lz4Frame),
            (1, 0) => Ok(Codec::Zstd),
            (codec, method) => Err(DecodeError::new(
                DecodeErrorKind::Unsupported,
                format!("body compression {codec} by method {method} is not read; lz4 and zstd by buffer are"),
            )),
        })
        .transpose()?;
    let counts = table.vector(4, 8)?;
    let variadic_buffer_counts = (0..counts.len())
        .map(|index| {
            inside(
                counts.i64(index)?,
                buffers.len() as u64,
                "variadic buffer count",
            )
            .map(|count| count as usize)
        })
        .collect::<Result<_, _>>()?;
    Ok(BatchHeader {
        num_rows: num_rows as usize,
        nodes,
        buffers,
        variadic_buffer_counts,
        compression,
        version,
    })
}

/// As [`within`], where more would contradict the message itself.
fn inside(value: i64, limit: u64, what: &str) -> Result<u64, DecodeError> {
    within(value, limit, what).map_err(|error| DecodeError::header(error.message))
}

/// `value` as unsigned, if it is not negative and at most `limit`.
pub(super) fn within(value: i64, limit: u64, what: &str) -> Result<u64, DecodeError> {
    match u64::try_from(value) {
        Ok(value) if value <= limit => Ok(value),
        Ok(value) => Err(DecodeError::new(
            DecodeErrorKind::OverLimit,
            format!("a message claims a {what} of {value}; at most {limit} is possible here"),
        )),
        Err(_) => Err(DecodeError::header(format!(
            "a message claims a {what} of {value}; it cannot be negative"
        ))),
    }
}
