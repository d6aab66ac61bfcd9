use serde_json::Value;

use super::{Predicate, Refusal};

/// The largest integer up to which f64 has all integers.
const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// Parses the JSON of a predicate. Its numbers become texts of the same digits, because serde_json reads the last bit
/// of some floats wrong.
///
/// # Errors
/// The text is not JSON or no predicate; or programs that read JSON lose digits of a number: of an integer beyond 2^53,
/// or of any other number that f64 does not give back.
pub fn exact_json(text: &str) -> Result<Value, Refusal> {
    let parse = |text: &str| {
        serde_json::from_str(text).map_err(|error| {
            Refusal::new(
                format!("the filter is not valid JSON: {error}"),
                "check the filter's syntax",
            )
        })
    };
    Predicate::parse(&parse(text)?)?;
    parse(&with_texts(text)?)
}

/// A valid JSON text with its numbers as texts.
fn with_texts(json: &str) -> Result<String, Refusal> {
    let mut texts = String::new();
    let byte = |at: usize| json.as_bytes().get(at).copied().unwrap_or(b'"');
    let mut end = 0;
    while end < json.len() {
        let start = end;
        end += 1;
        if byte(start) == b'"' {
            while byte(end) != b'"' {
                end += 1 + usize::from(byte(end) == b'\\');
            }
            end += 1;
        } else if matches!(byte(start), b'-' | b'0'..=b'9') {
            while matches!(byte(end), b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') {
                end += 1;
            }
            let number = &json[start..end];
            let Some(digits) = exact_digits(number) else {
                return Err(Refusal::new(
                    format!("the filter has the number {number}, of which JSON loses digits"),
                    "give the digits as a string",
                ));
            };
            texts.extend(["\"", &digits, "\""]);
            continue;
        }
        texts.push_str(&json[start..end]);
    }
    Ok(texts)
}

/// The digits of a number of JSON, without an exponent; `None` if programs that read JSON lose some.
fn exact_digits(number: &str) -> Option<String> {
    let digits = number.trim_start_matches('-');
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let integer: u64 = digits.parse().ok()?;
        return (integer <= MAX_EXACT_INTEGER).then(|| number.to_owned());
    }
    let float: f64 = number.parse().ok()?;
    let plain = float.to_string();
    let is_exact =
        float.is_finite() && significant(digits) == significant(plain.trim_start_matches('-'));
    is_exact.then(|| match number.contains(['e', 'E']) {
        true => plain,
        false => number.to_owned(),
    })
}

/// The digits of a number from the first to the last that is not 0, and the exponent of the first.
fn significant(number: &str) -> Option<(String, i64)> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let num_zeros = all.len() - digits.len();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return Some((String::new(), 0));
    }
    let exponent: i64 = exponent.parse().ok()?;
    let first = i64::try_from(whole.len()).ok()? - i64::try_from(num_zeros).ok()?;
    Some((digits.to_owned(), exponent.checked_add(first)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        for exact in [
            "0",
            "-0",
            "-0.0",
            "0.10",
            "1.5",
            "2.0",
            "0.30000000000000004",
            "0.9452706955539223",
            "9007199254740992",
            "-9007199254740992",
            "123456789012.345",
        ] {
            assert_eq!(exact_digits(exact).as_deref(), Some(exact));
        }
        for (number, digits) in [
            ("1e22", "10000000000000000000000"),
            ("-1E+2", "-100"),
            ("1e-6", "0.000001"),
            ("-12.50e-1", "-1.25"),
            ("1.25e1", "12.5"),
            ("0e999999999999999999999", "0"),
            ("-0e1", "-0"),
        ] {
            assert_eq!(exact_digits(number).as_deref(), Some(digits), "{number}");
        }
        for float in [5e-324, f64::MAX] {
            let digits = exact_digits(&format!("{float:e}")).unwrap();
            assert_eq!(digits.parse(), Ok(float));
        }
        for lost in [
            "9007199254740993",
            "9007199254740994",
            "-9223372036854775808",
            "9007199254740993.0",
            "10000000000000000000001",
            "0.1000000000000000000001",
            "1e400",
            "1e-400",
            "1234567890123456.789",
            "1.00000000000000000000000001",
        ] {
            assert_eq!(exact_digits(lost), None, "{lost}");
        }
    }

    #[test]
    fn strings_and_names_are_no_numbers() {
        let json = r#"{"9007199254740993": ["-1.5\"", -1.5, "\\", 1e2,"\\\"7", true ,3]}"#;
        let texts = r#"{"9007199254740993": ["-1.5\"", "-1.5", "\\", "100","\\\"7", true ,"3"]}"#;
        assert_eq!(with_texts(json).ok().as_deref(), Some(texts));
        assert!(with_texts("[1, 9007199254740993]").is_err());
        let value = exact_json(r#"{"op": "in", "column": "a", "value": ["9007199254740993", 5]}"#);
        assert_eq!(
            value.unwrap()["value"],
            serde_json::json!(["9007199254740993", "5"])
        );
        for wrong in ["{", r#"{"op": "contains", "column": "a", "value": 5}"#] {
            assert!(exact_json(wrong).is_err(), "{wrong}");
        }
    }
}
