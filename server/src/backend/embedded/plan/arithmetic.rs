//! Arithmetic that fails where it overflows, which DataFusion's wraps around.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Decimal128Type, Decimal256Type,
    Field, FieldRef,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::DFSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::logical_expr_common::type_coercion::binary::BinaryTypeCoercer;
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr_common::datum::apply;

use crate::backend::embedded::plan::rewrite::rewrite_exprs;

/// Replaces `+`, `-` and `*` of integers and decimals by functions that fail where the result is beyond its type. It
/// runs after the types are coerced.
///
/// DataFusion 55 has such operators only as physical expressions, and computes constants before.
#[derive(Debug)]
pub(crate) struct CheckedArithmetic;

impl AnalyzerRule for CheckedArithmetic {
    fn name(&self) -> &'static str {
        "checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_exprs(plan, checked_expr)
    }
}

fn checked_expr(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (operation, operands) = match &expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let operation = match op {
                Operator::Plus => Operation::Add,
                Operator::Minus => Operation::Subtract,
                Operator::Multiply => Operation::Multiply,
                _ => return Ok(Transformed::no(expr)),
            };
            (operation, vec![&**left, &**right])
        }
        Expr::Negative(operand) => (Operation::Negate, vec![&**operand]),
        _ => return Ok(Transformed::no(expr)),
    };
    let types = operands.iter().map(|operand| operand_type(operand, schema));
    let types = types.collect::<Result<Vec<_>>>()?;
    if !types
        .iter()
        .all(|data_type| data_type.is_integer() || data_type.is_decimal())
    {
        return Ok(Transformed::no(expr));
    }
    let result_type = match (operation.operator(), &types[..]) {
        (Some(operator), [left, right]) => {
            BinaryTypeCoercer::new(left, &operator, right).get_result_type()?
        }
        _ => types[0].clone(),
    };
    let function = ScalarUDF::new_from_impl(Checked {
        operation,
        result_type,
        signature: Signature::any(operands.len(), Volatility::Immutable),
    });
    let operands = operands.into_iter().cloned().collect();
    Ok(Transformed::yes(function.call(operands)))
}

/// The type of an operand. That of an operand which is a function of this module is known, so that long sums do not ask
/// for the types of all their parts again and again.
fn operand_type(operand: &Expr, schema: &DFSchema) -> Result<DataType> {
    if let Expr::ScalarFunction(call) = operand
        && let Some(checked) = call.func.inner().downcast_ref::<Checked>()
    {
        return Ok(checked.result_type.clone());
    }
    operand.get_type(schema)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Negate,
}

impl Operation {
    fn operator(self) -> Option<Operator> {
        match self {
            Self::Add => Some(Operator::Plus),
            Self::Subtract => Some(Operator::Minus),
            Self::Multiply => Some(Operator::Multiply),
            Self::Negate => None,
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    operation: Operation,
    result_type: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.operation {
            Operation::Add => "checked_add",
            Operation::Subtract => "checked_subtract",
            Operation::Multiply => "checked_multiply",
            Operation::Negate => "checked_negate",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The name that the operator has.
    fn schema_name(&self, operands: &[Expr]) -> Result<String> {
        Ok(match (self.operation.operator(), operands) {
            (Some(operator), [left, right]) => {
                format!("{} {operator} {}", left.schema_name(), right.schema_name())
            }
            (_, [operand, ..]) => format!("(- {})", operand.schema_name()),
            _ => self.name().to_owned(),
        })
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.result_type.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        let field = Field::new(self.name(), self.result_type.clone(), is_nullable);
        Ok(Arc::new(field))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let kernel = match self.operation {
            Operation::Add => numeric::add,
            Operation::Subtract => numeric::sub,
            Operation::Multiply => numeric::mul,
            Operation::Negate => {
                let operand = &args.args[0];
                return apply(operand, operand, |operand, _| numeric::neg(operand.get().0));
            }
        };
        apply(&args.args[0], &args.args[1], |left, right| {
            let result = kernel(left, right)?;
            check_digits(&result)?;
            Ok(result)
        })
    }
}

/// Refuses decimals with more digits than the widest type, which the kernels do not look at.
fn check_digits(result: &dyn Array) -> Result<(), ArrowError> {
    let checked = match *result.data_type() {
        DataType::Decimal128(precision @ DECIMAL128_MAX_PRECISION, _) => result
            .as_primitive::<Decimal128Type>()
            .validate_decimal_precision(precision),
        DataType::Decimal256(precision @ DECIMAL256_MAX_PRECISION, _) => result
            .as_primitive::<Decimal256Type>()
            .validate_decimal_precision(precision),
        _ => Ok(()),
    };
    checked.map_err(|error| ArrowError::ArithmeticOverflow(error.to_string()))
}
