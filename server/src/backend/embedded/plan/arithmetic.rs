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
    BinaryExpr, Cast, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::logical_expr_common::type_coercion::binary::BinaryTypeCoercer;
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr_common::datum::apply;

use crate::backend::embedded::plan::rewrite::rewrite_exprs;

/// Replaces `+`, `-` and `*` of integers and decimals by functions that fail where the result is beyond its type. It
/// coerces the types of the operands itself, so that a sum of any length is one function from the start.
///
/// DataFusion 55 has such operators only as physical expressions, and computes constants before.
#[derive(Debug)]
pub(crate) struct CheckedArithmetic;

impl AnalyzerRule for CheckedArithmetic {
    fn name(&self) -> &'static str {
        "checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_exprs(plan, |expr, schema| Ok(checked_expr(expr, schema)))
    }
}

fn checked_expr(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::BinaryExpr(operation) => match checked_types(&operation, schema) {
            Some(types) => Transformed::yes(checked_binary(operation, types)),
            None => Transformed::no(Expr::BinaryExpr(operation)),
        },
        Expr::Negative(operand) => match operand_type(&operand, schema) {
            Some(kind) if kind.is_signed_integer() || kind.is_decimal() => {
                Transformed::yes(Checked::call(Vec::new(), kind, vec![*operand]))
            }
            _ => Transformed::no(Expr::Negative(operand)),
        },
        expr => Transformed::no(expr),
    }
}

/// The types of the operands of an operation that is checked, as they are, and coerced, and that of its result.
struct Types {
    own: [DataType; 2],
    coerced: [DataType; 2],
    result: DataType,
}

/// `None` for operations that are not checked, or not valid.
fn checked_types(operation: &BinaryExpr, schema: &DFSchema) -> Option<Types> {
    let BinaryExpr { left, op, right } = operation;
    if !matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply) {
        return None;
    }
    let own = [operand_type(left, schema)?, operand_type(right, schema)?];
    let coercer = BinaryTypeCoercer::new(&own[0], op, &own[1]);
    let (left, right) = coercer.get_input_types().ok()?;
    let coerced = [left, right];
    let is_exact = |kind: &DataType| kind.is_integer() || kind.is_decimal();
    if !coerced.iter().all(is_exact) {
        return None;
    }
    let coercer = BinaryTypeCoercer::new(&coerced[0], op, &coerced[1]);
    let result = coercer.get_result_type().ok()?;
    Some(Types {
        own,
        coerced,
        result,
    })
}

/// The type of an operand. That of an operand which is a function of this module is known, so that long sums do not ask
/// for the types of all their parts again and again.
fn operand_type(operand: &Expr, schema: &DFSchema) -> Option<DataType> {
    match checked_part(operand) {
        Some(checked) => Some(checked.result_type.clone()),
        None => operand.get_type(schema).ok(),
    }
}

fn checked_part(expr: &Expr) -> Option<&Checked> {
    let Expr::ScalarFunction(call) = expr else {
        return None;
    };
    call.func.inner().downcast_ref()
}

fn checked_binary(operation: BinaryExpr, types: Types) -> Expr {
    let BinaryExpr { left, op, right } = operation;
    let [left_type, right_type] = types.coerced;
    let [left_own, right_own] = types.own;
    let cast = |operand, from: DataType, to: DataType| match from == to {
        true => operand,
        false => Expr::Cast(Cast::new(Box::new(operand), to)),
    };
    let right = cast(*right, right_own, right_type);
    let begun = checked_part(&left).map(|begun| begun.operators.clone());
    match (*left, begun) {
        (Expr::ScalarFunction(mut call), Some(mut operators))
            if !operators.is_empty() && left_own == left_type && left_type == types.result =>
        {
            operators.push(op);
            call.args.push(right);
            Checked::call(operators, types.result, call.args)
        }
        (left, _) => {
            let left = cast(left, left_own, left_type);
            Checked::call(vec![op], types.result, vec![left, right])
        }
    }
}

/// Operators between operands, from left to right, all results of one type; or the negation of one operand.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    /// One less than operands.
    operators: Vec<Operator>,
    result_type: DataType,
    name: String,
    signature: Signature,
}

impl Checked {
    fn call(operators: Vec<Operator>, result_type: DataType, operands: Vec<Expr>) -> Expr {
        let symbols: String = match operators.is_empty() {
            true => Operator::Minus.to_string(),
            false => operators.iter().map(Operator::to_string).collect(),
        };
        let function = ScalarUDF::new_from_impl(Self {
            operators,
            result_type,
            name: format!("checked[{symbols}]"),
            signature: Signature::any(operands.len(), Volatility::Immutable),
        });
        function.call(operands)
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The name that the operators have.
    fn schema_name(&self, operands: &[Expr]) -> Result<String> {
        let first = operands[0].schema_name();
        if self.operators.is_empty() {
            return Ok(format!("(- {first})"));
        }
        let rest = self.operators.iter().zip(&operands[1..]);
        let rest = rest.map(|(operator, operand)| format!(" {operator} {}", operand.schema_name()));
        Ok(std::iter::once(first.to_string()).chain(rest).collect())
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
        let first = &args.args[0];
        if self.operators.is_empty() {
            return apply(first, first, |operand, _| numeric::neg(operand.get().0));
        }
        let mut rest = self.operators.iter().zip(&args.args[1..]);
        rest.try_fold(first.clone(), |left, (operator, right)| {
            let kernel = match operator {
                Operator::Plus => numeric::add,
                Operator::Minus => numeric::sub,
                _ => numeric::mul,
            };
            apply(&left, right, |left, right| {
                let result = kernel(left, right)?;
                check_digits(&result)?;
                Ok(result)
            })
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
