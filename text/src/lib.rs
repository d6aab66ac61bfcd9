//! Reads CSV and JSON lines into Arrow record batches: records, exact types and rows.
//!
//! The crate does no I/O: callers push bytes in pieces of any size. It compiles to wasm and does not
//! panic on any bytes. Types are decided from facts about all values that were seen
//! ([`csv::Inference`], [`json::Inference`]), not guessed, and a later value that a column cannot hold
//! exactly is an error that names it ([`TextErrorKind::Misfit`]). Exact means:
//!
//! - integers and decimals keep every digit;
//! - numbers and dates of other countries (`2.535,04`, `31/12/2025`) are read if only one [`Reading`] fits all values
//!   of a column; if several do, the column is text, and its field names them;
//! - a number becomes the nearest double only if that has all its digits, at most 17;
//! - dates and times keep all their digits and their zone;
//! - no field and no row is dropped.

pub mod csv;
mod encoding;
mod error;
mod format;
pub mod json;
mod json_field;
mod notation;
mod number;
mod options;
mod time;
mod transcoder;
mod type_word;

pub use encoding::Encoding;
pub use error::{TextError, TextErrorKind};
pub use format::{Columns, Decoder, Format, Inference};
pub use notation::{DateNotation, DecimalSign, READING_KEY, READINGS_KEY, Reading, Thousands};
pub use options::{OPTION_KEYS, TextOptions};
pub use transcoder::Transcoder;
pub use type_word::{parse_type_word, type_word};

/// The longest record in bytes, because a record is in memory while it is read.
pub const MAX_RECORD_BYTES: usize = 16 << 20;

/// The most columns, because facts about each are in memory.
pub const MAX_COLUMNS: usize = 1 << 16;
