use serde_json::Value;

use super::Refusal;

/// The largest integer up to which f64 has all integers.
const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// Parses the JSON of a predicate, in which a number stands for its digits.
///
/// # Errors
/// The text is not JSON; or programs that read JSON lose digits of a number: of an integer beyond 2^53, or of any other
/// number that f64 does not give back.
pub fn exact_json(text: &str) -> Result<Value, Refusal> {
    let value = serde_json::from_str(text).map_err(|error| {
        Refusal::new(
            format!("the filter is not valid JSON: {error}"),
            "check the filter's syntax",
        )
    })?;
    match numbers(text).find(|number| !is_exact(number)) {
        None => Ok(value),
        Some(number) => Err(Refusal::new(
            format!("the filter has the number {number}, of which JSON loses digits"),
            "give the digits as a string",
        )),
    }
}

/// The numbers of a valid JSON text.
fn numbers(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())?;
            rest = &rest[start..];
            if let Some(string) = rest.strip_prefix('"') {
                rest = after_string(string);
                continue;
            }
            let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
            let (number, after) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
            rest = after;
            return Some(number);
        }
    })
}

/// What follows a string of which the first quote is already read.
fn after_string(json: &str) -> &str {
    let mut is_escaped = false;
    let end = json.find(|c| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    end.map_or("", |end| &json[end + 1..])
}

fn is_exact(number: &str) -> bool {
    let digits = number.trim_start_matches('-');
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits
            .parse()
            .is_ok_and(|integer: u64| integer <= MAX_EXACT_INTEGER);
    }
    let Ok(float) = digits.parse::<f64>() else {
        return false;
    };
    float.is_finite() && significant(digits) == significant(&format!("{float:e}"))
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
    fn numbers_that_keep_their_digits() {
        for exact in [
            "0",
            "-0",
            "-0.0",
            "0.10",
            "1.5",
            "2.0",
            "1e22",
            "1E+2",
            "5e-324",
            "0.30000000000000004",
            "9007199254740992",
            "-9007199254740992",
            "1.7976931348623157e308",
            "123456789012.345",
            "0e999999999999999999999",
        ] {
            assert!(is_exact(exact), "{exact}");
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
            assert!(!is_exact(lost), "{lost}");
        }
    }

    #[test]
    fn strings_and_names_are_no_numbers() {
        let json = r#"{"9007199254740993": ["-1.5\"", -1.5, "\\", 1e2,"\\\"7", true ,3]}"#;
        let found: Vec<_> = numbers(json).collect();
        assert_eq!(found, ["-1.5", "1e2", "3"]);
        let value = exact_json(r#"{"value": "9007199254740993"}"#);
        assert_eq!(value.unwrap()["value"], "9007199254740993");
        for wrong in ["{", r#"{"value": [1, 9007199254740993]}"#] {
            assert!(exact_json(wrong).is_err(), "{wrong}");
        }
    }
}
