//! The header of one message: its kind and the length of its body.
//!
//! Spec: `format/Message.fbs`.

use std::sync::Arc;

use super::batch_header::{BatchHeader, MetadataVersion};
use super::flatbuffer::Table;
use super::limits::within;
use super::schema::{StreamSchema, read_schema};
use super::{DecodeError, DecodeErrorKind, Limits};

/// A dictionary batch's header.
#[derive(Debug, Clone)]
pub struct DictionaryHeader {
    /// The dictionary's id, which fields of the schema refer to.
    pub id: i64,
    /// Whether the values are appended to the existing ones. Otherwise they replace them.
    pub is_delta: bool,
    /// The values, as a batch of one column.
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
    /// Reads the metadata of one message (without continuation and length) and the length of its body.
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
                        "metadata version V{} is not supported; V4 and V5 are",
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
                values: BatchHeader::read(
                    &header
                        .table(1)?
                        .ok_or_else(|| DecodeError::header("a dictionary batch has no values"))?,
                    version,
                    body_bytes,
                    limits,
                )?,
            }),
            3 => Self::Batch(BatchHeader::read(&header, version, body_bytes, limits)?),
            other => {
                return Err(DecodeError::new(
                    DecodeErrorKind::Unsupported,
                    format!(
                        "message type {other} is not supported; schema, dictionary and record batches are"
                    ),
                ));
            }
        };
        Ok((message, body_bytes))
    }
}
