//! Planning of a request as a physical plan whose partitions, one after the other, are the result.

mod arithmetic;
mod checked_sum;
mod complexity;
mod exact_numbers;
mod grouping_sets;
mod limit;
mod marker;
mod number_literals;
mod order;
mod plain_scan;
mod repeatable;
mod sort_key;
mod sql_filter;
mod statement;
mod struct_fields;
mod ties;

pub(crate) use arithmetic::CheckedArithmetic;
pub(crate) use checked_sum::CheckedSum;
pub(crate) use exact_numbers::ExactNumbers;
pub(crate) use grouping_sets::HideGroupingSetKeys;
pub(crate) use limit::strip_limit;
pub(crate) use order::order_of;
pub(crate) use plain_scan::PlainScan;
pub(crate) use repeatable::is_repeatable;
pub(crate) use sql_filter::parse_filter;
pub(crate) use statement::plan_sql;
pub(crate) use struct_fields::FieldsOfNullStructs;
pub(crate) use ties::resolve_ties;
