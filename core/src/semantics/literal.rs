use arrow_schema::DataType;
use serde_json::Value;

use super::Refusal;

/// Digits that every number keeps in f64.
const FLOAT_DIGITS: usize = f64::DIGITS as usize;

/// The text of a JSON value with which column `column` is compared, whose values have the type
/// `data_type`.
///
/// # Errors
/// The value is null, an array or an object; or a number with more digits than f64 keeps, for a column
/// of decimals.
pub fn literal_text(value: &Value, column: &str, data_type: &DataType) -> Result<String, Refusal> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => {
            let text = number.to_string();
            let digits = text.bytes().filter(u8::is_ascii_digit);
            let num_digits = digits.skip_while(|digit| *digit == b'0').count();
            // JSON's numbers were rounded to f64 when they were read.
            if number.is_f64() && data_type.is_decimal() && num_digits > FLOAT_DIGITS {
                return Err(Refusal::new(
                    format!(
                        "the filter on {column:?} has a number of more than {FLOAT_DIGITS} digits, which JSON rounds"
                    ),
                    "give the digits as a string",
                ));
            }
            Ok(text)
        }
        Value::Bool(value) => Ok(value.to_string()),
        other => Err(Refusal::new(
            format!("the filter on {column:?} compares with {other}"),
            "give a string, a number or a boolean",
        )),
    }
}

/// The bytes of hex digits, with or without `0x` in front; `None` if the text is not hex digits.
#[must_use]
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bytes_are_hex_digits() {
        assert_eq!(from_hex("0x00fF"), Some(vec![0, 255]));
        assert_eq!(from_hex(""), Some(Vec::new()));
        for wrong in ["0", "0x0", "g0", "é", "+1"] {
            assert_eq!(from_hex(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn scalars_have_texts() {
        let text = |value: &Value| literal_text(value, "a", &DataType::Int64);
        assert_eq!(text(&json!(-0.5)).unwrap(), "-0.5");
        assert_eq!(text(&json!(true)).unwrap(), "true");
        for wrong in [json!(null), json!([1]), json!({"a": 1})] {
            assert!(text(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rounded_numbers_are_no_decimals() {
        let decimal = DataType::Decimal128(20, 3);
        let text = |json: &str| {
            let value = serde_json::from_str(json).unwrap();
            literal_text(&value, "a", &decimal)
        };
        let error = text("1234567890123456.789").unwrap_err();
        assert_eq!(error.hint, "give the digits as a string");
        assert_eq!(text("123456789012.345").unwrap(), "123456789012.345");
        assert_eq!(text("9007199254740993").unwrap(), "9007199254740993");
        let float = literal_text(&json!(0.1 + 0.2), "a", &DataType::Float64);
        assert_eq!(float.unwrap(), "0.30000000000000004");
    }
}
