//! Keeps the digits of numbers in SQL, which DataFusion would round to doubles.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, ExactNumberInfo, Expr, UnaryOperator, Value, VisitMut,
    VisitorMut,
};

/// The maximum number of digits of a decimal.
const MAX_DIGITS: usize = 76;

/// Replaces numbers that are compared, such as `826926.25`, by decimals with all their digits. Integers of at most 64
/// bits have them anyway; numbers with an exponent are doubles. [`super::ExactLiterals`] gives them the types of the
/// expressions with which they are compared.
pub(super) fn keep_digits(expr: &mut Expr) {
    let _ = expr.visit(&mut KeepDigits);
}

/// As [`keep_digits`], for all expressions of a statement.
pub(super) fn keep_digits_of(statement: &mut Statement) {
    match statement {
        Statement::Statement(statement) => {
            let _ = statement.visit(&mut KeepDigits);
        }
        Statement::Explain(explain) => keep_digits_of(&mut explain.statement),
        _ => {}
    }
}

struct KeepDigits;

impl VisitorMut for KeepDigits {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { left, op, right } if compares(op) => keep_one(left, right),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                keep_one(left, right);
            }
            Expr::InList { expr, list, .. } => {
                keep(expr);
                list.iter_mut().for_each(keep);
            }
            Expr::Between {
                expr, low, high, ..
            } => {
                keep(expr);
                keep(low);
                keep(high);
            }
            Expr::Case {
                operand: Some(_),
                conditions,
                ..
            } => {
                for when in conditions {
                    keep(&mut when.condition);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn compares(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
            | BinaryOperator::Spaceship
    )
}

/// Numbers that are compared with each other stay as they are.
fn keep_one(left: &mut Expr, right: &mut Expr) {
    match [&*left, &*right].map(|operand| number(operand, false).is_some()) {
        [true, false] => keep(left),
        [false, true] => keep(right),
        _ => {}
    }
}

fn keep(operand: &mut Expr) {
    if let Some(decimal) = number(operand, false).and_then(|text| decimal(&text)) {
        *operand = decimal;
    }
}

/// The digits of a number with its sign.
fn number(expr: &Expr, is_negative: bool) -> Option<String> {
    match expr {
        Expr::Nested(inner) => number(inner, is_negative),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => number(expr, !is_negative),
        Expr::UnaryOp {
            op: UnaryOperator::Plus,
            expr,
        } => number(expr, is_negative),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => {
                let sign = if is_negative { "-" } else { "" };
                Some(format!("{sign}{}", digits.replace('_', "")))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A number without the zeros at its end, and with at most [`MAX_DIGITS`] digits if it has no more before its point. A
/// longer one keeps its neighbours among shorter decimals, and among floats.
pub(super) fn within_decimals(text: &str) -> String {
    let Some((whole, fraction)) = text.split_once('.') else {
        return text.to_owned();
    };
    let fraction = fraction.trim_end_matches('0');
    let num_whole = whole.trim_start_matches(['-', '0']).len();
    let most = MAX_DIGITS.saturating_sub(num_whole);
    if fraction.is_empty() {
        whole.to_owned()
    } else if fraction.len() <= most || most == 0 {
        format!("{whole}.{fraction}")
    } else {
        format!("{whole}.{}1", &fraction[..most - 1])
    }
}

/// The number as a decimal with its digits; `None` if DataFusion keeps them, or if they are too many.
fn decimal(text: &str) -> Option<Expr> {
    if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() {
        return None;
    }
    let text = within_decimals(text);
    let digits = text.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut all = whole.bytes().chain(fraction.bytes());
    let precision = whole.trim_start_matches('0').len() + fraction.len();
    if precision > MAX_DIGITS || !all.all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let scale = ExactNumberInfo::PrecisionAndScale(precision.max(1) as u64, fraction.len() as i64);
    Some(Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::Value(Value::SingleQuotedString(text).into())),
        data_type: DataType::Decimal(scale),
        array: false,
        format: None,
    })
}
