//! The queries that run and those that ended a short time ago.

mod observer;
mod record;
mod registry;
mod runtime;

pub use observer::QueryObserver;
pub use record::{QueryRecord, QueryStatus, RunningQuery};
pub use registry::Registry;
pub use runtime::QueryRuntime;
