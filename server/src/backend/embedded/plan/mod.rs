//! Planning of a request as a physical plan whose partitions, one after the other, are the result.

mod complexity;
mod exact_times;
mod grouping_sets;
mod limit;
mod marker;
mod order;
mod parameters;
mod plain_scan;
mod repeatable;
mod sort_key;
mod sql_filter;
mod statement;
mod ties;
mod top_rows;
mod watched_pool;

pub(crate) use exact_times::ExactTimes;
pub(crate) use grouping_sets::HideGroupingSetKeys;
pub(crate) use limit::strip_limit;
pub(crate) use order::order_of;
pub(crate) use plain_scan::PlainScan;
pub(crate) use repeatable::is_repeatable;
pub(crate) use sql_filter::parse_filter;
pub(crate) use statement::plan_sql;
pub(crate) use ties::resolve_ties;
