//! The queries that run and those that ended a short time ago.

mod record;
mod registry;
mod runtime;

pub use record::{QueryRecord, QueryStatus, RunningQuery};
pub use registry::Registry;
pub use runtime::QueryRuntime;
