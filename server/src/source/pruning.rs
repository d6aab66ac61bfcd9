//! Which filters may exclude row groups and pages of Parquet files by their statistics.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::Operator;
use datafusion::parquet::file::metadata::ParquetMetaData;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};

/// Whether the statistics of a column chunk do not say how many nulls it has. The format: "Writers SHOULD always write
/// this field even if it is zero (i.e. no null value) or the column is not nullable. Readers MUST distinguish between
/// null_count not being present and null_count == 0."
pub(super) fn lacks_null_counts(footer: &ParquetMetaData) -> bool {
    let mut chunks = footer.row_groups().iter().flat_map(|group| group.columns());
    chunks.any(|chunk| {
        let statistics = chunk.statistics();
        statistics.is_some_and(|statistics| statistics.null_count_opt().is_none())
    })
}

/// Whether statistics prove for which row groups and pages a filter is true for no row.
///
/// Floats: "NaNs should not be written to min or max statistics fields", and "When looking for NaN values, min and max
/// should be ignored". A filter may be true for NaN, so those of floats do not exclude anything.
///
/// Nulls: see [`lacks_null_counts`]; DataFusion 55 takes a missing count for zero.
pub(super) fn is_proven(
    filter: &Arc<dyn PhysicalExpr>,
    schema: &Schema,
    lacks_null_counts: bool,
) -> bool {
    let is_float = |expr: &Arc<dyn PhysicalExpr>| {
        let column = expr.downcast_ref::<Column>();
        let field = column.and_then(|column| schema.field_with_name(column.name()).ok());
        field.is_some_and(|field| holds_floats(field.data_type()))
    };
    let is_open = filter.exists(|expr| {
        let asks_for_nulls = lacks_null_counts && !compares_values(expr);
        Ok(is_float(expr) || asks_for_nulls)
    });
    is_open.is_ok_and(|is_open| !is_open)
}

/// Whether an expression consists of comparisons with values, which are never true for null.
fn compares_values(expr: &Arc<dyn PhysicalExpr>) -> bool {
    use Operator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return matches!(binary.op(), And | Or | Eq | NotEq | Lt | LtEq | Gt | GtEq);
    }
    let literal = expr.downcast_ref::<Literal>();
    expr.is::<Column>() || literal.is_some_and(|literal| !literal.value().is_null())
}

fn holds_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().any(|field| holds_floats(field.data_type())),
        DataType::Dictionary(_, values) => holds_floats(values),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => holds_floats(field.data_type()),
        other => other.is_floating(),
    }
}
