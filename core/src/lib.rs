//! Reads an Arrow IPC stream as its bytes land.
//!
//! The way through: [`wire`] frames the bytes and checks every header before anything is built on
//! it; [`decode`] turns checked messages into arrays; [`table`] keeps them as chunked columns;
//! [`text`] writes a cell exactly; [`kernels`] sort, filter and
//! summarise, as [`semantics`] says. No I/O and no JavaScript: the caller brings the bytes.
//!
//! Bytes from outside never panic: whatever is wrong ends in a [`wire::DecodeError`] that says what,
//! and where.

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
