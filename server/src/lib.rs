//! Colonnade's server: tables of any size, in order, as Arrow IPC over HTTP.

pub mod allocator;
pub mod app;
pub mod args;
pub mod backend;
pub mod byte_pool;
pub mod data_dir;
pub mod demo;
pub mod encode;
pub mod error;
pub mod http;
pub mod log;
pub mod machine_memory;
pub mod message;
pub mod metrics;
pub mod order;
mod read_at;
pub mod results;
pub mod size;
pub mod slots;
pub mod source;
pub mod spool;
pub mod uploads;

pub use app::{App, AppConfig};
