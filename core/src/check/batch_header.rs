//! The header of a record batch: where the buffers of each array lie in the message's body.
//!
//! Spec: `format/Message.fbs`.

use super::flatbuffer::Table;
use super::limits::within;
use super::{DecodeError, DecodeErrorKind, Limits};

/// Version of the metadata. Versions before V4 have not been written since 2017.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataVersion {
    /// Arrow 0.8 to 0.17: unions have a validity buffer.
    V4,
    /// Arrow 1.0 and later.
    V5,
}

impl MetadataVersion {
    /// The number of `MetadataVersion` in `format/Schema.fbs`.
    pub(crate) fn number(self) -> i16 {
        match self {
            Self::V4 => 3,
            Self::V5 => 4,
        }
    }
}

/// Length and null count of one array, as the header states them. Both are checked to be in range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldNode {
    /// Rows of this array, at most [`Limits::max_batch_rows`].
    pub num_rows: usize,
    /// Null slots among them, at most `num_rows`.
    pub null_count: usize,
}

/// Bytes `[offset, offset + length)` of a message's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferRange {
    /// Offset from the start of the body.
    pub offset: usize,
    /// Length in bytes, before decompression.
    pub length: usize,
}

/// How the buffers of a batch are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// LZ4 frame format.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl Codec {
    /// `lz4` or `zstd`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

/// The header of a record batch, with nodes and buffers in depth-first order of the fields.
#[derive(Debug, Clone)]
pub struct BatchHeader {
    /// Rows of the batch.
    pub num_rows: usize,
    /// One node for each array, including nested ones.
    pub nodes: Vec<FieldNode>,
    /// One range for each buffer; each is checked to lie inside the body.
    pub buffers: Vec<BufferRange>,
    /// The number of data buffers of each view array, in order.
    pub variadic_buffer_counts: Vec<usize>,
    /// The codec of the buffers; `None` if they are not compressed.
    pub compression: Option<Codec>,
    /// Version of the message's metadata.
    pub version: MetadataVersion,
}

impl BatchHeader {
    /// Reads the `RecordBatch` table of a message whose body has `body_bytes` bytes.
    pub(super) fn read(
        table: &Table,
        version: MetadataVersion,
        body_bytes: u64,
        limits: &Limits,
    ) -> Result<Self, DecodeError> {
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
            (0, 0) => Ok(Codec::Lz4),
            (1, 0) => Ok(Codec::Zstd),
            (codec, method) => Err(DecodeError::new(
                DecodeErrorKind::Unsupported,
                format!("body compression with codec {codec} and method {method} is not supported; use lz4 or zstd, by buffer"),
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
        Ok(Self {
            num_rows: num_rows as usize,
            nodes,
            buffers,
            variadic_buffer_counts,
            compression,
            version,
        })
    }
}

/// Like [`within`], but for a limit that the message itself sets.
fn inside(value: i64, limit: u64, what: &str) -> Result<u64, DecodeError> {
    within(value, limit, what).map_err(|error| DecodeError::header(error.message))
}
