//! The JSON filter: `{"op": …, "column": …, "value": …}`, combined by `and`, `or`, `not`.

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{Column, ScalarValue};
use datafusion::functions::expr_fn::{contains, starts_with};
use datafusion::logical_expr::{Expr, Operator, binary_expr, cast, lit, not};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{ErrorKind, QueryError};
use crate::plan::near_names;

/// How deep `and`, `or` and `not` may nest.
const MAX_DEPTH: usize = 32;

/// How many values `in` takes, and how many predicates `and` and `or`.
const MAX_ITEMS: usize = 10_000;

/// A predicate as the JSON has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Predicate {
    /// All of them.
    And(And),
    /// One of them.
    Or(Or),
    /// The opposite.
    Not(Not),
    /// A comparison of one column.
    Compare(Compare),
}

/// `{"and": […]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct And {
    and: Vec<Predicate>,
}

/// `{"or": […]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Or {
    or: Vec<Predicate>,
}

/// `{"not": …}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Not {
    not: Box<Predicate>,
}

/// `{"op": …, "column": …, "value": …}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    op: Op,
    column: String,
    #[serde(default)]
    value: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    IsNull,
    NotNull,
    Contains,
    StartsWith,
}

/// The predicate as an expression over `schema`.
///
/// # Errors
/// `bad_filter` or `unknown_column`, with what would be right.
pub fn predicate_expr(predicate: &Predicate, schema: &Schema) -> Result<Expr, QueryError> {
    expr_of(predicate, schema, 0)
}

fn expr_of(predicate: &Predicate, schema: &Schema, depth: usize) -> Result<Expr, QueryError> {
    if depth > MAX_DEPTH {
        return Err(bad(
            format!("the filter nests deeper than {MAX_DEPTH} levels"),
            "write it flatter",
        ));
    }
    match predicate {
        Predicate::And(And { and }) => fold(and, Operator::And, schema, depth),
        Predicate::Or(Or { or }) => fold(or, Operator::Or, schema, depth),
        Predicate::Not(Not { not: inner }) => Ok(not(expr_of(inner, schema, depth + 1)?)),
        Predicate::Compare(compare) => compare_expr(compare, schema),
    }
}

fn fold(
    items: &[Predicate],
    op: Operator,
    schema: &Schema,
    depth: usize,
) -> Result<Expr, QueryError> {
    if items.len() > MAX_ITEMS {
        return Err(bad(
            format!("the filter joins more than {MAX_ITEMS} predicates"),
            "write a shorter one",
        ));
    }
    let mut exprs = items
        .iter()
        .map(|item| expr_of(item, schema, depth + 1))
        .collect::<Result<Vec<_>, _>>()?;
    // A balanced tree, so that the depth stays small.
    while exprs.len() > 1 {
        let mut halves = Vec::with_capacity(exprs.len().div_ceil(2));
        let mut pairs = exprs.into_iter();
        while let Some(left) = pairs.next() {
            halves.push(match pairs.next() {
                Some(right) => binary_expr(left, op, right),
                None => left,
            });
        }
        exprs = halves;
    }
    Ok(exprs.pop().unwrap_or_else(|| lit(op == Operator::And)))
}

fn compare_expr(compare: &Compare, schema: &Schema) -> Result<Expr, QueryError> {
    let field = schema.field_with_name(&compare.column).map_err(|_| {
        QueryError::new(
            ErrorKind::UnknownColumn,
            format!("there is no column {:?}", compare.column),
            near_names(
                &compare.column,
                schema.fields().iter().map(|f| f.name().as_str()),
                "columns",
            ),
        )
    })?;
    let column = Expr::Column(Column::new_unqualified(field.name()));
    let value = || {
        compare
            .value
            .as_ref()
            .filter(|value| !value.is_null())
            .ok_or_else(|| {
                bad(
                    format!("the filter on {:?} has no value", field.name()),
                    "give \"value\", or use is_null or not_null",
                )
            })
    };
    let text = |value: &Value| {
        value.as_str().map(str::to_owned).ok_or_else(|| {
            bad(
                format!(
                    "the filter on {:?} looks for {value}, which is no text",
                    field.name()
                ),
                "give \"value\" as a string",
            )
        })
    };
    let operator = match compare.op {
        Op::Eq => Operator::Eq,
        Op::Ne => Operator::NotEq,
        Op::Lt => Operator::Lt,
        Op::Le => Operator::LtEq,
        Op::Gt => Operator::Gt,
        Op::Ge => Operator::GtEq,
        Op::IsNull | Op::NotNull
            if compare.value.as_ref().is_some_and(|value| !value.is_null()) =>
        {
            return Err(bad(
                format!("is_null and not_null on {:?} take no value", field.name()),
                "leave \"value\" out",
            ));
        }
        Op::IsNull => return Ok(column.is_null()),
        Op::NotNull => return Ok(column.is_not_null()),
        Op::Contains => return Ok(contains(as_text(column, field), lit(text(value()?)?))),
        Op::StartsWith => return Ok(starts_with(as_text(column, field), lit(text(value()?)?))),
        Op::In => {
            let Value::Array(values) = value()? else {
                return Err(bad(
                    format!("in on {:?} takes a list", field.name()),
                    "give \"value\" as an array",
                ));
            };
            if values.len() > MAX_ITEMS {
                return Err(bad(
                    format!("in takes at most {MAX_ITEMS} values"),
                    "write a shorter list",
                ));
            }
            let list = values
                .iter()
                .map(|value| literal(value, field).map(|value| Expr::Literal(value, None)))
                .collect::<Result<Vec<_>, _>>()?;
            return Ok(if list.is_empty() {
                lit(false)
            } else {
                column.in_list(list, false)
            });
        }
    };
    Ok(binary_expr(
        column,
        operator,
        Expr::Literal(literal(value()?, field)?, None),
    ))
}

fn as_text(column: Expr, field: &Field) -> Expr {
    match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => column,
        _ => cast(column, DataType::Utf8),
    }
}

/// A JSON value as a value of the column's type; exact, or an error.
fn literal(value: &Value, field: &Field) -> Result<ScalarValue, QueryError> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        other => {
            return Err(bad(
                format!("the filter on {:?} compares with {other}", field.name()),
                "give a string, a number or a boolean",
            ));
        }
    };
    let target = match field.data_type() {
        DataType::Dictionary(_, value) => value.as_ref(),
        DataType::RunEndEncoded(_, values) => values.data_type(),
        other => other,
    };
    let refuse = || {
        bad(
            format!("{text:?} is not a value of column {:?}", field.name()),
            format!("give a value of type {target}"),
        )
    };
    match target {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            Ok(ScalarValue::try_new_text(target, text))
        }
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => {
            let bytes = from_hex(&text)
                .ok_or_else(|| bad(format!("{text:?} is not hex"), "give bytes as hex digits"))?;
            Ok(ScalarValue::Binary(Some(bytes)))
        }
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => decimal(&text).ok_or_else(refuse),
        _ => match ScalarValue::try_from_string(text.clone(), target) {
            Ok(value) if !value.is_null() => Ok(value),
            _ => Err(refuse()),
        },
    }
}

/// The number with all its digits, so that nothing is rounded before it is compared.
fn decimal(text: &str) -> Option<ScalarValue> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty()
        || !whole
            .bytes()
            .chain(fraction.bytes())
            .all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let scale = i8::try_from(fraction.len()).ok()?;
    let precision = (whole.trim_start_matches('0').len() + fraction.len()).clamp(1, 76);
    let data_type = if precision <= 38 {
        DataType::Decimal128(precision.max(scale as usize) as u8, scale)
    } else {
        DataType::Decimal256(precision as u8, scale)
    };
    ScalarValue::try_from_string(text.to_owned(), &data_type)
        .ok()
        .filter(|value| !value.is_null())
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok())
        .collect()
}

trait TextScalar {
    fn try_new_text(data_type: &DataType, text: String) -> ScalarValue;
}

impl TextScalar for ScalarValue {
    fn try_new_text(data_type: &DataType, text: String) -> ScalarValue {
        match data_type {
            DataType::LargeUtf8 => ScalarValue::LargeUtf8(Some(text)),
            DataType::Utf8View => ScalarValue::Utf8View(Some(text)),
            _ => ScalarValue::Utf8(Some(text)),
        }
    }
}

fn bad(message: impl AsRef<str>, hint: impl AsRef<str>) -> QueryError {
    QueryError::new(ErrorKind::BadFilter, message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::Fields;
    use std::sync::Arc;

    fn schema() -> Arc<Schema> {
        let fields: Fields = vec![
            Field::new("n", DataType::Int64, true),
            Field::new("t", DataType::Utf8, true),
            Field::new("d", DataType::Decimal128(12, 2), true),
        ]
        .into();
        Arc::new(Schema::new(fields))
    }

    fn text(json: &str) -> Result<String, String> {
        let predicate: Predicate = serde_json::from_str(json).map_err(|e| e.to_string())?;
        predicate_expr(&predicate, &schema())
            .map(|e| e.to_string())
            .map_err(|e| e.kind.code().to_owned())
    }

    #[test]
    fn expressions() {
        assert_eq!(
            text(r#"{"op":"eq","column":"n","value":"9007199254740993"}"#).unwrap(),
            "n = Int64(9007199254740993)"
        );
        assert_eq!(
            text(r#"{"op":"is_null","column":"n"}"#).unwrap(),
            "n IS NULL"
        );
        assert_eq!(text(r#"{"and":[]}"#).unwrap(), "Boolean(true)");
        assert_eq!(
            text(r#"{"op":"eq","column":"d","value":"1.005"}"#).unwrap(),
            "d = Decimal128(1.005,4,3)"
        );
        let both = text(
            r#"{"not":{"or":[{"op":"lt","column":"n","value":1},{"op":"in","column":"t","value":["a","b"]}]}}"#,
        );
        assert_eq!(
            both.unwrap(),
            r#"NOT n < Int64(1) OR t IN ([Utf8("a"), Utf8("b")])"#
        );
    }

    #[test]
    fn refusals() {
        assert_eq!(
            text(r#"{"op":"eq","column":"m","value":1}"#).unwrap_err(),
            "unknown_column"
        );
        for json in [
            r#"{"op":"eq","column":"n","value":"1.5"}"#,
            r#"{"op":"eq","column":"n"}"#,
            r#"{"op":"eq","column":"n","value":null}"#,
            r#"{"op":"in","column":"n","value":5}"#,
            r#"{"op":"contains","column":"t","value":5}"#,
            r#"{"op":"is_null","column":"t","value":5}"#,
            r#"{"op":"eq","column":"d","value":"a"}"#,
            r#"{"op":"eq","column":"n","value":{"a":1}}"#,
        ] {
            assert_eq!(text(json).unwrap_err(), "bad_filter", "{json}");
        }
        assert!(text(r#"{"op":"like","column":"t","value":"a"}"#).is_err());
    }
}
