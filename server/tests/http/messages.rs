//! The messages of a body, which may be truncated.

use colonnade_core::wire::integrity::{Integrity, PROGRESS};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::{CompressionType, MessageHeader, root_as_message};

/// One message of a stream.
pub(crate) struct Message<'a> {
    pub(crate) kind: MessageHeader,
    pub(crate) labels: Integrity,
    pub(crate) num_rows: u64,
    pub(crate) codec: Option<CompressionType>,
    pub(crate) is_delta: bool,
    /// The entry `colonnade.progress`.
    pub(crate) progress: Option<String>,
    pub(crate) body: &'a [u8],
}

/// The complete messages of a body; a truncated one at its end is left out.
pub(crate) fn messages(body: &[u8]) -> Vec<Message<'_>> {
    let mut messages = Vec::new();
    let mut rest = body;
    while let Some((prefix, after)) = rest.split_first_chunk::<8>() {
        assert_eq!(prefix[..4], [0xFF; 4], "no continuation");
        let length = u32::from_le_bytes(prefix[4..].try_into().unwrap()) as usize;
        let Some((metadata, after)) = after.split_at_checked(length).filter(|_| length > 0) else {
            break;
        };
        let header = root_as_message(metadata).unwrap();
        let Some((body, after)) = after.split_at_checked(header.bodyLength() as usize) else {
            break;
        };
        rest = after;
        let batch = header.header_as_record_batch();
        let dictionary = header.header_as_dictionary_batch();
        messages.push(Message {
            kind: header.header_type(),
            labels: Integrity::read(metadata).unwrap(),
            num_rows: batch.map_or(0, |batch| batch.length() as u64),
            codec: batch
                .and_then(|batch| batch.compression())
                .map(|c| c.codec()),
            progress: header.custom_metadata().and_then(|entries| {
                let mut entries = entries.iter();
                let entry = entries.find(|entry| entry.key() == Some(PROGRESS))?;
                entry.value().map(str::to_owned)
            }),
            is_delta: dictionary.is_some_and(|dictionary| dictionary.isDelta()),
            body,
        });
    }
    messages
}

/// The rows of the complete messages of a body, which may be truncated anywhere after the schema.
pub(crate) fn rows(body: &[u8]) -> Option<(SchemaRef, Vec<RecordBatch>)> {
    let reader = StreamReader::try_new(body, None).ok()?;
    let schema = reader.schema();
    Some((schema, reader.map_while(Result::ok).collect()))
}

pub(crate) fn joined(schema: &SchemaRef, batches: &[RecordBatch]) -> RecordBatch {
    concat_batches(schema, batches).unwrap()
}
