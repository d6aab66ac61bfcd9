use serde_json::Value;

use super::Refusal;

/// The text of a JSON value with which column `column` is compared.
///
/// # Errors
/// The value is null, an array or an object.
pub fn literal_text(value: &Value, column: &str) -> Result<String, Refusal> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
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
        let text = |value: &Value| literal_text(value, "a");
        assert_eq!(text(&json!(-0.5)).unwrap(), "-0.5");
        assert_eq!(text(&json!(true)).unwrap(), "true");
        for wrong in [json!(null), json!([1]), json!({"a": 1})] {
            assert!(text(&wrong).is_err(), "{wrong}");
        }
    }
}
