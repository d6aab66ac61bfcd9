//! Words for column types, as the `types` option and error messages use them.

use arrow_schema::{DataType, TimeUnit};

use crate::time::Zone;

/// The words, for messages.
pub(crate) const TYPE_WORDS: &str = "text, bool, int64, uint64, float64, decimal(12,2), date, time(us), \
     timestamp(us), timestamp(us, UTC) or, in JSON, json";

/// The word for a column's type, for example `int64`, `decimal(12,2)`, `timestamp(us, UTC)` or `text`.
///
/// Types that no column of text has get Arrow's own name, which [`parse_type_word`] does not know.
#[must_use]
pub fn type_word(data_type: &DataType) -> String {
    match data_type {
        DataType::Boolean => "bool".into(),
        DataType::Int64 => "int64".into(),
        DataType::UInt64 => "uint64".into(),
        DataType::Float64 => "float64".into(),
        DataType::Decimal128(precision, scale) => format!("decimal({precision},{scale})"),
        DataType::Date32 => "date".into(),
        DataType::Time32(unit) | DataType::Time64(unit) => format!("time({})", unit_word(*unit)),
        DataType::Timestamp(unit, None) => format!("timestamp({})", unit_word(*unit)),
        DataType::Timestamp(unit, Some(zone)) => format!("timestamp({}, {zone})", unit_word(*unit)),
        DataType::Utf8 => "text".into(),
        other => other.to_string(),
    }
}

/// The type that [`type_word`] writes as `word`, or that pyarrow prints so, for example `double` or
/// `timestamp[us, tz=UTC]`; `None` if `word` is neither.
///
/// Spaces around the parts of a word do not matter. A zone is `UTC` or an offset such as `+02:00`.
#[must_use]
pub fn parse_type_word(word: &str) -> Option<DataType> {
    let word = word.replace('[', "(").replace(']', ")");
    let Some((name, rest)) = word.split_once('(') else {
        return parse_plain_word(word.trim());
    };
    let arguments = rest.trim_end().strip_suffix(')')?;
    match name.trim() {
        "decimal" | "decimal128" => parse_decimal_arguments(arguments),
        "date32" => (arguments.trim() == "day").then_some(DataType::Date32),
        "time" | "time32" | "time64" => Some(match parse_unit(arguments)? {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => DataType::Time32(unit),
            unit => DataType::Time64(unit),
        }),
        "timestamp" => parse_timestamp_arguments(arguments),
        _ => None,
    }
}

fn parse_plain_word(word: &str) -> Option<DataType> {
    Some(match word {
        "bool" => DataType::Boolean,
        "int64" => DataType::Int64,
        "uint64" => DataType::UInt64,
        "float64" | "double" => DataType::Float64,
        "date" => DataType::Date32,
        "text" | "string" => DataType::Utf8,
        _ => return None,
    })
}

fn parse_timestamp_arguments(arguments: &str) -> Option<DataType> {
    let Some((unit, zone)) = arguments.split_once(',') else {
        return Some(DataType::Timestamp(parse_unit(arguments)?, None));
    };
    let zone = zone.trim();
    let zone = Zone::parse_name(zone.strip_prefix("tz=").unwrap_or(zone))?;
    Some(DataType::Timestamp(
        parse_unit(unit)?,
        Some(zone.name().into()),
    ))
}

fn parse_decimal_arguments(arguments: &str) -> Option<DataType> {
    let (precision, scale) = arguments.split_once(',')?;
    let precision: u8 = precision.trim().parse().ok()?;
    let scale: u8 = scale.trim().parse().ok()?;
    let in_range = (1..=38).contains(&precision) && scale <= precision;
    in_range.then_some(DataType::Decimal128(precision, scale as i8))
}

fn parse_unit(word: &str) -> Option<TimeUnit> {
    Some(match word.trim() {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    })
}

fn unit_word(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_parsed_to_the_type_that_it_was_written_for() {
        for word in [
            "bool",
            "int64",
            "uint64",
            "decimal(38,0)",
            "decimal(12,2)",
            "float64",
            "date",
            "time(s)",
            "time(ms)",
            "time(us)",
            "time(ns)",
            "timestamp(s)",
            "timestamp(ms, UTC)",
            "timestamp(us, +02:00)",
            "timestamp(ns, -11:30)",
            "text",
        ] {
            let data_type = parse_type_word(word).expect(word);
            assert_eq!(type_word(&data_type), word);
        }
    }

    #[test]
    fn spaces_do_not_matter() {
        assert_eq!(
            parse_type_word(" decimal( 12 , 2 ) "),
            Some(DataType::Decimal128(12, 2))
        );
        assert_eq!(
            parse_type_word("timestamp(us, +0200)").map(|data_type| type_word(&data_type)),
            Some("timestamp(us, +02:00)".into())
        );
    }

    #[test]
    fn other_words_are_no_types() {
        for word in [
            "",
            "int32",
            "decimal",
            "decimal(0,0)",
            "decimal(39,0)",
            "decimal(5,6)",
            "decimal(5,-1)",
            "time",
            "time(m)",
            "time(s), UTC",
            "timestamp(us, UTC",
            "timestamp(us, Mars)",
            "text()",
        ] {
            assert_eq!(parse_type_word(word), None, "{word}");
        }
    }
}
