//! Checks Arrow IPC messages from untrusted sources, before arrays are built from them.
//!
//! An encapsulated message consists of metadata (a FlatBuffer) and a body. [`MessageChecker`] checks
//! the messages of a stream one after the other:
//!
//! 1. The metadata: [`Message::read`] follows every FlatBuffers offset with a bounds check. Sizes and
//!    counts are compared as 64-bit numbers with [`Limits`], before they are cast and before memory is
//!    allocated for them.
//! 2. The layout: [`read_layout`] assigns the nodes and buffers of a batch to the fields of the
//!    schema. Every buffer lies inside the body and is long enough for its rows.
//! 3. The values: offsets ascend, text is UTF-8, dictionary keys, views, list views, union offsets and
//!    run ends refer to values that exist, and nothing is null where the schema forbids it.
//! 4. The null counts of the header match the validity bitmaps.
//!
//! An array of a message that passes satisfies `ArrayData::validate_full` of arrow-rs. A check never
//! panics, whatever the bytes are. The bytes of the message and [`Limits`] bound its time and memory.
//!
//! Not checked: values of fixed width (every bit pattern is allowed, also a decimal with more digits
//! than its precision), and the order of the messages, except that a schema comes first and a
//! dictionary before its keys. Not supported: big-endian streams, tensors, and metadata older than V4.
//!
//! The module uses arrow-rs only for types and uses no other module of this crate, because it is
//! meant to become a crate of its own, `arrow-ipc-check`.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow_array::{RecordBatch, StringArray};
//! use arrow_ipc::writer::StreamWriter;
//! use colonnade_core::check::{DecodeErrorKind, Limits, Message, MessageChecker};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let names = Arc::new(StringArray::from(vec!["Ada", "Grace"]));
//! let batch = RecordBatch::try_from_iter([("name", names as _)])?;
//! let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
//! writer.write(&batch)?;
//! let stream = writer.into_inner()?;
//!
//! // Continuation marker (4 bytes), length of the metadata (4 bytes), metadata, body. The length 0
//! // ends the stream.
//! let limits = Limits::default();
//! let mut messages = Vec::new();
//! let mut rest = &stream[..];
//! loop {
//!     let metadata_bytes = u32::from_le_bytes(rest[4..8].try_into()?) as usize;
//!     if metadata_bytes == 0 {
//!         break;
//!     }
//!     let (metadata, after) = rest[8..].split_at(metadata_bytes);
//!     let (_, body_bytes) = Message::read(metadata, &limits)?;
//!     let (body, after) = after.split_at(usize::try_from(body_bytes)?);
//!     messages.push((metadata, body));
//!     rest = after;
//! }
//!
//! let mut checker = MessageChecker::new(limits.clone());
//! for (metadata, body) in &messages {
//!     checker.check(metadata, body)?;
//! }
//!
//! // 0xff occurs nowhere in UTF-8.
//! let (metadata, body) = messages[1];
//! let mut damaged = body.to_vec();
//! let first_letter = body.windows(3).position(|bytes| bytes == b"Ada").unwrap();
//! damaged[first_letter] = 0xff;
//!
//! let mut checker = MessageChecker::new(limits);
//! checker.check(messages[0].0, messages[0].1)?;
//! let error = checker.check(metadata, &damaged).unwrap_err();
//! assert_eq!(error.kind, DecodeErrorKind::InvalidData);
//! assert_eq!(error.message, "column \"name\" is not valid: the text at row 0 is not UTF-8");
//! # Ok(())
//! # }
//! ```

mod batch_header;
pub(crate) mod compression;
#[cfg(feature = "decode")]
mod counts;
mod error;
pub(crate) mod flatbuffer;
#[cfg(feature = "decode")]
pub(crate) mod integers;
mod layout;
pub(crate) mod limits;
mod message;
#[cfg(feature = "decode")]
mod message_checker;
#[cfg(feature = "decode")]
mod problem;
pub(crate) mod schema;
#[cfg(feature = "decode")]
mod text;
#[cfg(feature = "decode")]
mod values;

pub use batch_header::{BatchHeader, BufferRange, Codec, FieldNode, MetadataVersion};
pub use compression::decompress;
pub use error::{DecodeError, DecodeErrorKind};
pub use layout::{ArraySlot, BufferRole, read_layout};
#[cfg(feature = "decode")]
pub(crate) use layout::{ColumnStart, check_inner_rows, read_column};
pub use limits::Limits;
pub use message::{DictionaryHeader, Message};
#[cfg(feature = "decode")]
pub use message_checker::{MessageChecker, check_batch};
pub use schema::{DictionaryEncoding, EncodedSchema, SchemaField, StreamSchema};
#[cfg(feature = "decode")]
pub(crate) use values::{KnownDictionaries, check_array};
