//! The exact text of a cell.
//!
//! Every function here writes a value without loss: integers with all digits, decimals with their
//! scale, times to their unit, floats in the shortest form that reads back the same. What a type cannot
//! show is written as its raw integer and marked ([`CellKind::Raw`]).

mod binary;
mod calendar;
mod cell;
mod cell_text;
mod decimal;
mod float;
mod interval;
mod temporal;
mod zone;

pub use cell::{Extension, write_cell, write_json};
pub use cell_text::{CellKind, CellText};
pub use zone::{FixedOffsets, TimeZones};

#[cfg(feature = "kernels")]
pub(crate) use cell::underlying;
pub(crate) use cell::write_json_string;
pub(crate) use decimal::write as write_decimal;
#[cfg(feature = "kernels")]
pub(crate) use float::write_f64;

/// `text` as a JSON string, with quotes.
#[must_use]
pub fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_json_string(text, &mut CellText::new(&mut out, 0));
    out
}
