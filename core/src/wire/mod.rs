//! The wire rules of Arrow IPC, independent of any array type.
//!
//! Spec: <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>

mod batch_header;
mod compression;
mod describe;
mod error;
mod file;
mod flatbuffer;
mod flatbuffer_writer;
mod framing;
pub mod integrity;
mod layout;
mod limits;
mod message;
mod schema;
mod slab;
mod survey;
mod type_name;
mod write;

pub use batch_header::{BatchHeader, BufferRange, Codec, FieldNode, MetadataVersion};
pub use compression::{claimed_bytes, decompress};
#[cfg(feature = "decode")]
pub(crate) use compression::{decompress_body, decompressed_layout};
pub use describe::{FieldDescription, describe_fields};
pub use error::{DecodeError, DecodeErrorKind};
pub use file::Footer;
pub use framing::{Frame, Framer};
pub use layout::{ArraySlot, BufferRole, read_layout};
#[cfg(feature = "decode")]
pub(crate) use layout::{ColumnStart, check_inner_rows, read_column};
pub use limits::Limits;
pub use message::{DictionaryHeader, Message};
pub use schema::{DictionaryEncoding, EncodedSchema, SchemaField, StreamSchema};
pub use slab::{AlignedBody, SlabPool};
#[cfg(feature = "decode")]
pub(crate) use slab::{Arena, Reservation};
pub use survey::{Survey, SurveyError, SurveyedKind, SurveyedMessage, survey_file, survey_stream};
pub use type_name::{EXTENSION_NAME, column_type_name, field_type_name, type_name};
pub use write::write_batch;
#[cfg(feature = "kernels")]
pub(crate) use write::{frame, write_schema};
