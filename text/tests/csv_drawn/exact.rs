//! Compares values that were read with those drawn, without the reader's code.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_schema::{DataType, TimeUnit};

/// Whether an array has in `row` exactly what `text` says. Computes with digits, not with the reader.
pub(crate) fn is_exact(array: &dyn Array, row: usize, text: &str) -> bool {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row) == text,
        DataType::Boolean => text.eq_ignore_ascii_case(&array.as_boolean().value(row).to_string()),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string() == text,
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).to_string() == text,
        DataType::Float64 => is_exact_float(array.as_primitive::<Float64Type>().value(row), text),
        DataType::Decimal128(precision, scale) => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            let magnitude = value.unsigned_abs();
            assert!(magnitude < 10_u128.pow(u32::from(*precision)));
            let shown = (magnitude.to_string(), -i32::from(*scale));
            (value < 0) == text.starts_with('-') && canonical(&shown.0, shown.1) == parsed(text)
        }
        data_type => show_time(array, row, data_type) == expected_time(text, data_type),
    }
}

/// The nearest double as Rust's own parser finds it, and at most 17 digits.
fn is_exact_float(value: f64, text: &str) -> bool {
    if text == "NaN" {
        return value.is_nan();
    }
    let nearest: f64 = text.parse().unwrap();
    let words = ["inf", "-inf", "Infinity", "-Infinity"];
    nearest.to_bits() == value.to_bits()
        && (words.contains(&text) || (value.is_finite() && parsed(text).0.len() <= 17))
        && (text.contains(|c: char| !c.is_ascii_digit() && c != '-')
            || text == format!("{nearest:.0}"))
}

/// A decimal number as digits without zeros at their ends, and the exponent of the last digit.
fn canonical(digits: &str, exponent: i32) -> (String, i32) {
    let digits = digits.trim_start_matches('0');
    let cut = digits.trim_end_matches('0');
    if cut.is_empty() {
        return (String::new(), 0);
    }
    (cut.into(), exponent + (digits.len() - cut.len()) as i32)
}

fn parsed(text: &str) -> (String, i32) {
    let text = text.trim_start_matches('-');
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (integer, fraction) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().unwrap();
    canonical(
        &format!("{integer}{fraction}"),
        exponent - fraction.len() as i32,
    )
}

/// A point in time: nanoseconds, and the zone.
type Time = (i128, Option<String>);

fn unit_nanoseconds(unit: &TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    }
}

fn show_time(array: &dyn Array, row: usize, data_type: &DataType) -> Time {
    let value = match data_type {
        DataType::Date32 => {
            i128::from(array.as_primitive::<Date32Type>().value(row)) * 86_400_000_000_000
        }
        DataType::Time32(unit) => {
            let value = match unit {
                TimeUnit::Second => array.as_primitive::<Time32SecondType>().value(row),
                _ => array.as_primitive::<Time32MillisecondType>().value(row),
            };
            i128::from(value) * unit_nanoseconds(unit)
        }
        DataType::Time64(unit) => {
            let value = match unit {
                TimeUnit::Nanosecond => array.as_primitive::<Time64NanosecondType>().value(row),
                _ => array.as_primitive::<Time64MicrosecondType>().value(row),
            };
            i128::from(value) * unit_nanoseconds(unit)
        }
        DataType::Timestamp(unit, _) => {
            let value = match unit {
                TimeUnit::Second => array.as_primitive::<TimestampSecondType>().value(row),
                TimeUnit::Millisecond => {
                    array.as_primitive::<TimestampMillisecondType>().value(row)
                }
                TimeUnit::Microsecond => {
                    array.as_primitive::<TimestampMicrosecondType>().value(row)
                }
                TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row),
            };
            i128::from(value) * unit_nanoseconds(unit)
        }
        other => panic!("type {other}"),
    };
    let zone = match data_type {
        DataType::Timestamp(_, zone) => zone.as_ref().map(ToString::to_string),
        _ => None,
    };
    (value, zone)
}

fn expected_time(text: &str, data_type: &DataType) -> Time {
    let (date, time) = match data_type {
        DataType::Time32(_) | DataType::Time64(_) => ("1970-01-01", text),
        _ => (&text[..10], text.get(11..).unwrap_or("00:00")),
    };
    assert!(*data_type != DataType::Date32 || text.len() == 10);
    let (time, zone, offset) = match time.split_once(['Z', '+']) {
        None => (time, None, 0),
        Some((time, "")) => (time, Some("UTC"), 0),
        Some((time, zone)) => {
            assert_eq!(zone[..2], *"02");
            (time, Some("+02:00"), 7200)
        }
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let clock = time.split(':').map(|part| part.parse::<i128>().unwrap());
    let scales = [3600, 60, 1];
    let seconds: i128 = clock.zip(scales).map(|(part, scale)| part * scale).sum();
    let nanoseconds: i128 = format!("{fraction:0<9}").parse().unwrap();
    let seconds = days_since_1970(date) * 86_400 + seconds - offset;
    (seconds * 1_000_000_000 + nanoseconds, zone.map(Into::into))
}

/// Adds up the lengths of years and months.
fn days_since_1970(date: &str) -> i128 {
    let parts: Vec<i128> = date.split('-').map(|part| part.parse().unwrap()).collect();
    let is_leap = |year: i128| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let years: i128 = (1..parts[0])
        .map(|year| 365 + i128::from(is_leap(year)))
        .sum();
    let lengths = [
        31,
        28 + i128::from(is_leap(parts[0])),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let months: i128 = lengths[..parts[1] as usize - 1].iter().sum();
    years + months + parts[2] - 1 - 719_162
}
