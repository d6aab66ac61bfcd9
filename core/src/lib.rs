//! Reads an Arrow IPC stream as its bytes land.
//!
//! [`check`] checks a message before anything is built on it. [`wire`] frames the bytes. [`decode`] turns
//! checked messages into arrays. [`table`] keeps them as chunked columns. [`text`] writes the exact
//! text of a cell. [`kernels`] sort, filter and summarise by the rules of [`semantics`]. The crate does
//! no I/O and knows no JavaScript: the caller brings the bytes.
//!
//! Bytes from outside never cause a panic. Invalid bytes return a [`wire::DecodeError`] with what is
//! wrong and where.

pub mod check;
#[cfg(feature = "decode")]
pub mod decode;
#[cfg(feature = "kernels")]
pub mod kernels;
#[cfg(feature = "semantics")]
pub mod semantics;
#[cfg(feature = "decode")]
pub mod table;
#[cfg(feature = "decode")]
pub mod text;
pub mod wire;
