//! From a request to a physical plan whose partitions, one after the other, are the result.

mod complexity;
mod filter;
mod limit;
mod order;
mod plain_scan;
mod resolved_sort;
mod sort_key;
mod statement;
mod ties;

pub use filter::parse_filter;
pub use limit::strip_limit;
pub use order::order_of;
pub use plain_scan::PlainScan;
pub use statement::plan_sql;
pub use ties::{Resolved, resolve_ties};
