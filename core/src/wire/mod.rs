//! The wire rules of Arrow IPC, independent of any array type. [`crate::check`] has those for a single
//! message.
//!
//! Spec: <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>

#[cfg(feature = "decode")]
mod decompress;
mod describe;
mod file;
mod flatbuffer_writer;
mod framing;
pub mod integrity;
mod slab;
mod survey;
mod type_name;
mod write;

pub use crate::check::{
    ArraySlot, BatchHeader, BufferRange, BufferRole, Codec, DecodeError, DecodeErrorKind,
    DictionaryEncoding, DictionaryHeader, EncodedSchema, FieldNode, Limits, Message,
    MetadataVersion, SchemaField, StreamSchema, decompress, read_layout,
};
#[cfg(feature = "decode")]
pub(crate) use decompress::decompress_body;
pub use describe::{FieldDescription, describe_fields};
pub use file::Footer;
pub use framing::{Frame, Framer};
pub use slab::{AlignedBody, SlabPool};
#[cfg(feature = "decode")]
pub(crate) use slab::{Arena, Reservation};
pub use survey::{Survey, SurveyError, SurveyedKind, SurveyedMessage, survey_file, survey_stream};
pub use type_name::{EXTENSION_NAME, column_type_name, field_type_name, type_name};
pub use write::write_batch;
#[cfg(feature = "kernels")]
pub(crate) use write::{frame, write_schema};
