//! JSON in SQL: functions, and the operators of PostgreSQL.
//!
//! `datafusion-functions-json` has the functions. Its `json_get`, and so its `->`, reads numbers as integers of 64 bits
//! or doubles; here they give the JSON as it is written, so that numbers keep their digits.

use std::mem;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::common::DFSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::expr::{Cast, ScalarFunction, TryCast};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::registry::FunctionRegistry;
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr as SqlExpr, Value, VisitMut, VisitorMut,
};
use datafusion_functions_json::udfs;

/// Registers the functions and the operators.
///
/// # Errors
/// The session does not take them.
pub(crate) fn register_json(state: &mut SessionState) -> Result<()> {
    let functions = [
        as_written(),
        udfs::json_as_text_udf(),
        udfs::json_get_str_udf(),
        udfs::json_get_int_udf(),
        udfs::json_get_float_udf(),
        udfs::json_get_bool_udf(),
        udfs::json_get_array_udf(),
        udfs::json_contains_udf(),
        udfs::json_length_udf(),
        udfs::json_object_keys_udf(),
    ];
    for function in functions {
        state.register_udf(function)?;
    }
    state.register_expr_planner(Arc::new(JsonOperators))?;
    state.register_function_rewrite(Arc::new(CastsOfJson))
}

/// `json_get_json` and `json_get`: the JSON of a value.
fn as_written() -> Arc<ScalarUDF> {
    let function = udfs::json_get_json_udf().as_ref().clone();
    Arc::new(function.with_aliases(["json_get"]))
}

/// Lets the operators of JSON bind their operands before comparisons do, as PostgreSQL does: the parser reads
/// `p->>'a' = 'x'` as `p->>('a' = 'x')`.
pub(super) fn bind_json(expr: &mut SqlExpr) {
    let _ = expr.visit(&mut BindJson);
}

/// As [`bind_json`], for all expressions of a statement.
pub(super) fn bind_json_of(statement: &mut Statement) {
    match statement {
        Statement::Statement(statement) => {
            let _ = statement.visit(&mut BindJson);
        }
        Statement::Explain(explain) => bind_json_of(&mut explain.statement),
        _ => {}
    }
}

struct BindJson;

impl VisitorMut for BindJson {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut SqlExpr) -> ControlFlow<()> {
        let taken = |operand: &mut SqlExpr| mem::replace(operand, SqlExpr::value(Value::Null));
        if let SqlExpr::BinaryOp { left, op, right } = expr
            && reads_json(op)
            && let Some(key) = first_operand(right)
        {
            *key = SqlExpr::BinaryOp {
                left: Box::new(taken(left)),
                op: op.clone(),
                right: Box::new(taken(key)),
            };
            *expr = taken(right);
            return ControlFlow::Continue(());
        }
        if let SqlExpr::BinaryOp { left, op, right } = expr
            && reads_json(op)
            && let SqlExpr::BinaryOp {
                op: before,
                right: json,
                ..
            } = left.as_mut()
            && !reads_json(before)
        {
            **json = SqlExpr::BinaryOp {
                left: Box::new(taken(json)),
                op: op.clone(),
                right: Box::new(taken(right)),
            };
            *expr = taken(left);
        }
        ControlFlow::Continue(())
    }
}

fn reads_json(op: &BinaryOperator) -> bool {
    use BinaryOperator as Op;
    matches!(
        op,
        Op::Arrow | Op::LongArrow | Op::HashArrow | Op::HashLongArrow | Op::Question
    )
}

/// The first operand of an operator that is not in brackets.
fn first_operand(expr: &mut SqlExpr) -> Option<&mut SqlExpr> {
    use SqlExpr as E;
    let first = match expr {
        E::BinaryOp { left, op, .. } if !reads_json(op) => left,
        E::IsNull(first)
        | E::IsNotNull(first)
        | E::IsTrue(first)
        | E::IsNotTrue(first)
        | E::IsFalse(first)
        | E::IsNotFalse(first)
        | E::IsUnknown(first)
        | E::IsNotUnknown(first)
        | E::IsDistinctFrom(first, _)
        | E::IsNotDistinctFrom(first, _)
        | E::InList { expr: first, .. }
        | E::InSubquery { expr: first, .. }
        | E::Between { expr: first, .. }
        | E::Like { expr: first, .. }
        | E::ILike { expr: first, .. }
        | E::SimilarTo { expr: first, .. } => first,
        _ => return None,
    };
    if first_operand(first).is_some() {
        return first_operand(first);
    }
    Some(first)
}

#[derive(Debug)]
struct JsonOperators;

impl ExprPlanner for JsonOperators {
    fn plan_binary_op(
        &self,
        raw: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let (function, sign) = match raw.op {
            BinaryOperator::Arrow => (as_written(), "->"),
            BinaryOperator::HashArrow => (as_written(), "#>"),
            BinaryOperator::LongArrow => (udfs::json_as_text_udf(), "->>"),
            BinaryOperator::HashLongArrow => (udfs::json_as_text_udf(), "#>>"),
            BinaryOperator::Question => (udfs::json_contains_udf(), "?"),
            BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq => {
                check_operands(&raw, schema)?;
                return Ok(PlannerResult::Original(raw));
            }
            _ => return Ok(PlannerResult::Original(raw)),
        };
        let name = format!("{} {sign} {}", shown(&raw.left), shown(&raw.right));
        let call = ScalarFunction::new_udf(function, vec![raw.left, raw.right]);
        Ok(PlannerResult::Planned(
            Expr::ScalarFunction(call).alias(name),
        ))
    }
}

/// Refuses a comparison of a text in JSON with a number, which would compare the texts.
fn check_operands(raw: &RawBinaryExpr, schema: &DFSchema) -> Result<()> {
    let is_number = |expr: &Expr| expr.get_type(schema).is_ok_and(|kind| kind.is_numeric());
    for (one, other) in [(&raw.left, &raw.right), (&raw.right, &raw.left)] {
        if is_text_of_json(one) && is_number(other) {
            let json = shown(one);
            return Err(DataFusionError::Plan(format!(
                "{json} is a text and is compared with a number; write ({json})::bigint, ::double or ::decimal(38, 9)"
            )));
        }
    }
    Ok(())
}

fn is_text_of_json(expr: &Expr) -> bool {
    let texts = ["json_get_json", "json_as_text", "json_get_str"];
    call_of(expr).is_some_and(|call| texts.contains(&call.func.name()))
}

fn call_of(expr: &Expr) -> Option<&ScalarFunction> {
    match expr {
        Expr::ScalarFunction(call) => Some(call),
        Expr::Alias(alias) => call_of(&alias.expr),
        _ => None,
    }
}

/// How an operand is called in the name of a column.
fn shown(expr: &Expr) -> String {
    match expr {
        Expr::Column(column) => column.name.clone(),
        Expr::Alias(alias) => alias.name.clone(),
        Expr::Literal(value, _) => match value.try_as_str().flatten() {
            Some(text) => format!("'{text}'"),
            None => value.to_string(),
        },
        other => other.to_string(),
    }
}

/// A cast of JSON to another type than text reads a JSON string without its quotation marks.
#[derive(Debug)]
struct CastsOfJson;

impl FunctionRewrite for CastsOfJson {
    fn name(&self) -> &'static str {
        "casts_of_json"
    }

    fn rewrite(&self, expr: Expr, _: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let unquoted = |inner: &Expr| {
            let call = call_of(inner).filter(|call| call.func.name() == "json_get_json")?;
            let call = ScalarFunction::new_udf(udfs::json_as_text_udf(), call.args.clone());
            Some(Box::new(Expr::ScalarFunction(call)))
        };
        Ok(match expr {
            Expr::Cast(Cast { expr, field }) if !field.data_type().is_string() => {
                match unquoted(&expr) {
                    Some(expr) => Transformed::yes(Expr::Cast(Cast { expr, field })),
                    None => Transformed::no(Expr::Cast(Cast { expr, field })),
                }
            }
            Expr::TryCast(TryCast { expr, field }) if !field.data_type().is_string() => {
                match unquoted(&expr) {
                    Some(expr) => Transformed::yes(Expr::TryCast(TryCast { expr, field })),
                    None => Transformed::no(Expr::TryCast(TryCast { expr, field })),
                }
            }
            other => Transformed::no(other),
        })
    }
}
