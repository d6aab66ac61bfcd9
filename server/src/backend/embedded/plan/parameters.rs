//! Values of the parameters of a statement, `:name` and `$1`. They become typed literals of the plan; the text of
//! the statement is not changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use datafusion::arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, TimeUnit};
use datafusion::common::ParamValues;
use datafusion::logical_expr::LogicalPlan;
use datafusion::scalar::ScalarValue;
use serde_json::Value;

use crate::error::from_datafusion::plan_error;
use crate::error::{ErrorKind, QueryError};

/// The plan with `values` in place of its parameters. A value takes the type with which it is compared, unless that
/// type cannot hold it exactly.
///
/// # Errors
/// `bad_parameter`: a value is missing, has no parameter, or does not fit. `sql_error`: a parameter is used for
/// values of different types.
pub(super) fn bind(
    plan: LogicalPlan,
    values: &BTreeMap<String, Value>,
) -> Result<LogicalPlan, QueryError> {
    let error = |error: &_| plan_error(error, ErrorKind::SqlError, &[], &[]);
    let names = plan.get_parameter_names().map_err(|e| error(&e))?;
    // Without the character in front, so that `:a` and `$a` are the same.
    let names: BTreeSet<&str> = names.iter().map(|name| &name[1..]).collect();
    if let Some(unused) = values.keys().find(|name| !names.contains(name.as_str())) {
        return Err(bad(
            format!("the statement has no parameter {unused:?}"),
            format!("leave {unused:?} out, or write :{unused} in the statement"),
        ));
    }
    if let Some(missing) = names.iter().find(|name| !values.contains_key(**name)) {
        return Err(bad(
            format!("the parameter {missing:?} has no value"),
            format!("send \"params\": {{\"{missing}\": …}}"),
        ));
    }
    if names.is_empty() {
        return Ok(plan);
    }
    let types = plan.get_parameter_types().map_err(|e| error(&e))?;
    let types: HashMap<&str, Option<&DataType>> = types
        .iter()
        .map(|(name, data_type)| (&name[1..], data_type.as_ref()))
        .collect();
    let values = values.iter().map(|(name, value)| {
        let wanted = types.get(name.as_str()).copied().flatten();
        let literal = literal(value, wanted).ok_or_else(|| {
            let wanted = wanted.map_or_else(|| "a value".to_owned(), ToString::to_string);
            bad(
                format!("the value of the parameter {name:?} is not {wanted}: {value}"),
                "send a number, a text, true, false or null",
            )
        })?;
        Ok((name.clone(), literal))
    });
    let values: HashMap<String, ScalarValue> = values.collect::<Result<_, QueryError>>()?;
    plan.replace_params_with_values(&ParamValues::from(values))
        .map_err(|e| error(&e))
}

fn bad(message: String, hint: impl AsRef<str>) -> QueryError {
    QueryError::new(ErrorKind::BadParameter, message, hint)
}

/// The value as a literal of the `wanted` type, or of its own.
fn literal(value: &Value, wanted: Option<&DataType>) -> Option<ScalarValue> {
    let text = match value {
        Value::Null => return ScalarValue::try_from(wanted.unwrap_or(&DataType::Null)).ok(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::String(value) => value.clone(),
        Value::Array(_) | Value::Object(_) => return None,
    };
    match (wanted, value) {
        (Some(wanted), _) if wanted.is_integer() || wanted.is_decimal() => number(&text),
        (Some(wanted @ (DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))), _) => {
            time(&text, wanted)
        }
        (Some(wanted), _) => ScalarValue::try_from_string(text, wanted).ok(),
        (None, Value::Bool(value)) => Some(ScalarValue::from(*value)),
        (None, Value::Number(_)) => number(&text),
        (None, _) => Some(ScalarValue::from(text)),
    }
}

/// A number with all its digits, so that it is compared exactly with integers and decimals.
fn number(text: &str) -> Option<ScalarValue> {
    if let Ok(integer) = text.parse() {
        return Some(ScalarValue::Int64(Some(integer)));
    }
    if let Ok(integer) = text.parse() {
        return Some(ScalarValue::UInt64(Some(integer)));
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let num_digits = whole.trim_start_matches('0').len() + fraction.len();
    let is_decimal = is_plain(whole) && is_plain(fraction) && !digits.trim_matches('.').is_empty();
    if is_decimal && num_digits <= usize::from(DECIMAL128_MAX_PRECISION) {
        let precision = u8::try_from(num_digits.max(1)).ok()?;
        let scale = i8::try_from(fraction.len()).ok()?;
        let decimal = DataType::Decimal128(precision, scale);
        return ScalarValue::try_from_string(text.to_owned(), &decimal).ok();
    }
    text.parse()
        .ok()
        .map(|value| ScalarValue::Float64(Some(value)))
}

/// A date or time of the `wanted` type, or in nanoseconds if that type would cut it.
fn time(text: &str, wanted: &DataType) -> Option<ScalarValue> {
    let zone = match wanted {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    let exact = DataType::Timestamp(TimeUnit::Nanosecond, zone);
    let value = ScalarValue::try_from_string(text.to_owned(), wanted).ok()?;
    let nanoseconds = ScalarValue::try_from_string(text.to_owned(), &exact).ok();
    let is_cut = |nanoseconds: &ScalarValue| {
        let same = value.cast_to(&exact);
        same.is_ok_and(|same| same != *nanoseconds)
    };
    Some(nanoseconds.filter(is_cut).unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_keep_all_digits() {
        let decimal = DataType::Decimal128(15, 2);
        let nanoseconds = DataType::Timestamp(TimeUnit::Nanosecond, None);
        for (value, wanted, expected) in [
            (json!("50"), Some(&decimal), ScalarValue::Int64(Some(50))),
            (
                json!("50.001"),
                Some(&decimal),
                ScalarValue::Decimal128(Some(50_001), 5, 3),
            ),
            (
                json!("-0.10"),
                Some(&DataType::Int64),
                ScalarValue::Decimal128(Some(-10), 2, 2),
            ),
            (
                json!("18446744073709551615"),
                Some(&DataType::Int64),
                ScalarValue::UInt64(Some(u64::MAX)),
            ),
            (
                json!("1.5"),
                Some(&DataType::Float64),
                ScalarValue::Float64(Some(1.5)),
            ),
            (json!("1.5"), None, ScalarValue::from("1.5")),
            (json!(7), None, ScalarValue::Int64(Some(7))),
            (json!(1e300), None, ScalarValue::Float64(Some(1e300))),
            (json!(true), None, ScalarValue::from(true)),
            (json!(7), Some(&DataType::Utf8), ScalarValue::from("7")),
            (
                json!("1970-01-02"),
                Some(&DataType::Date32),
                ScalarValue::Date32(Some(1)),
            ),
            (
                json!("1970-01-01T00:00:01"),
                Some(&DataType::Date32),
                ScalarValue::TimestampNanosecond(Some(1_000_000_000), None),
            ),
            (
                json!(null),
                Some(&decimal),
                ScalarValue::Decimal128(None, 15, 2),
            ),
            (json!(null), None, ScalarValue::Null),
        ] {
            assert_eq!(literal(&value, wanted), Some(expected), "{value}");
        }
        for (value, wanted) in [
            (json!("x"), Some(&decimal)),
            (json!("."), Some(&decimal)),
            (json!("1; drop"), Some(&DataType::Int64)),
            (json!("yesterday"), Some(&nanoseconds)),
            (json!([1]), None),
        ] {
            assert_eq!(literal(&value, wanted), None, "{value}");
        }
    }
}
