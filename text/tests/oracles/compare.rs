//! Whether two answers have the same names and values.

use colonnade_text::Format;
use serde_json::Value;

use crate::Case;
use crate::answer::Answer;
use crate::digits::{self, as_number};
use crate::read::format;

/// How a difference between two tables shows.
pub(crate) enum Difference {
    Error,
    Names,
    NumRows,
    /// The row and the column of the first cell.
    Cell(usize, usize),
}

pub(crate) fn is_same(case: &Case, ours: &Answer, theirs: &Answer) -> bool {
    difference(case, ours, theirs).is_none()
}

/// The first difference between two answers. Two errors are no difference. Types do not count, but the
/// values do: a number is the same if it has the same digits, and in CSV also as a text of them.
pub(crate) fn difference(case: &Case, ours: &Answer, theirs: &Answer) -> Option<Difference> {
    let (columns, rows, their_columns, their_rows) = match (ours, theirs) {
        (Answer::Error(_), Answer::Error(_)) => return None,
        (
            Answer::Table { columns, rows },
            Answer::Table {
                columns: their_columns,
                rows: their_rows,
            },
        ) => (columns, rows, their_columns, their_rows),
        _ => return Some(Difference::Error),
    };
    let names = |columns: &[(String, String)]| -> Vec<String> {
        columns.iter().map(|(name, _)| name.clone()).collect()
    };
    // Every reader has its own names for columns without one.
    let is_named = !matches!(format(case), Format::Csv(dialect) if !dialect.has_header);
    if columns.len() != their_columns.len() || is_named && names(columns) != names(their_columns) {
        return Some(Difference::Names);
    }
    if rows.len() != their_rows.len() {
        return Some(Difference::NumRows);
    }
    for (row, (cells, their_cells)) in rows.iter().zip(their_rows).enumerate() {
        for (column, (cell, their_cell)) in cells.iter().zip(their_cells).enumerate() {
            let data_type = &columns[column].1;
            let is_same = if case.is_json {
                is_same_json(cell, their_cell)
            } else {
                is_same_shown(cell, their_cell, data_type)
            };
            if !is_same {
                return Some(Difference::Cell(row, column));
            }
        }
    }
    None
}

fn is_same_shown(ours: &Value, theirs: &Value, data_type: &str) -> bool {
    if ours.is_null() || theirs.is_null() {
        return ours == theirs;
    }
    let (ours, theirs) = (shown(ours), shown(theirs));
    let is_time = ["date", "time"]
        .iter()
        .any(|word| data_type.starts_with(word));
    ours == theirs
        || significant_digits(&ours).is_some_and(|found| Some(found) == significant_digits(&theirs))
        || is_time && canonical_time(&ours) == canonical_time(&theirs)
}

/// The text of a value.
pub(crate) fn shown(value: &Value) -> String {
    match as_number(value).or(value.as_str()) {
        Some(text) => text.into(),
        None => digits::write(value),
    }
}

/// Whether two values of JSON are equal; a missing field is null.
fn is_same_json(ours: &Value, theirs: &Value) -> bool {
    if let (Some(ours), Some(theirs)) = (as_number(ours), as_number(theirs)) {
        return significant_digits(ours) == significant_digits(theirs);
    }
    match (ours, theirs) {
        (Value::Array(ours), Value::Array(theirs)) => {
            let mut pairs = ours.iter().zip(theirs);
            ours.len() == theirs.len() && pairs.all(|(ours, theirs)| is_same_json(ours, theirs))
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            let null = Value::Null;
            let mut keys = ours.keys().chain(theirs.keys());
            keys.all(|key| {
                let ours = ours.get(key).unwrap_or(&null);
                is_same_json(ours, theirs.get(key).unwrap_or(&null))
            })
        }
        _ => ours == theirs,
    }
}

/// A number of JSON: its sign, its digits without zeros at their ends, and the exponent of the last one.
fn significant_digits(text: &str) -> Option<(bool, String, i64)> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(integer) || !is_digits(fraction) || integer.len() > 1 && integer.starts_with('0')
    {
        return None;
    }
    let exponent: i64 = exponent.parse().ok()?;
    let digits = format!("{integer}{fraction}");
    let cut = digits.trim_end_matches('0');
    let num_cut = digits.len() - cut.len();
    let exponent = exponent - fraction.len() as i64 + num_cut as i64;
    let cut = cut.trim_start_matches('0');
    let exponent = if cut.is_empty() { 0 } else { exponent };
    Some((unsigned.len() < text.len(), cut.into(), exponent))
}

/// A date, time or timestamp without zeros at the end of its fraction; midnight as a date.
fn canonical_time(text: &str) -> String {
    let text = text.replacen('T', " ", 1);
    let zone_start = text
        .rfind(['Z', '+'])
        .or_else(|| text.rfind('-').filter(|&at| at > 10));
    let (clock, zone) = text.split_at(zone_start.unwrap_or(text.len()));
    let zone = match zone.replace(':', "").as_str() {
        "Z" | "+00" | "+0000" => "Z".into(),
        zone if zone.len() == 3 => format!("{zone}00"),
        zone => zone.to_owned(),
    };
    let mut clock = clock.trim_end().to_owned();
    if clock.contains('.') {
        clock = clock.trim_end_matches('0').trim_end_matches('.').into();
    }
    if clock.matches(':').count() == 1 {
        clock += ":00";
    }
    if zone.is_empty() && clock.len() > 10 {
        clock = clock.trim_end_matches(" 00:00:00").into();
    }
    clock + &zone
}
