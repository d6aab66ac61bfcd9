//! The unit of exchange inside the server: one framed message of the Arrow IPC stream format.

use bytes::Bytes;

/// What a message carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// The schema, once, at the front.
    Schema,
    /// A record batch.
    Batch,
    /// The end-of-stream marker: the proof of completeness.
    EndOfStream,
}

/// One encapsulated message, exactly as it goes over the wire: continuation, metadata length,
/// metadata, padding, body.
/// <https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format>
#[derive(Debug, Clone)]
pub struct IpcMessage {
    /// What it carries.
    pub kind: MessageKind,
    /// The whole frame.
    pub bytes: Bytes,
    /// Rows of a batch; 0 for anything else.
    pub num_rows: u64,
}

/// The end-of-stream marker: a continuation and a metadata length of 0.
pub const END_OF_STREAM: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

impl IpcMessage {
    /// The message that ends a complete stream.
    pub fn end_of_stream() -> Self {
        Self {
            kind: MessageKind::EndOfStream,
            bytes: Bytes::from_static(&END_OF_STREAM),
            num_rows: 0,
        }
    }

    /// Size of the frame.
    pub fn num_bytes(&self) -> usize {
        self.bytes.len()
    }
}
