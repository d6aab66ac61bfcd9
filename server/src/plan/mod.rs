//! From a request to a physical plan whose partitions, one after the other, are the result.

mod complexity;
mod filter;
mod limit;
mod list;
mod order;
mod plain_scan;
mod predicate;
mod sort_key;
mod statement;
mod ties;

pub use filter::parse_filter;
pub use limit::strip_limit;
pub use list::{parse_columns, parse_sort};
pub use order::{Order, order_of};
pub use plain_scan::PlainScan;
pub use predicate::predicate_expr;
pub use statement::plan_sql;
pub use ties::{Resolved, resolve_ties};
