//! CSV: dialects, records, types and rows.

mod builder;
mod decoder;
mod detect;
mod dialect;
mod facts;
mod inference;
mod number_readings;
mod quotes;
mod records;
mod scan;
mod values;

pub use decoder::Decoder;
pub use detect::{DETECT_BYTES, delimiter_of_table};
pub use dialect::{Dialect, LineEnd};
pub use facts::Facts;
pub use inference::{Inference, Inferred};
pub use quotes::QuoteScan;

/// Text is split in pieces of this size, so that the text and the spans of its fields stay in the
/// processor's cache while the columns are read.
const CHUNK_BYTES: usize = 64 << 10;
