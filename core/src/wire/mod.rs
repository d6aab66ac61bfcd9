//! The wire rules of Arrow IPC, usable without any array type.
//!
//! Spec: <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>

mod compression;
mod describe;
mod error;
mod file;
mod flatbuffer;
mod framing;
pub mod integrity;
mod layout;
mod limits;
mod message;
mod schema;
mod slab;
mod survey;
mod type_name;
#[cfg(feature = "kernels")]
mod write;

#[cfg(feature = "decode")]
pub(crate) use compression::decompress_body;
pub use compression::{Codec, decompress};
pub use describe::{FieldDescription, describe_fields};
pub use error::{DecodeError, DecodeErrorKind};
pub use file::Footer;
pub use framing::{Frame, Framer};
pub use layout::{ArraySlot, BufferRange, BufferRole, read_layout};
#[cfg(feature = "decode")]
pub(crate) use layout::{ColumnStart, check_inner_rows, read_column};
pub use limits::Limits;
pub use message::{BatchHeader, DictionaryHeader, FieldNode, Message, MetadataVersion};
pub use schema::{DictionaryEncoding, EncodedSchema, SchemaField, StreamSchema};
pub use slab::{AlignedBody, SlabPool};
pub use survey::{Survey, SurveyError, SurveyedKind, SurveyedMessage, survey_file, survey_stream};
pub use type_name::{EXTENSION_NAME, field_type_name, type_name};
#[cfg(feature = "kernels")]
pub(crate) use write::{write_head, write_schema};
