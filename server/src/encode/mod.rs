//! Encodes record batches as messages of a suitable size, cuts messages, and writes cell texts.

pub mod cells;
mod cut_message;
mod encoder;
mod recode;
mod schema;
mod unions;
mod unpack;
mod views;
mod zones;

pub use colonnade_core::wire::Codec;
pub use cut_message::{cut_message, decode_message};
pub use encoder::{EmptyBatch, Encoder, FIRST_MESSAGE_ROWS};
pub use recode::Recoder;
pub use schema::{describe, schema_message, type_name, unpacked_schema, wire_schema};
pub use views::batch_bytes;
pub use zones::IanaTimeZones;
