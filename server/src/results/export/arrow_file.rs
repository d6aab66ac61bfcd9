use bytes::Bytes;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::arrow::ipc::convert::IpcSchemaEncoder;
use datafusion::arrow::ipc::{Block, FooterBuilder, MetadataVersion};
use flatbuffers::FlatBufferBuilder;
use futures::{StreamExt, TryStreamExt, future};

use super::batches::{BatchReader, cast_batch, schema_of};
use super::{FileChunk, FileChunks, cannot_write};
use crate::encode::{Encoder, schema_message, unpacked_schema};
use crate::error::QueryError;
use crate::message::{END_OF_STREAM, IpcMessage, MessageKind};
use crate::results::stream::ResultStream;

const MAGIC: &[u8; 6] = b"ARROW1";

/// An Arrow file: the unchanged messages between a magic number and a footer with their positions.
/// <https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format>
///
/// A file cannot replace a dictionary, which a stream may do at any batch, so dictionaries are
/// unpacked to their values.
pub(super) fn arrow_file(result: ResultStream) -> Result<FileChunks, QueryError> {
    let schema = schema_of(&result.schema)?;
    let has_dictionaries = schema
        .flattened_fields()
        .iter()
        .any(|field| matches!(field.data_type(), DataType::Dictionary(..)));
    let (schema, schema_message, messages) = if has_dictionaries {
        let mut unpacker = Unpacker::try_new(&result.schema, &schema)?;
        let schema = SchemaRef::clone(&unpacker.schema);
        let message = schema_message(&schema);
        let unpacked = result
            .messages
            .map(move |message| unpacker.unpack(&message?))
            .map_ok(|messages| futures::stream::iter(messages.into_iter().map(Ok)))
            .try_flatten();
        (schema, message, unpacked.boxed())
    } else {
        (schema, result.schema, result.messages)
    };

    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&[0, 0]);
    head.extend_from_slice(&schema_message.frame());
    let blocks = Blocks {
        next_offset: head.len() as i64,
        blocks: Vec::new(),
    };
    let head = FileChunk {
        bytes: Bytes::from(head),
        num_rows: 0,
    };
    let rows = messages.try_filter(|message| {
        future::ready(message.kind == MessageKind::Batch && message.num_rows > 0)
    });
    let body = futures::stream::try_unfold(Some((rows, blocks, schema)), |state| async move {
        let Some((mut rows, mut blocks, schema)) = state else {
            return Ok(None);
        };
        Ok(Some(match rows.try_next().await? {
            Some(message) => {
                let chunk = FileChunk {
                    num_rows: message.num_rows,
                    bytes: message.frame(),
                };
                blocks.push(&chunk.bytes);
                (chunk, Some((rows, blocks, schema)))
            }
            None => {
                let chunk = FileChunk {
                    bytes: footer(&schema, &blocks.blocks),
                    num_rows: 0,
                };
                (chunk, None)
            }
        }))
    });
    let head = futures::stream::iter([Ok(head)]);
    Ok(head.chain(body).boxed())
}

/// The positions of the batches in the file.
struct Blocks {
    next_offset: i64,
    blocks: Vec<Block>,
}

impl Blocks {
    fn push(&mut self, frame: &[u8]) {
        // Continuation and length, 4 bytes each, then the metadata.
        let length = i32::from_le_bytes([frame[4], frame[5], frame[6], frame[7]]);
        let metadata_bytes = 8 + length;
        let body_bytes = frame.len() as i64 - i64::from(metadata_bytes);
        self.blocks
            .push(Block::new(self.next_offset, metadata_bytes, body_bytes));
        self.next_offset += frame.len() as i64;
    }
}

/// The end-of-stream marker, the footer, its length, the magic number.
fn footer(schema: &Schema, blocks: &[Block]) -> Bytes {
    let mut builder = FlatBufferBuilder::new();
    let dictionaries = builder.create_vector::<Block>(&[]);
    let batches = builder.create_vector(blocks);
    let schema = IpcSchemaEncoder::new().schema_to_fb_offset(&mut builder, schema);
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(MetadataVersion::V5);
    footer.add_schema(schema);
    footer.add_dictionaries(dictionaries);
    footer.add_recordBatches(batches);
    let footer = footer.finish();
    builder.finish(footer, None);
    let footer = builder.finished_data();
    let mut bytes = END_OF_STREAM.to_vec();
    bytes.extend_from_slice(footer);
    bytes.extend_from_slice(&(footer.len() as i32).to_le_bytes());
    bytes.extend_from_slice(MAGIC);
    Bytes::from(bytes)
}

/// Replaces dictionaries by their values.
struct Unpacker {
    reader: BatchReader,
    encoder: Encoder,
    schema: SchemaRef,
}

impl Unpacker {
    fn try_new(message: &IpcMessage, schema: &Schema) -> Result<Self, QueryError> {
        let schema = unpacked_schema(schema);
        let encoder = Encoder::try_new(SchemaRef::clone(&schema), usize::MAX / 8, None, None)
            .map_err(cannot_write)?;
        Ok(Self {
            reader: BatchReader::try_new(message)?,
            encoder,
            schema,
        })
    }

    fn unpack(&mut self, message: &IpcMessage) -> Result<Vec<IpcMessage>, QueryError> {
        let Some(batch) = self.reader.read(message)? else {
            return Ok(Vec::new());
        };
        let batch = cast_batch(&batch, &self.schema)?;
        if batch.num_rows() == 0 {
            return Ok(Vec::new());
        }
        self.encoder.encode(&batch).map_err(cannot_write)
    }
}
