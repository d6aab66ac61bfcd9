//! Reads a Parquet file by ranges of bytes.
//!
//! The crate does no I/O and knows no JavaScript: a [`RowReader`] says which bytes it needs, takes them in any order,
//! and gives the rows as messages of an Arrow IPC stream. [`footer`] has the decisions about Parquet's types, which the
//! server makes too.
//!
//! Spec: <https://github.com/apache/parquet-format>.

mod chunk;
mod codec;
mod error;
mod file;
pub mod footer;
mod group;
mod messages;
mod page;
mod pages;
mod rows;
mod selection;
mod thrift;
mod wanted;

pub use colonnade_core::text::json_string;
pub use error::{ErrorCode, ReadError};
pub use file::{ColumnCost, Opening, ParquetFile};
pub use rows::{RowReader, Step};
