//! Decimals of 32 and 64 bits beside other types.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{
    Cast, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder, Union,
};
use datafusion::optimizer::AnalyzerRule;

use crate::backend::embedded::plan::rewrite::rewrite_exprs;

/// Casts decimals of 32 and 64 bits to 128 bits where they meet another type. It runs before the types are coerced.
///
/// DataFusion 55 gives such a decimal beside an integer the integer's type, which has no fractions.
#[derive(Debug)]
pub(crate) struct WideDecimals;

impl AnalyzerRule for WideDecimals {
    fn name(&self) -> &'static str {
        "wide_decimals"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut has_narrow = false;
        plan.apply_with_subqueries(|node| {
            let mut fields = node.schema().fields().iter();
            has_narrow |= fields.any(|field| is_narrow(field.data_type()));
            Ok(TreeNodeRecursion::Continue)
        })?;
        if !has_narrow {
            return Ok(plan);
        }
        let wide_node = |node: LogicalPlan| wide_node(node.recompute_schema()?);
        let plan = plan.transform_up_with_subqueries(wide_node).data()?;
        rewrite_exprs(plan, wide_operands)
    }
}

fn wide_node(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Join(join) => wide_keys(join),
        LogicalPlan::Union(union) => wide_columns(union),
        other => Ok(Transformed::no(other)),
    }
}

fn wide_keys(mut join: Join) -> Result<Transformed<LogicalPlan>> {
    let mut is_changed = false;
    for (left, right) in &mut join.on {
        let types = [
            left.get_type(join.left.schema())?,
            right.get_type(join.right.schema())?,
        ];
        if meet(&types) {
            for (key, data_type) in [left, right].into_iter().zip(types) {
                *key = wide(std::mem::take(key), &data_type);
            }
            is_changed = true;
        }
    }
    let plan = LogicalPlan::Join(join);
    Ok(Transformed::new_transformed(plan, is_changed))
}

fn wide_columns(union: Union) -> Result<Transformed<LogicalPlan>> {
    let num_columns = union.schema.fields().len();
    let types_at = |column: usize| -> Vec<DataType> {
        let schemas = union.inputs.iter().map(|input| input.schema());
        let types = schemas.map(|schema| schema.field(column).data_type().clone());
        types.collect()
    };
    let is_met: Vec<_> = (0..num_columns).map(|at| meet(&types_at(at))).collect();
    if !is_met.contains(&true) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let inputs = union.inputs.iter().map(|input| {
        let fields = input.schema().iter().zip(&is_met);
        let columns = fields.map(|((relation, field), is_met)| {
            let column = Expr::from((relation, field));
            match *is_met && is_narrow(field.data_type()) {
                true => {
                    wide(column, field.data_type()).alias_qualified(relation.cloned(), field.name())
                }
                false => column,
            }
        });
        let plan = LogicalPlanBuilder::new_from_arc(Arc::clone(input)).project(columns)?;
        Ok(Arc::new(plan.build()?))
    });
    let union = Union::try_new_with_loose_types(inputs.collect::<Result<_>>()?)?;
    Ok(Transformed::yes(LogicalPlan::Union(union)))
}

fn wide_operands(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_met = match &expr {
        Expr::BinaryExpr(operation) => !operation.op.is_logic_operator(),
        Expr::Between(_) | Expr::InList(_) | Expr::Case(_) | Expr::ScalarFunction(_) => true,
        _ => false,
    };
    let mut fields = schema.fields().iter();
    if !is_met || !fields.any(|field| is_narrow(field.data_type())) {
        return Ok(Transformed::no(expr));
    }
    let mut types = Vec::new();
    expr.apply_children(|operand| {
        types.extend(operand.get_type(schema));
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !meet(&types) {
        return Ok(Transformed::no(expr));
    }
    expr.map_children(|operand| {
        Ok(match operand.get_type(schema) {
            Ok(data_type) if is_narrow(&data_type) => Transformed::yes(wide(operand, &data_type)),
            _ => Transformed::no(operand),
        })
    })
}

/// Whether a narrow decimal is beside another type.
fn meet(types: &[DataType]) -> bool {
    types.iter().any(is_narrow) && types.windows(2).any(|pair| pair[0] != pair[1])
}

fn is_narrow(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal32(..) | DataType::Decimal64(..))
}

fn wide(expr: Expr, data_type: &DataType) -> Expr {
    match *data_type {
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            let wide = DataType::Decimal128(precision, scale);
            Expr::Cast(Cast::new(Box::new(expr), wide))
        }
        _ => expr,
    }
}
