//! Results made from bytes, for tests of whole results.

use std::sync::Arc;

use bytes::Bytes;
use colonnade_server::error::QueryError;
use colonnade_server::message::{IpcMessage, MessageKind};
use colonnade_server::results::export::{ExportOptions, ExportProgress, Format, export};
use colonnade_server::results::stream::ResultStream;
use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::ipc::writer::{DictionaryHandling, IpcWriteOptions, StreamWriter};
use datafusion::arrow::ipc::{MessageHeader, root_as_message};
use futures::{StreamExt, TryStreamExt};

/// A file of `fixtures/`.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The messages of an Arrow stream.
pub(crate) fn messages(stream: &[u8]) -> Vec<IpcMessage> {
    let mut messages = Vec::new();
    let mut rest = stream;
    while let Some(length) = rest.get(4..8) {
        let length = i32::from_le_bytes(length.try_into().unwrap()) as usize;
        if length == 0 {
            break;
        }
        let message = root_as_message(&rest[8..8 + length]).unwrap();
        let (kind, num_rows) = match message.header_type() {
            MessageHeader::Schema => (MessageKind::Schema, 0),
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch().unwrap();
                let (id, is_delta) = (dictionary.id(), dictionary.isDelta());
                (MessageKind::Dictionary { id, is_delta }, 0)
            }
            _ => {
                let batch = message.header_as_record_batch();
                (MessageKind::Batch, batch.map_or(0, |b| b.length() as u64))
            }
        };
        let end = 8 + length + message.bodyLength() as usize;
        messages.push(IpcMessage {
            kind,
            metadata: Bytes::copy_from_slice(&rest[8..8 + length]),
            body: Bytes::copy_from_slice(&rest[8 + length..end]),
            num_rows,
        });
        rest = &rest[end..];
    }
    messages
}

/// The result whose messages are those of an Arrow stream.
pub(crate) fn result_of(stream: &[u8]) -> ResultStream {
    let mut messages = messages(stream);
    ResultStream {
        schema: messages.remove(0),
        messages: futures::stream::iter(messages.into_iter().map(Ok)).boxed(),
        first_row: 0,
    }
}

/// An Arrow stream of these batches; if `deltas`, growing dictionaries are sent as deltas.
pub(crate) fn stream_of(batches: &[RecordBatch], deltas: bool) -> Vec<u8> {
    let handling = if deltas {
        DictionaryHandling::Delta
    } else {
        DictionaryHandling::Resend
    };
    let options = IpcWriteOptions::default().with_dictionary_handling(handling);
    let schema = batches[0].schema();
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

pub(crate) fn column(name: &str, array: impl Into<ArrayRef>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([(name, array.into(), true)]).unwrap()
}

/// The complete file, and its progress at the end.
pub(crate) async fn file_of(
    result: ResultStream,
    options: ExportOptions,
) -> Result<(Vec<u8>, serde_json::Value), QueryError> {
    let progress = Arc::new(ExportProgress::new(options.format));
    let file = export(result, &options, 2, Arc::clone(&progress))?;
    let pieces: Vec<Bytes> = file.try_collect().await?;
    Ok((
        pieces.concat(),
        serde_json::to_value(progress.status()).unwrap(),
    ))
}

/// The text of a file with default options.
pub(crate) async fn text_of(stream: &[u8], format: Format) -> String {
    let file = file_of(result_of(stream), ExportOptions::new(format)).await;
    String::from_utf8(file.unwrap().0).unwrap()
}
