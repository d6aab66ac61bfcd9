//! Sorts and windows of plain texts and bytes.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::DFSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, cast};
use datafusion::optimizer::AnalyzerRule;

/// Casts views to plain arrays below each sort and window, and back above it.
///
/// A view keeps all buffers of its array alive. So the few rows of a batch that a merge makes would hold the pages of
/// all its inputs, and a window over all rows would hold those of all batches.
#[derive(Debug)]
pub(crate) struct PlainStrings;

impl AnalyzerRule for PlainStrings {
    fn name(&self) -> &'static str {
        "plain_strings"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| match &node {
            LogicalPlan::Sort(_) | LogicalPlan::Window(_)
                if has_views(node.inputs()[0].schema()) =>
            {
                of_plain_input(&node).map(Transformed::yes)
            }
            _ => Ok(Transformed::no(node)),
        })
        .data()
    }
}

fn has_views(schema: &DFSchema) -> bool {
    let mut fields = schema.fields().iter();
    fields.any(|field| plain_type(field.data_type()) != *field.data_type())
}

/// The type with plain arrays instead of views, also within lists, structs and maps.
fn plain_type(data_type: &DataType) -> DataType {
    let plain = |field: &FieldRef| -> FieldRef {
        let data_type = plain_type(field.data_type());
        Arc::new(Field::clone(field).with_data_type(data_type))
    };
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(item) => DataType::List(plain(item)),
        DataType::LargeList(item) => DataType::LargeList(plain(item)),
        DataType::FixedSizeList(item, len) => DataType::FixedSizeList(plain(item), *len),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain).collect()),
        DataType::Map(entries, is_sorted) => DataType::Map(plain(entries), *is_sorted),
        other => other.clone(),
    }
}

fn of_plain_input(node: &LogicalPlan) -> Result<LogicalPlan> {
    let schema = Arc::clone(node.schema());
    let input = node.inputs()[0];
    let types = input.schema().fields().iter();
    let types = types.map(|field| plain_type(field.data_type()));
    let plain = with_types(input.clone(), types)?;
    let sorted = node.with_new_exprs(node.expressions(), vec![plain])?;
    with_types(
        sorted,
        schema
            .fields()
            .iter()
            .map(|field| field.data_type().clone()),
    )
}

/// The columns of a plan under their names, cast to `types` where they have others.
fn with_types(plan: LogicalPlan, types: impl Iterator<Item = DataType>) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    let columns = schema
        .iter()
        .zip(types)
        .map(|((qualifier, field), wanted)| {
            let column = Expr::from((qualifier, field));
            match *field.data_type() == wanted {
                true => column,
                false => cast(column, wanted).alias_qualified(qualifier.cloned(), field.name()),
            }
        });
    let columns = columns.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(
        columns,
        Arc::new(plan),
    )?))
}
