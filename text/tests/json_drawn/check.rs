//! Compares arrays with the values of which they were read.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};

use crate::draw::{Text, Value};

/// Panics unless an array's row is exactly the value.
pub(crate) fn check_value(array: &ArrayRef, row: usize, field: &Field, value: &Value) {
    if let Value::Null = value {
        assert!(array.is_null(row), "{field:?} {row}");
        return;
    }
    assert!(array.is_valid(row), "{field:?} {row} {value:?}");
    let is_json = field
        .metadata()
        .get("ARROW:extension:name")
        .is_some_and(|name| name == "arrow.json");
    match (array.data_type(), value) {
        (DataType::Utf8, _) if is_json => {
            assert_eq!(array.as_string::<i32>().value(row), value.compact());
        }
        (DataType::Utf8, Value::String(text)) => {
            assert_eq!(array.as_string::<i32>().value(row), text.content);
        }
        (DataType::Boolean, Value::Bool(value)) => {
            assert_eq!(array.as_boolean().value(row), *value);
        }
        (DataType::Int64, Value::Number(literal)) => {
            assert_eq!(
                array.as_primitive::<Int64Type>().value(row).to_string(),
                *literal
            );
        }
        (DataType::UInt64, Value::Number(literal)) => {
            assert_eq!(
                array.as_primitive::<UInt64Type>().value(row).to_string(),
                *literal
            );
        }
        (DataType::Float64, Value::Number(literal)) => {
            let value = array.as_primitive::<Float64Type>().value(row);
            let (_, digits, _) = significant(literal);
            assert!(digits.len() <= 17, "{literal}");
            assert!(
                value.is_finite() && (value == 0.0) == digits.is_empty(),
                "{literal}"
            );
            assert_eq!(
                value.to_bits(),
                literal.parse::<f64>().unwrap().to_bits(),
                "{literal}"
            );
        }
        (&DataType::Decimal128(precision, scale), Value::Number(literal)) => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            assert!(value.unsigned_abs() < 10_u128.pow(u32::from(precision)));
            let (negative, digits, exponent) = significant(&value.to_string());
            let exponent = if digits.is_empty() {
                0
            } else {
                exponent - i64::from(scale)
            };
            assert_eq!(
                (negative, digits, exponent),
                significant(literal),
                "{literal} {value} {scale}"
            );
        }
        (DataType::Struct(fields), Value::Object(values)) => {
            let array = array.as_struct();
            for (field, column) in fields.iter().zip(array.columns()) {
                check_value(column, row, field, value_of(values, field.name()));
            }
            for (name, _) in values {
                assert!(fields.find(&name.content).is_some(), "{name:?} is dropped");
            }
        }
        (DataType::List(field), Value::Array(values)) => {
            let items = array.as_list::<i32>().value(row);
            assert_eq!(items.len(), values.len());
            for (index, value) in values.iter().enumerate() {
                check_value(&items, index, field, value);
            }
        }
        (data_type, value) => panic!("{data_type} for {value:?}"),
    }
}

/// The value of a field, or null.
pub(crate) fn value_of<'a>(values: &'a [(Text, Value)], name: &str) -> &'a Value {
    let found = values.iter().find(|(key, _)| key.content == name);
    found.map_or(&Value::Null, |(_, value)| value)
}

/// Sign, significant digits, and the exponent of the last of them.
fn significant(literal: &str) -> (bool, String, i64) {
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let negative = mantissa.starts_with('-');
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", integer.trim_start_matches('-'));
    let digits = digits.trim_start_matches('0');
    let kept = digits.trim_end_matches('0');
    if kept.is_empty() {
        return (negative, String::new(), 0);
    }
    let trailing = (digits.len() - kept.len()) as i64;
    (
        negative,
        kept.to_owned(),
        exponent - fraction.len() as i64 + trailing,
    )
}
