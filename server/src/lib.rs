//! Colonnade's server: tables of any size, in order, as Arrow IPC over HTTP.

pub mod app;
pub mod args;
pub mod backend;
pub mod catalog;
pub mod cells;
pub mod connections;
pub mod data_dir;
pub mod demo;
pub mod encode;
pub mod engine;
mod engine_error;
pub mod error;
pub mod export;
pub mod find;
mod functions;
pub mod http;
pub mod log;
pub mod memory;
pub mod message;
pub mod metrics;
pub mod order;
mod part_reader;
pub mod plan;
pub mod pool;
pub mod query;
mod read_at;
pub mod request;
pub mod result;
mod seek;
pub mod size;
pub mod source;
pub mod spool;
pub mod stream;
pub mod summary;
pub mod uploads;

pub use app::{App, AppConfig};
