//! Functions that make large values of small ones, so that few rows of them fit into memory.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The rows of a batch where a value of each may be large. An array of texts has 2 GiB at most.
pub(crate) const LARGE_VALUE_ROWS: usize = 16;

/// The functions, each with the argument that says how often it repeats something, or what it inserts.
const GROWING: [(&str, usize); 9] = [
    ("array_repeat", 1),
    ("array_resize", 1),
    ("generate_series", 1),
    ("lpad", 1),
    ("range", 1),
    ("regexp_replace", 2),
    ("repeat", 1),
    ("replace", 2),
    ("rpad", 1),
];

/// The number, or the bytes of text, up to which such an argument makes no value large.
const MAX_SMALL: usize = 100;

/// Whether a statement may make values that are much larger than those that it reads.
///
/// # Errors
/// Errors of DataFusion.
pub(crate) fn makes_large_values(logical: &LogicalPlan) -> Result<bool> {
    let mut makes = false;
    logical.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                makes |= matches!(expr, Expr::ScalarFunction(call) if grows(call));
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(makes)
}

fn grows(call: &ScalarFunction) -> bool {
    let known = GROWING.iter().find(|(name, _)| *name == call.func.name());
    known.is_some_and(|(_, index)| !call.args.get(*index).is_some_and(is_small))
}

fn is_small(argument: &Expr) -> bool {
    let Expr::Literal(value, _) = argument else {
        return false;
    };
    if let Some(text) = value.try_as_str() {
        return text.is_none_or(|text| text.len() <= MAX_SMALL);
    }
    let number = value.cast_to(&DataType::Int64);
    matches!(number, Ok(ScalarValue::Int64(Some(number))) if number <= MAX_SMALL as i64)
}
