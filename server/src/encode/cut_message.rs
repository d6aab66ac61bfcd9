//! Cuts rows out of an encoded batch.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::reader::StreamReader;

use crate::encode::Encoder;
use crate::message::{IpcMessage, LiveDictionaries};

/// Cuts rows `[start, start + num_rows)` out of an encoded batch. Returns the messages of the cut rows,
/// preceded by all dictionaries in full.
///
/// # Errors
/// The message is not a batch of that schema.
pub fn cut_message(
    schema: &IpcMessage,
    dictionaries: &LiveDictionaries,
    message: &IpcMessage,
    start: u64,
    num_rows: u64,
) -> Result<Vec<IpcMessage>, ArrowError> {
    let batch = decode_message(schema, dictionaries, message)?;
    let slice = batch.slice(start as usize, num_rows as usize);
    Encoder::try_new(batch.schema(), usize::MAX / 8, None, None)?.encode(&slice)
}

/// Decodes the batch of a message.
///
/// # Errors
/// The message is not a batch of that schema.
pub fn decode_message(
    schema: &IpcMessage,
    dictionaries: &LiveDictionaries,
    message: &IpcMessage,
) -> Result<RecordBatch, ArrowError> {
    let mut stream = schema.frame().to_vec();
    for dictionary in dictionaries.messages() {
        stream.extend_from_slice(&dictionary.frame());
    }
    stream.extend_from_slice(&message.frame());
    StreamReader::try_new(stream.as_slice(), None)?
        .next()
        .ok_or_else(|| ArrowError::IpcError("the message has no batch".into()))?
}
