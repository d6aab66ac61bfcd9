//! Planning of a request as a physical plan whose partitions, one after the other, are the result.

use std::sync::Arc;

use datafusion::optimizer::{Analyzer, AnalyzerRule};

use self::arithmetic::CheckedArithmetic;
use self::negative_scales::NegativeScales;
use self::one_nan::OneNan;
use self::plain_strings::PlainStrings;
use self::wide_decimals::WideDecimals;

mod arithmetic;
mod checked_sum;
mod complexity;
mod converted_aggregate;
mod exact_literals;
mod extremes;
mod grouping_sets;
mod json;
mod large_values;
mod limit;
mod marker;
mod negative_scales;
mod number_literals;
mod one_nan;
mod order;
mod plain_scan;
mod plain_strings;
mod repeatable;
mod repeated_names;
mod rewrite;
mod sort_key;
mod sql_filter;
mod statement;
mod struct_fields;
mod ties;
mod wide_decimals;

pub(crate) use checked_sum::CheckedSum;
pub(crate) use exact_literals::ExactLiterals;
pub(crate) use grouping_sets::HideGroupingSetKeys;
pub(crate) use json::register_json;
pub(crate) use large_values::{LARGE_VALUE_ROWS, makes_large_values};
pub(crate) use limit::strip_limit;
pub(crate) use order::order_of;
pub(crate) use plain_scan::PlainScan;
pub(crate) use repeatable::is_repeatable;
pub(crate) use repeated_names::sent_schema;
pub(crate) use sql_filter::parse_filter;
pub(crate) use statement::plan_sql;
pub(crate) use struct_fields::FieldsOfNullStructs;
pub(crate) use ties::resolve_ties;

/// DataFusion's rules of the analyzer, with those around them that correct its answers.
pub(crate) fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = Analyzer::new().rules;
    rules.insert(0, Arc::new(PlainStrings));
    rules.insert(1, Arc::new(ExactLiterals));
    rules.insert(2, Arc::new(WideDecimals));
    rules.insert(3, Arc::new(CheckedArithmetic));
    rules.push(Arc::new(OneNan));
    rules.push(Arc::new(NegativeScales));
    rules
}
