//! Casts of decimals with a negative scale.

use std::sync::Arc;

use datafusion::arrow::compute::CastOptions;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::DFSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::functions::core::arrow_cast::ArrowCastFunc;
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ExprSchemable, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, TryCast, Volatility,
};
use datafusion::optimizer::AnalyzerRule;

use crate::backend::embedded::plan::rewrite::rewrite_exprs;

/// Replaces casts from and to decimals with a negative scale by a function. It runs after the types are coerced.
///
/// DataFusion 55 moves a cast from one side of a comparison to the literal on the other, and panics there if a scale is
/// negative (`try_cast_numeric_literal` raises 10 to it).
#[derive(Debug)]
pub(crate) struct NegativeScales;

impl AnalyzerRule for NegativeScales {
    fn name(&self) -> &'static str {
        "negative_scales"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_exprs(plan, rewritten)
    }
}

fn rewritten(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (operand, is_safe) = match &expr {
        Expr::Cast(Cast { expr, .. }) => (&**expr, false),
        Expr::TryCast(TryCast { expr, .. }) => (&**expr, true),
        Expr::ScalarFunction(call) if call.func.inner().is::<ArrowCastFunc>() => {
            (&call.args[0], false)
        }
        _ => return Ok(Transformed::no(expr)),
    };
    let target = expr.get_type(schema)?;
    if !has_negative_scale(&target) && !has_negative_scale(&operand.get_type(schema)?) {
        return Ok(Transformed::no(expr));
    }
    let function = ScalarUDF::new_from_impl(OpaqueCast {
        target,
        is_safe,
        signature: Signature::any(1, Volatility::Immutable),
    });
    Ok(Transformed::yes(function.call(vec![operand.clone()])))
}

fn has_negative_scale(data_type: &DataType) -> bool {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    matches!(
        data_type,
        Decimal32(_, ..0) | Decimal64(_, ..0) | Decimal128(_, ..0) | Decimal256(_, ..0)
    )
}

/// A cast that the optimizer does not know as one.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OpaqueCast {
    target: DataType,
    /// Whether values that the type cannot hold become null.
    is_safe: bool,
    signature: Signature,
}

impl ScalarUDFImpl for OpaqueCast {
    fn name(&self) -> &'static str {
        "opaque_cast"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.target.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let is_nullable = self.is_safe || args.arg_fields[0].is_nullable();
        let field = Field::new(self.name(), self.target.clone(), is_nullable);
        Ok(Arc::new(field))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let options = CastOptions {
            safe: self.is_safe,
            ..CastOptions::default()
        };
        args.args[0].cast_to(&self.target, Some(&options))
    }
}
