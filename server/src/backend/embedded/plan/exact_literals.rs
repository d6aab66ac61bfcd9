//! Compares with literals exactly.

use colonnade_core::semantics::{Comparison, Position, value_type};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Between, Case, InList};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, binary_expr, lit, not,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::backend::embedded::plan::number_literals::within_decimals;
use crate::backend::embedded::plan::rewrite::rewrite_exprs;
use crate::backend::literal::{Literal, is_time, never};

/// Greater than every decimal.
const MAX_DECIMAL: f64 = 1e76;

/// Gives a literal that is compared with an expression the type of that expression: a number, a date or a time. If the
/// type does not have the value, the comparison becomes one with its neighbour: for a decimal with two places,
/// `p < 1.005` becomes `p <= 1.00`, and `p = 1.005` is false.
///
/// DataFusion 55 would bring both to a third type, which rounds doubles, loses digits of decimals, has no time beyond
/// the year 2262, or does not exist. So operators are planned here, and the analyzer does the rest before it coerces
/// types.
#[derive(Debug)]
pub(crate) struct ExactLiterals;

impl ExprPlanner for ExactLiterals {
    fn plan_binary_op(
        &self,
        raw: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let op = match raw.op {
            BinaryOperator::Eq => Operator::Eq,
            BinaryOperator::NotEq => Operator::NotEq,
            BinaryOperator::Lt => Operator::Lt,
            BinaryOperator::LtEq => Operator::LtEq,
            BinaryOperator::Gt => Operator::Gt,
            BinaryOperator::GtEq => Operator::GtEq,
            _ => return Ok(PlannerResult::Original(raw)),
        };
        let exact = exact_operands(&raw.left, op, &raw.right, schema);
        Ok(exact.map_or(PlannerResult::Original(raw), PlannerResult::Planned))
    }
}

impl AnalyzerRule for ExactLiterals {
    fn name(&self) -> &'static str {
        "exact_literals"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_exprs(plan, |expr, schema| Ok(exact_expr(expr, schema)))
    }
}

/// The same comparison, exactly.
fn exact_expr(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let exact = match &expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            exact_operands(left, *op, right, schema)
        }
        Expr::Between(between) => exact_between(between, schema),
        Expr::InList(list) => exact_list(list, schema),
        Expr::Case(case) => exact_case(case, schema),
        _ => None,
    };
    exact.map_or_else(|| Transformed::no(expr), Transformed::yes)
}

fn exact_operands(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let swapped = || exact_binary(right, op.swap()?, left, schema);
    exact_binary(left, op, right, schema).or_else(swapped)
}

fn exact_binary(expr: &Expr, op: Operator, constant: &Expr, schema: &DFSchema) -> Option<Expr> {
    let comparison = match op {
        Operator::Eq => Some(Comparison::Eq),
        Operator::NotEq => Some(Comparison::Ne),
        Operator::Lt => Some(Comparison::Lt),
        Operator::LtEq => Some(Comparison::Le),
        Operator::Gt => Some(Comparison::Gt),
        Operator::GtEq => Some(Comparison::Ge),
        Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => None,
        _ => return None,
    };
    // Most comparisons are not with literals, and need no type.
    if !is_constant(constant) {
        return None;
    }
    let literal = literal(constant, &compared_type(expr, schema)?)?;
    Some(match (comparison, literal) {
        (Some(comparison), literal) => literal.compare(expr.clone(), comparison),
        (None, Literal::Value(value)) => binary_expr(expr.clone(), op, Expr::Literal(value, None)),
        (None, _) => lit(op == Operator::IsDistinctFrom),
    })
}

fn exact_between(between: &Between, schema: &DFSchema) -> Option<Expr> {
    let Between {
        expr,
        negated,
        low,
        high,
    } = between;
    if let Some(data_type) = compared_type(expr, schema) {
        match [low, high].map(|bound| literal(bound, &data_type)) {
            [None, None] => return None,
            [Some(Literal::Value(low)), Some(Literal::Value(high))] => {
                return Some(Expr::Between(Between {
                    low: Box::new(Expr::Literal(low, None)),
                    high: Box::new(Expr::Literal(high, None)),
                    ..between.clone()
                }));
            }
            // An expression that is evaluated twice may give two values.
            _ if expr.is_volatile() => return None,
            _ => {}
        }
    }
    let (first, second, join) = match negated {
        false => (Operator::GtEq, Operator::LtEq, Operator::And),
        true => (Operator::Lt, Operator::Gt, Operator::Or),
    };
    let exact = |op, bound| exact_operands(expr, op, bound, schema);
    let sides = [(first, low), (second, high)].map(|(op, bound)| (op, bound, exact(op, bound)));
    if sides.iter().all(|(_, _, exact)| exact.is_none()) {
        return None;
    }
    let [first, second] = sides.map(|(op, bound, exact)| {
        exact.unwrap_or_else(|| binary_expr((**expr).clone(), op, (**bound).clone()))
    });
    Some(binary_expr(first, join, second))
}

/// Leaves out the literals that the expression cannot have.
fn exact_list(list: &InList, schema: &DFSchema) -> Option<Expr> {
    let data_type = compared_type(&list.expr, schema)?;
    let mut is_changed = false;
    let mut possible = Vec::with_capacity(list.list.len());
    for item in &list.list {
        match literal(item, &data_type) {
            Some(Literal::Value(value)) => possible.push(Expr::Literal(value, None)),
            Some(_) => {}
            None => {
                possible.push(item.clone());
                continue;
            }
        }
        is_changed = true;
    }
    if !is_changed {
        return None;
    }
    if possible.is_empty() {
        let never = never((*list.expr).clone());
        return Some(match list.negated {
            true => not(never),
            false => never,
        });
    }
    Some(Expr::InList(InList {
        list: possible,
        ..list.clone()
    }))
}

/// Gives the literals of `CASE expr WHEN literal THEN …` the type of the expression.
fn exact_case(case: &Case, schema: &DFSchema) -> Option<Expr> {
    let expr = case.expr.as_ref()?;
    let data_type = compared_type(expr, schema)?;
    let mut exact = case.clone();
    let mut is_changed = false;
    for (when, _) in &mut exact.when_then_expr {
        if let Some(Literal::Value(value)) = literal(when, &data_type) {
            **when = Expr::Literal(value, None);
            is_changed = true;
        }
    }
    is_changed.then_some(Expr::Case(exact))
}

/// The type of an expression that literals are compared with; `None` if it is a number or a time itself.
fn compared_type(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    let is_time = time_text(expr).is_some_and(|(_, own_type)| own_type.is_some());
    if is_time || number_text(expr).is_some() {
        return None;
    }
    let data_type = expr.get_type(schema).ok()?;
    Some(value_type(&data_type).clone())
}

fn is_constant(expr: &Expr) -> bool {
    time_text(expr).is_some() || number_text(expr).is_some()
}

/// The literal among the values of the type.
fn literal(constant: &Expr, data_type: &DataType) -> Option<Literal> {
    match is_time(data_type) {
        true => time_literal(constant, data_type),
        false => number_literal(constant, data_type),
    }
}

/// The date or time among the values of the type.
fn time_literal(constant: &Expr, data_type: &DataType) -> Option<Literal> {
    use DataType::{Date32, Date64, Timestamp};
    let (text, own_type) = time_text(constant)?;
    let keeps_meaning = match (own_type, data_type) {
        (None, _) => true,
        (Some(Date32), Date32 | Date64 | Timestamp(_, None)) => !text.contains(':'),
        (Some(_), Date32 | Date64 | Timestamp(_, None)) => true,
        (Some(_), _) => false,
    };
    keeps_meaning.then(|| Literal::of_time(text, data_type))?
}

/// The text of a literal that can be a date or a time, and its type, if it has one: `date '2024-02-29'`, `timestamp '…'`.
fn time_text(expr: &Expr) -> Option<(&str, Option<&DataType>)> {
    let (literal, own_type) = match expr {
        Expr::Cast(Cast { expr, field }) => match field.data_type() {
            own_type @ (DataType::Date32 | DataType::Timestamp(_, None)) => {
                (&**expr, Some(own_type))
            }
            _ => return None,
        },
        _ => (expr, None),
    };
    let Expr::Literal(value, _) = literal else {
        return None;
    };
    Some((value.try_as_str()??, own_type))
}

/// The number among the values of the type.
fn number_literal(number: &Expr, data_type: &DataType) -> Option<Literal> {
    let text = match data_type.is_floating() {
        true => number_text(number)?,
        false => within_decimals(&number_text(number)?),
    };
    let is_integer = matches!(number, Expr::Literal(value, _) if value.data_type().is_integer());
    // DataFusion compares integers exactly, and gives them the type of a float.
    if is_integer && !data_type.is_decimal() {
        return None;
    }
    Literal::of_number(&text, data_type).or_else(|| match number {
        Expr::Literal(ScalarValue::Float64(Some(value)), _)
            if value.abs() > MAX_DECIMAL && (data_type.is_decimal() || data_type.is_integer()) =>
        {
            Some(if *value > 0.0 {
                Literal::Above
            } else {
                Literal::Below
            })
        }
        // As if the digits had not been kept.
        Expr::Cast(_) if within_decimals(&text) == text => Some(Literal::Value(
            ScalarValue::Float64(Some(text.parse().ok()?)),
        )),
        _ => None,
    })
}

/// The digits of a constant number.
fn number_text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Literal(value, _) if value.data_type().is_integer() && !value.is_null() => {
            Some(value.to_string())
        }
        Expr::Literal(ScalarValue::Float64(Some(value)), _) if value.is_finite() => {
            Some(value.to_string())
        }
        Expr::Cast(Cast { expr, field }) => {
            let (DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale)) =
                *field.data_type()
            else {
                return None;
            };
            let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = &**expr else {
                return None;
            };
            let Position::At(number) = Position::of_number(text, scale)? else {
                return None;
            };
            let digits = number.to_string();
            let fits = digits.trim_start_matches('-').len() <= usize::from(precision);
            fits.then(|| text.clone())
        }
        _ => None,
    }
}
