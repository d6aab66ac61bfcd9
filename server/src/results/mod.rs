//! Queries and their results: those that run, those that are kept, and those that ended a short
//! time ago.

mod asked;
pub mod export;
mod facts;
pub mod find;
mod kept;
mod observer;
mod reader;
mod record;
mod registry;
mod results;
mod run;
mod saved;
pub mod stream;
pub mod summary;

pub use facts::Facts;
pub use observer::QueryObserver;
pub use reader::{Reader, Wish};
pub use record::{Query, QueryStatus};
pub use registry::Registry;
pub use results::{Results, ResultsConfig};
pub use run::{Run, timed_out};
