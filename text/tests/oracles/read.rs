//! What this reader makes of a text.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, TimeUnit};
use colonnade_text::csv::{Dialect, LineEnd};
use colonnade_text::json::Options;
use colonnade_text::{Decoder, Format, Inference, TextError, TextErrorKind, type_word};
use serde_json::Value;

use crate::Case;
use crate::answer::Answer;
use crate::digits::{self, number};

/// The types that all values decide, and all rows; or the error with its line. The same must come of the
/// text in pieces.
pub(crate) fn answer(case: &Case) -> Answer {
    let whole = read(case, case.text.len().max(1));
    for piece_bytes in [1, 7] {
        assert_eq!(read(case, piece_bytes), whole, "{}", case.name);
    }
    whole
}

pub(crate) fn format(case: &Case) -> Format {
    if case.is_json {
        Format::Json(Options::detect(&case.text))
    } else {
        Format::Csv(Dialect::detect(&case.text))
    }
}

fn read(case: &Case, piece_bytes: usize) -> Answer {
    let format = format(case);
    let line_end = match &format {
        Format::Csv(dialect) if dialect.line_end == LineEnd::Cr => b'\r',
        _ => b'\n',
    };
    match table(&case.text, &format, piece_bytes) {
        Ok(table) => table,
        Err(error) => {
            let before = &case.text[..error.offset_bytes as usize];
            let line = 1 + before.iter().filter(|&&byte| byte == line_end).count();
            Answer::Error(format!("line {line}: {error}"))
        }
    }
}

fn table(text: &[u8], format: &Format, piece_bytes: usize) -> Result<Answer, TextError> {
    let mut inference = Inference::new(format);
    for piece in text.chunks(piece_bytes) {
        inference.push(piece)?;
    }
    inference.finish()?;
    let empty = TextError {
        kind: TextErrorKind::Empty,
        offset_bytes: 0,
    };
    let schema = Arc::new(inference.into_columns().ok_or(empty)?.schema());
    let projection: Vec<_> = (0..schema.fields().len()).collect();
    let mut decoder = Decoder::new(format, &schema, &projection, 0..u64::MAX, 1_000).unwrap();
    for piece in text.chunks(piece_bytes) {
        decoder.push(piece)?;
    }
    decoder.finish()?;
    let batches = std::iter::from_fn(|| decoder.next_batch());
    let columns = schema.fields().iter();
    Ok(Answer::Table {
        columns: columns
            .map(|field| (field.name().clone(), word(field)))
            .collect(),
        rows: batches.flat_map(|batch| rows(&batch)).collect(),
    })
}

fn rows(batch: &RecordBatch) -> Vec<Vec<Value>> {
    let schema = batch.schema();
    let columns: Vec<_> = schema.fields().iter().zip(batch.columns()).collect();
    let cells = |row| {
        columns
            .iter()
            .map(move |(field, column)| cell(field, column, row))
    };
    (0..batch.num_rows())
        .map(|row| cells(row).collect())
        .collect()
}

fn is_json(field: &Field) -> bool {
    field.metadata().contains_key("ARROW:extension:name")
}

/// The type of a field; `json` for JSON texts.
fn word(field: &Field) -> String {
    match field.data_type() {
        DataType::Utf8 if is_json(field) => "json".into(),
        DataType::List(item) => format!("list({})", word(item)),
        DataType::Struct(fields) => {
            let fields = fields.iter();
            let words = fields.map(|field| format!("{} {}", field.name(), word(field)));
            format!("struct({})", words.collect::<Vec<_>>().join(", "))
        }
        data_type => type_word(data_type),
    }
}

/// A value as JSON; dates, times, `NaN` and `inf` as strings.
fn cell(field: &Field, array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Utf8 if is_json(field) => digits::parse(array.as_string::<i32>().value(row)),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Int64 => number(&array.as_primitive::<Int64Type>().value(row).to_string()),
        DataType::UInt64 => number(&array.as_primitive::<UInt64Type>().value(row).to_string()),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            number(&decimal(value, *scale as usize))
        }
        DataType::List(item) => {
            let items = array.as_list::<i32>().value(row);
            let rows = 0..items.len();
            rows.map(|row| cell(item, &items, row)).collect()
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let fields = fields.iter().zip(columns);
            fields
                .map(|(field, column)| (field.name().clone(), cell(field, column, row)))
                .collect()
        }
        _ => Value::String(time(array, row)),
    }
}

fn float(value: f64) -> Value {
    if value.is_finite() {
        number(&format!("{value:?}"))
    } else {
        value.to_string().into()
    }
}

fn decimal(value: i128, scale: usize) -> String {
    let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
    let (integer, fraction) = digits.split_at(digits.len() - scale);
    let sign = if value < 0 { "-" } else { "" };
    let point = if scale == 0 { "" } else { "." };
    format!("{sign}{integer}{point}{fraction}")
}

/// A date, a time of day or a timestamp, as it is written in its zone.
fn time(array: &dyn Array, row: usize) -> String {
    let (value, unit) = match array.data_type() {
        DataType::Date32 => return date(array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Time32(unit @ TimeUnit::Second) => (
            array.as_primitive::<Time32SecondType>().value(row).into(),
            unit,
        ),
        DataType::Time32(unit) => (
            array
                .as_primitive::<Time32MillisecondType>()
                .value(row)
                .into(),
            unit,
        ),
        DataType::Time64(unit @ TimeUnit::Microsecond) => (
            array.as_primitive::<Time64MicrosecondType>().value(row),
            unit,
        ),
        DataType::Time64(unit) => (
            array.as_primitive::<Time64NanosecondType>().value(row),
            unit,
        ),
        DataType::Timestamp(unit, _) => {
            (array.to_data().buffers()[0].typed_data::<i64>()[row], unit)
        }
        other => panic!("type {other}"),
    };
    let num_digits = match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    let per_second = 10_i64.pow(num_digits as u32);
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    let zone = match array.data_type() {
        DataType::Timestamp(_, zone) => zone.as_deref().map_or("", |zone| zone),
        _ => "",
    };
    let local = seconds + offset_seconds(zone);
    let clock = local.rem_euclid(86_400);
    let (hours, minutes) = (clock / 3600, clock / 60 % 60);
    let mut text = format!("{hours:02}:{minutes:02}:{:02}", clock % 60);
    if num_digits > 0 {
        text += &format!(".{fraction:0num_digits$}");
    }
    match array.data_type() {
        DataType::Timestamp(..) => {
            let zone = if zone == "UTC" { "Z" } else { zone };
            format!("{}T{text}{zone}", date(local.div_euclid(86_400)))
        }
        _ => text,
    }
}

fn offset_seconds(zone: &str) -> i64 {
    let Some((hours, minutes)) = zone.split_once(':') else {
        return 0;
    };
    let (hours, minutes): (i64, i64) = (hours.parse().unwrap(), minutes.parse().unwrap());
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    hours * 3600 + sign * minutes * 60
}

/// Counts years and months from 1 January of the year 1.
fn date(days_since_1970: i64) -> String {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut days = days_since_1970 + 719_162;
    let mut year = 1;
    while days >= 365 + i64::from(is_leap(year)) {
        days -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + i64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", days + 1)
}
