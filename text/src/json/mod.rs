//! JSON lines, and arrays of objects.
//!
//! [`Inference`] collects facts about the values of each field, [`Inferred`] makes a schema of them, and
//! [`Decoder`] builds record batches of that schema. Both take the text in pieces of any size.
//!
//! | values of a field | type |
//! | --- | --- |
//! | booleans | `Boolean` |
//! | numbers | the smallest of `Int64`, `UInt64`, `Float64`, `Decimal128` that holds all exactly |
//! | strings, or only nulls | `Utf8` |
//! | objects | `Struct` |
//! | arrays | `List` |
//! | anything else | `Utf8` with the extension type `arrow.json`: each value as compact JSON |

mod array;
mod column;
mod cursor;
mod decoder;
mod facts;
mod fault;
mod fields;
mod inference;
mod misfit;
mod options;
mod record_sink;
mod records;
mod strings;

pub use decoder::Decoder;
pub use inference::{Inference, Inferred};
pub use options::{Layout, Options};
