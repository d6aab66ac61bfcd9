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

pub(crate) use filter::parse_filter;
pub(crate) use limit::strip_limit;
pub(crate) use order::order_of;
pub(crate) use plain_scan::PlainScan;
pub(crate) use statement::plan_sql;
pub(crate) use ties::resolve_ties;
