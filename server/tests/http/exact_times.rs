//! Comparisons of dates and times with literals: as text, as a typed literal and as JSON they are exact in the unit of
//! the column, whatever the year.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, Date32Array, Int64Array, RecordBatch, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use serde_json::json;
use tempfile::TempDir;

use crate::support::*;

/// Units of the oracle's times per second: finer than any column's.
const PER_SECOND: i128 = 10_000_000_000;

/// Texts, their seconds since the epoch, and the fraction of that second in the oracle's units. Python's
/// `(date(y, m, d) - date(1970, 1, 1)).days * 86400` gave those of its years; the others are 400 years, or 146,097 days,
/// away from one of them.
const LITERALS: [(&str, i64, i128); 15] = [
    ("-0400-02-29", -74_784_902_400, 0),
    ("0000-01-01", -62_167_219_200, 0),
    ("0001-01-01", -62_135_596_800, 0),
    ("1677-09-21 00:12:43.9", -9_223_372_037, 9_000_000_000),
    ("1969-12-31 23:59:59.5", -1, 5_000_000_000),
    ("1970-01-01", 0, 0),
    ("1970-01-01T00:00:01.5", 1, 5_000_000_000),
    ("1970-01-01 00:00:02", 2, 0),
    ("2024-02-29", 1_709_164_800, 0),
    ("2024-02-29 00:00:00.0000001", 1_709_164_800, 1_000),
    ("2024-02-29 00:00:00.0000000001", 1_709_164_800, 1),
    ("2262-04-11 23:47:17", 9_223_372_037, 0),
    ("9999-12-31 23:59:59.999999", 253_402_300_799, 9_999_990_000),
    ("10000-01-01", 253_402_300_800, 0),
    ("+12024-02-29 01:02:03", 317_278_688_523, 0),
];

/// A column, and its values in the oracle's units.
struct Column {
    name: &'static str,
    array: ArrayRef,
    times: Vec<Option<i128>>,
}

/// Each literal in every unit that holds it, cut to the unit; and null.
fn columns() -> Vec<Column> {
    let column = |name, per_second: i128, make: &dyn Fn(Vec<Option<i64>>) -> ArrayRef| {
        let seconds_per_tick = if per_second == 0 { 86_400 } else { 1 };
        let unit = PER_SECOND * seconds_per_tick / per_second.max(1);
        let ticks = LITERALS.iter().map(|&(_, seconds, fraction)| {
            let time = i128::from(seconds) * PER_SECOND + fraction;
            i64::try_from(time.div_euclid(unit)).ok()
        });
        let ticks: Vec<_> = ticks.chain([None]).collect();
        let times = ticks.iter().map(|ticks| Some(i128::from((*ticks)?) * unit));
        Column {
            name,
            times: times.collect(),
            array: make(ticks),
        }
    };
    vec![
        column("day", 0, &|ticks| {
            let days = ticks.into_iter().map(|days| days?.try_into().ok());
            Arc::new(days.collect::<Date32Array>())
        }),
        column("s", 1, &|ticks| Arc::new(TimestampSecondArray::from(ticks))),
        column("ms", 1_000, &|ticks| {
            Arc::new(TimestampMillisecondArray::from(ticks))
        }),
        column("us", 1_000_000, &|ticks| {
            Arc::new(TimestampMicrosecondArray::from(ticks))
        }),
        column("ns", 1_000_000_000, &|ticks| {
            Arc::new(TimestampNanosecondArray::from(ticks))
        }),
    ]
}

/// The rows of which this order holds.
fn rows_where(column: &Column, time: i128, holds: [bool; 3]) -> Vec<i64> {
    let position = |value: i128| match value.cmp(&time) {
        Ordering::Less => 0,
        Ordering::Equal => 1,
        Ordering::Greater => 2,
    };
    let values = (0..).zip(&column.times);
    let matching = values.filter(|(_, value)| value.is_some_and(|value| holds[position(value)]));
    matching.map(|(row, _)| row).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn times_compare_in_the_unit_of_the_column_however_they_are_asked_for() {
    let columns = columns();
    let num_rows = columns[0].array.len() as i64;
    let mut all = vec![
        (
            "n",
            Arc::new(Int64Array::from_iter_values(0..num_rows)) as ArrayRef,
        ),
        // A number that says which rows a sum has.
        (
            "bit",
            Arc::new((0..num_rows).map(|row| 1 << row).collect::<Int64Array>()),
        ),
    ];
    all.extend(
        columns
            .iter()
            .map(|column| (column.name, Arc::clone(&column.array))),
    );
    let rows = RecordBatch::try_from_iter_with_nullable(
        all.into_iter().map(|(name, array)| (name, array, true)),
    );
    let folder = TempDir::new().unwrap();
    let file = write_parquet(folder.path(), "t.parquet", &rows.unwrap());
    let server = Server::of_files(&[file]).await;
    for column in &columns {
        let name = column.name;
        for (text, seconds, fraction) in LITERALS {
            let time = i128::from(seconds) * PER_SECOND + fraction;
            let data_type = if text.contains(':') {
                "timestamp"
            } else {
                "date"
            };
            let mut sums = Vec::new();
            let mut expected = Vec::new();
            for (sql, json, holds) in OPERATORS {
                let matching = rows_where(column, time, holds);
                let filter = json!({ "op": json, "column": name, "value": text });
                let query = json!({ "table": "t", "columns": ["n"], "filter": filter });
                let answer = server.post(&query).await;
                assert_eq!(answer.numbers(), matching, "{query}");
                let bits: i64 = matching.iter().map(|row| 1 << row).sum();
                for condition in [
                    format!("{name} {sql} '{text}'"),
                    format!("{name} {sql} {data_type} '{text}'"),
                    format!("not ({name} {sql} '{text}') is not true"),
                ] {
                    let index = sums.len();
                    sums.push(format!(
                        "sum(case when {condition} then bit else 0 end) as c{index}"
                    ));
                    expected.push((condition, bits));
                }
            }
            let sql = format!("select {} from t", sums.join(", "));
            let answer = server.sql(&sql).await.rows();
            for (index, (condition, bits)) in expected.into_iter().enumerate() {
                assert_eq!(numbers(&answer, index), [bits], "{condition}");
            }
        }
    }
    let filter = "us in ('9999-12-31 23:59:59.999999', '2024-02-29 00:00:00.0000001') or us between '9999-12-31' and '10000-01-01'";
    let filter: String = filter.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let answer = server
        .get(&format!("/v1/tables/t/rows?columns=n&filter={filter}"))
        .await;
    assert_eq!(answer.numbers(), [12, 13]);
}
