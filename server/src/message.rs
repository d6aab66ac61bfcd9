//! The unit of exchange inside the server: one message of the Arrow IPC stream format.

use bytes::{BufMut, Bytes, BytesMut};
use datafusion::arrow::array::RecordBatch;
use serde::{Deserialize, Serialize};

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageKind {
    /// The schema, once, at the front.
    Schema,
    /// Values of a dictionary.
    Dictionary {
        /// The id of the dictionary.
        id: i64,
        /// Whether the values are appended to the dictionary; otherwise they replace it.
        is_delta: bool,
    },
    /// A record batch.
    Batch,
}

/// One message: its metadata and its body, without the framing that [`IpcMessage::frame`] adds.
/// <https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format>
#[derive(Debug, Clone)]
pub struct IpcMessage {
    /// The kind of the message.
    pub kind: MessageKind,
    /// The FlatBuffer `Message`, without padding.
    pub metadata: Bytes,
    /// The buffers, padded as the metadata says; empty for a schema.
    pub body: Bytes,
    /// Rows of a batch; 0 for anything else.
    pub num_rows: u64,
}

/// Rows to be encoded, or already encoded as a message.
#[derive(Debug, Clone)]
pub enum MaybeEncoded {
    /// To be encoded.
    Batch(RecordBatch),
    /// A record batch that is encoded already, without compression, for a stream without dictionaries.
    Message(IpcMessage),
}

impl MaybeEncoded {
    /// Number of rows.
    pub fn num_rows(&self) -> u64 {
        match self {
            Self::Batch(batch) => batch.num_rows() as u64,
            Self::Message(message) => message.num_rows,
        }
    }
}

/// The end-of-stream marker: a continuation and a metadata length of 0.
pub const END_OF_STREAM: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// Bodies begin at multiples of this, so that readers can use them without a copy.
const ALIGNMENT_BYTES: usize = 64;

/// Bytes of the continuation and the metadata length.
const PREFIX_BYTES: usize = 8;

impl IpcMessage {
    /// Bytes of metadata and body.
    pub fn num_bytes(&self) -> usize {
        self.metadata.len() + self.body.len()
    }

    /// The framed message: continuation, metadata length, metadata, padding, body.
    pub fn frame(&self) -> Bytes {
        let mut frame = BytesMut::with_capacity(self.num_bytes() + PREFIX_BYTES + ALIGNMENT_BYTES);
        put_head(&mut frame, &self.metadata);
        frame.put_slice(&self.body);
        frame.freeze()
    }
}

/// Writes what precedes the body: continuation, metadata length, metadata, padding.
pub fn put_head(out: &mut BytesMut, metadata: &[u8]) {
    let length = (PREFIX_BYTES + metadata.len()).next_multiple_of(ALIGNMENT_BYTES) - PREFIX_BYTES;
    out.put_slice(&END_OF_STREAM[..4]);
    out.put_u32_le(length as u32);
    out.put_slice(metadata);
    out.put_bytes(0, length - metadata.len());
}

/// The dictionaries in force at a position of a stream. A reader that begins there needs them first.
#[derive(Debug, Clone, Default)]
pub struct LiveDictionaries {
    chains: Vec<(i64, Vec<IpcMessage>)>,
}

impl LiveDictionaries {
    /// Records a message; batches change nothing. Returns false for a dictionary that is already in force and
    /// need not be sent again.
    pub fn note(&mut self, message: &IpcMessage) -> bool {
        let MessageKind::Dictionary { id, is_delta } = message.kind else {
            return true;
        };
        let chain = match self.chains.iter().position(|(known, _)| *known == id) {
            Some(index) => &mut self.chains[index].1,
            None => {
                self.chains.push((id, vec![message.clone()]));
                return true;
            }
        };
        if is_delta {
            chain.push(message.clone());
            return true;
        }
        let is_same = matches!(chain.as_slice(), [one] if one.metadata == message.metadata && one.body == message.body);
        if !is_same {
            *chain = vec![message.clone()];
        }
        !is_same
    }

    /// The messages, to be sent in this order.
    pub fn messages(&self) -> impl Iterator<Item = &IpcMessage> {
        self.chains.iter().flat_map(|(_, chain)| chain)
    }

    /// Bytes of all messages.
    pub fn num_bytes(&self) -> usize {
        self.messages().map(IpcMessage::num_bytes).sum()
    }
}
