//! Converts the JSON filter to an expression.

use colonnade_core::semantics::{
    Predicate, Refusal, Test, from_hex, literal_text, no_plain_text, value_type,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{Column, ScalarValue};
use datafusion::functions::expr_fn::{contains, starts_with};
use datafusion::logical_expr::{Expr, Operator, binary_expr, cast, lit, not};
use serde_json::Value;

use crate::backend::cell_search::matches_expr;
use crate::backend::literal::{Literal, is_time, never};
use crate::encode::type_name;
use crate::error::{ErrorKind, QueryError};

/// The predicate as an expression over `schema`.
///
/// # Errors
/// `bad_filter` or `unknown_column`.
pub(crate) fn predicate_expr(json: &Value, schema: &Schema) -> Result<Expr, QueryError> {
    expr_of(&Predicate::parse(json).map_err(refused)?, schema)
}

fn expr_of(predicate: &Predicate, schema: &Schema) -> Result<Expr, QueryError> {
    match predicate {
        Predicate::And(items) => fold(items, Operator::And, schema),
        Predicate::Or(items) => fold(items, Operator::Or, schema),
        Predicate::Not(inner) => Ok(not(expr_of(inner, schema)?)),
        Predicate::Test { column, test } => {
            let field = schema
                .field_with_name(column)
                .map_err(|_| QueryError::unknown_column("there is", column, schema.fields()))?;
            test_expr(test, field)
        }
        Predicate::Matches(matches) => matches_expr(matches, schema),
    }
}

/// A balanced tree, so that the depth stays small.
fn fold(items: &[Predicate], op: Operator, schema: &Schema) -> Result<Expr, QueryError> {
    let mut exprs = items
        .iter()
        .map(|item| expr_of(item, schema))
        .collect::<Result<Vec<_>, _>>()?;
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

fn test_expr(test: &Test, field: &Field) -> Result<Expr, QueryError> {
    let column = Expr::Column(Column::new_unqualified(field.name()));
    Ok(match test {
        Test::Compare(comparison, value) => literal(value, field)?.compare(column, *comparison),
        Test::In([]) => lit(false),
        Test::In(values) => {
            let mut list = Vec::with_capacity(values.len());
            for value in *values {
                if let Literal::Value(value) = literal(value, field)? {
                    list.push(Expr::Literal(value, None));
                }
            }
            if list.is_empty() {
                never(column)
            } else {
                column.in_list(list, false)
            }
        }
        Test::IsNull { negated: false } => column.is_null(),
        Test::IsNull { negated: true } => column.is_not_null(),
        Test::Contains(text) => contains(as_text(column, field)?, lit(*text)),
        Test::StartsWith(text) => starts_with(as_text(column, field)?, lit(*text)),
    })
}

/// The column as text. Only types whose text is the same in every program are accepted.
fn as_text(column: Expr, field: &Field) -> Result<Expr, QueryError> {
    let is_text = |data_type: &DataType| {
        matches!(
            data_type,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        )
    };
    if is_text(field.data_type()) {
        return Ok(column);
    }
    let values = value_type(field.data_type());
    if is_text(values) || values.is_integer() || *values == DataType::Boolean {
        return Ok(cast(column, DataType::Utf8));
    }
    Err(refused(no_plain_text(field.name(), &type_name(field))))
}

/// A JSON value as a value of the column's type; exact, or an error.
fn literal(value: &Value, field: &Field) -> Result<Literal, QueryError> {
    let target = value_type(field.data_type());
    let text = literal_text(value, field.name()).map_err(refused)?;
    let refuse = || {
        bad(
            format!("{text:?} is not a value of column {:?}", field.name()),
            format!("give a value of type {target}"),
        )
    };
    let value = match target {
        DataType::Utf8 => ScalarValue::Utf8(Some(text)),
        DataType::LargeUtf8 => ScalarValue::LargeUtf8(Some(text)),
        DataType::Utf8View => ScalarValue::Utf8View(Some(text)),
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => {
            let bytes = from_hex(&text)
                .ok_or_else(|| bad(format!("{text:?} is not hex"), "give bytes as hex digits"))?;
            ScalarValue::Binary(Some(bytes))
        }
        _ if target.is_decimal() => {
            return Literal::of_number(&text, target).ok_or_else(refuse);
        }
        _ if is_time(target) => {
            return Literal::of_time(&text, target).ok_or_else(refuse);
        }
        _ => plain_value(&text, target).ok_or_else(refuse)?,
    };
    Ok(Literal::Value(value))
}

/// A boolean, integer or float; `None` if the text is not one as Rust writes them, for Arrow takes more for one.
fn plain_value(text: &str, data_type: &DataType) -> Option<ScalarValue> {
    match data_type {
        DataType::Boolean if text.eq_ignore_ascii_case("true") => Some(ScalarValue::from(true)),
        DataType::Boolean if text.eq_ignore_ascii_case("false") => Some(ScalarValue::from(false)),
        DataType::Float16 => ScalarValue::Float64(text.parse().ok())
            .cast_to(data_type)
            .ok(),
        DataType::Float32 => Some(ScalarValue::Float32(Some(text.parse().ok()?))),
        DataType::Float64 => Some(ScalarValue::Float64(Some(text.parse().ok()?))),
        _ if data_type.is_integer() => {
            let _: i128 = text.parse().ok()?;
            ScalarValue::try_from_string(text.to_owned(), data_type).ok()
        }
        _ => None,
    }
    .filter(|value| !value.is_null())
}

fn bad(message: impl AsRef<str>, hint: impl AsRef<str>) -> QueryError {
    QueryError::new(ErrorKind::BadFilter, message, hint)
}

/// A filter that cannot be used.
pub(super) fn refused(refusal: Refusal) -> QueryError {
    bad(refusal.message, refusal.hint)
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
        let json = serde_json::from_str(json).map_err(|e| e.to_string())?;
        predicate_expr(&json, &schema())
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
            text(r#"{"op":"lt","column":"d","value":"1.005"}"#).unwrap(),
            "d <= Decimal128(1.00,12,2)"
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
