use arrow_schema::DataType;

use super::Refusal;

/// The maximum length of the text to search for.
const MAX_TEXT_BYTES: usize = 10_000;

/// Checks the text and the limit of a search, in rows.
///
/// # Errors
/// The text is empty or too long, or the limit is 0.
pub fn check_find(text: &str, limit: usize) -> Result<(), Refusal> {
    if text.is_empty() {
        return Err(Refusal::new("the text to find is empty", "give a text"));
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err(Refusal::new(
            "the text to find is too long",
            "give at most 10,000 bytes",
        ));
    }
    if limit == 0 {
        return Err(Refusal::new("the limit is 0", "give 1 or more"));
    }
    Ok(())
}

/// Whether a cell of this type could contain the text. Most searches can skip columns of numbers.
#[must_use]
pub fn may_hold(data_type: &DataType, text: &str) -> bool {
    let of = |characters: &str| text.chars().all(|c| characters.contains(c));
    match value_type(data_type) {
        data_type if data_type.is_integer() => of("-0123456789"),
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => of("-.0123456789"),
        DataType::Date32 => of("-0123456789"),
        // The long s is an s in another case.
        DataType::Boolean => of("trufalseTRUFALSE\u{17F}"),
        DataType::Null => false,
        _ => true,
    }
}

/// The type of the values of a dictionary or of run-end encoding; otherwise the type itself.
#[must_use]
pub fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, value) => value,
        DataType::RunEndEncoded(_, values) => values.data_type(),
        other => other,
    }
}
