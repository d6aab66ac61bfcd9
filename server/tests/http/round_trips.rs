//! Exports that this server reads again: drawn tables have the same values. `COLONNADE_CASES` says how many are
//! drawn, `COLONNADE_SEED` repeats a seed.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    ListArray, RecordBatch, StringArray, StructArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt64Array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::ipc::writer::FileWriter;
use serde_json::json;
use tempfile::TempDir;

use crate::support::*;

const DEFAULT_CASES: u64 = 20;

/// Texts that other readers change: they look like other types, or need quotes.
const TEXTS: [&str; 22] = [
    "",
    " ",
    "a",
    "007",
    "12",
    "1e5",
    "-0",
    "0x1f",
    "true",
    "null",
    "NULL",
    "NA",
    "NaN",
    "\\N",
    "2024-01-31",
    "a,b",
    "\"",
    "'",
    "x\ny",
    "\r\n",
    "# no comment",
    "é😀\u{feff}",
];

/// 1 January of the years 1 and 9999, in seconds.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_370_764_800;
const DAY_SECONDS: i64 = 86_400;

/// The types of the columns that text does not decide, as options of text files.
const TYPES: [(&str, &str); 13] = [
    ("flag", "bool"),
    ("i", "int64"),
    ("u", "uint64"),
    ("f", "float64"),
    ("d", "decimal(38,4)"),
    ("text", "text"),
    ("date", "date"),
    ("time", "time(us)"),
    ("s", "timestamp(s)"),
    ("ms", "timestamp(ms)"),
    ("us", "timestamp(us)"),
    ("ns", "timestamp(ns)"),
    ("utc", "timestamp(us, UTC)"),
];

/// A column in which about every fifth value is null; the first is not.
fn drawn<T>(
    random: &mut Random,
    num_rows: usize,
    value: impl Fn(&mut Random) -> T,
) -> Vec<Option<T>> {
    (0..num_rows)
        .map(|row| (row == 0 || random.below(5) > 0).then(|| value(random)))
        .collect()
}

/// A number of `[start, end)`, which is often near one of its ends.
fn between(random: &mut Random, start: i64, end: i64) -> i64 {
    let length = end.wrapping_sub(start) as u64;
    let step = match random.below(3) {
        0 => random.below(3).min(length - 1),
        1 => length - 1 - random.below(3).min(length - 1),
        _ => random.below(length),
    };
    start.wrapping_add(step as i64)
}

fn table(random: &mut Random) -> RecordBatch {
    let n = 1 + random.below(40) as usize;
    let second = |random: &mut Random| between(random, FIRST_SECOND, LAST_SECOND);
    let micros =
        |random: &mut Random| between(random, FIRST_SECOND * 1_000_000, LAST_SECOND * 1_000_000);
    let float = |random: &mut Random| match random.below(4) {
        0 => random.below(2000) as f64 / 8.0 - 100.0,
        1 => [f64::MAX, f64::MIN_POSITIVE, 5e-324, 0.1, -1e300][random.below(5) as usize],
        2 => random.below(u64::MAX) as f64 * 10f64.powi(random.below(4) as i32),
        _ => Some(f64::from_bits(random.below(u64::MAX)))
            .filter(|value| value.is_finite())
            .unwrap_or(1.0),
    };
    let decimal = |random: &mut Random| {
        let limit = 10i128.pow(1 + random.below(37) as u32);
        (i128::from(random.below(u64::MAX)) * 1_000_003 * 1_000_033) % limit - limit / 2
    };
    let text = |random: &mut Random| TEXTS[random.below(TEXTS.len() as u64) as usize];
    let decimals = Decimal128Array::from(drawn(random, n, decimal));
    let utc = TimestampMicrosecondArray::from(drawn(random, n, micros));
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "flag",
            Arc::new(BooleanArray::from(drawn(random, n, |random| {
                random.below(2) == 0
            }))),
        ),
        (
            "i",
            Arc::new(Int64Array::from(drawn(random, n, |random| {
                between(random, i64::MIN, i64::MAX)
            }))),
        ),
        (
            "u",
            Arc::new(UInt64Array::from(drawn(random, n, |random| {
                let num_bits = random.below(64);
                u64::MAX - random.below(1 << num_bits)
            }))),
        ),
        ("f", Arc::new(Float64Array::from(drawn(random, n, float)))),
        (
            "d",
            Arc::new(decimals.with_precision_and_scale(38, 4).unwrap()),
        ),
        ("text", Arc::new(StringArray::from(drawn(random, n, text)))),
        (
            "date",
            Arc::new(Date32Array::from(drawn(random, n, |random| {
                between(
                    random,
                    FIRST_SECOND / DAY_SECONDS,
                    LAST_SECOND / DAY_SECONDS,
                ) as i32
            }))),
        ),
        (
            "time",
            Arc::new(Time64MicrosecondArray::from(drawn(random, n, |random| {
                between(random, 0, DAY_SECONDS * 1_000_000)
            }))),
        ),
        (
            "s",
            Arc::new(TimestampSecondArray::from(drawn(random, n, second))),
        ),
        (
            "ms",
            Arc::new(TimestampMillisecondArray::from(drawn(
                random,
                n,
                |random| between(random, FIRST_SECOND * 1000, LAST_SECOND * 1000),
            ))),
        ),
        (
            "us",
            Arc::new(TimestampMicrosecondArray::from(drawn(random, n, micros))),
        ),
        (
            "ns",
            Arc::new(TimestampNanosecondArray::from(drawn(random, n, |random| {
                between(random, i64::MIN, i64::MAX)
            }))),
        ),
        ("utc", Arc::new(utc.with_timezone("UTC"))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Columns that texts cannot hold without a description.
fn nested(random: &mut Random, num_rows: usize) -> Vec<(&'static str, ArrayRef)> {
    let bytes = drawn(random, num_rows, |random| {
        random.below(u64::MAX).to_le_bytes()
    });
    let bytes = bytes
        .iter()
        .map(|value| value.as_ref().map(<[u8; 8]>::as_slice));
    let texts: ArrayRef = Arc::new(StringArray::from(drawn(random, num_rows, |random| {
        TEXTS[random.below(TEXTS.len() as u64) as usize]
    })));
    let lens: Vec<usize> = (0..num_rows).map(|_| random.below(3) as usize).collect();
    let items: Vec<Option<i64>> = drawn(random, lens.iter().sum(), |random| {
        between(random, i64::MIN, i64::MAX)
    });
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let offsets = OffsetBuffer::from_lengths(lens);
    let list = ListArray::new(item, offsets, Arc::new(Int64Array::from(items)), None);
    let field = Arc::new(Field::new("t", DataType::Utf8, true));
    vec![
        ("bytes", Arc::new(BinaryArray::from_iter(bytes))),
        ("list", Arc::new(list)),
        ("struct", Arc::new(StructArray::from(vec![(field, texts)]))),
    ]
}

async fn rows_of(path: &Path) -> RecordBatch {
    let server = Server::of_files(&[path.display().to_string()]).await;
    server.get("/v1/tables/t/rows").await.rows()
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_are_read_again_with_the_same_values() {
    let seed = setting("COLONNADE_SEED").unwrap_or_else(|| u64::from(std::process::id()) + 1);
    println!("COLONNADE_SEED={seed}");
    let mut random = Random(seed);
    for case in 1..=setting("COLONNADE_CASES").unwrap_or(DEFAULT_CASES) {
        let context = format!("COLONNADE_SEED={seed}, case {case}");
        let flat = table(&mut random);
        let with_nested = nested(&mut random, flat.num_rows());
        let columns = flat
            .schema()
            .fields()
            .iter()
            .zip(flat.columns())
            .map(|(field, column)| (field.name().clone(), Arc::clone(column)))
            .chain(
                with_nested
                    .into_iter()
                    .map(|(name, column)| (name.to_owned(), column)),
            )
            .collect::<Vec<_>>();
        let whole = RecordBatch::try_from_iter(columns).unwrap();
        let folder = TempDir::new().unwrap();
        let times = ["date", "time", "s", "ms", "us", "ns", "utc"];
        // The columns whose types the file does not say: texts of CSV may look like numbers, and times of
        // NDJSON are texts.
        for (format, source, untyped) in [
            ("parquet", &whole, [].as_slice()),
            ("arrow", &whole, &[]),
            ("csv", &flat, &["text"]),
            ("ndjson", &flat, &times),
        ] {
            let exported = export(source, format).await;
            let file = folder.path().join(format!("t.{format}"));
            fs::write(&file, exported).unwrap();
            let found = rows_of(&file).await;
            assert_equal(source, &found, untyped, &format!("{context}, {format}"));
            if !untyped.is_empty() {
                let types: serde_json::Map<_, _> = TYPES
                    .iter()
                    .map(|(name, word)| ((*name).to_owned(), json!(word)))
                    .collect();
                let beside = folder.path().join(format!("t.{format}.schema.json"));
                fs::write(beside, json!({ "types": types }).to_string()).unwrap();
                let found = rows_of(&file).await;
                assert_eq!(found.schema().fields().len(), TYPES.len());
                assert_equal(
                    source,
                    &found,
                    &[],
                    &format!("{context}, {format} with types"),
                );
            }
        }
    }
}

/// The file that a server of `rows` exports.
async fn export(rows: &RecordBatch, format: &str) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.arrow");
    let file = fs::File::create(&path).unwrap();
    let mut writer = FileWriter::try_new(file, rows.schema_ref()).unwrap();
    writer.write(rows).unwrap();
    writer.finish().unwrap();
    let server = Server::of_files(&[path.display().to_string()]).await;
    let opened = server.post(&json!({ "sql": "select * from t" })).await;
    let id = opened.header("x-query-id").to_owned();
    let exported = server
        .get(&format!("/v1/query/{id}/export?format={format}"))
        .await;
    assert_eq!(
        exported.status,
        200,
        "{}",
        String::from_utf8_lossy(&exported.body)
    );
    exported.body.to_vec()
}

fn assert_equal(wanted: &RecordBatch, found: &RecordBatch, skipped: &[&str], context: &str) {
    assert_eq!(wanted.num_rows(), found.num_rows(), "{context}");
    for (field, column) in wanted.schema().fields().iter().zip(wanted.columns()) {
        if skipped.contains(&field.name().as_str()) {
            continue;
        }
        let found = found.column_by_name(field.name()).unwrap();
        let found = cast(found, field.data_type()).unwrap();
        assert_eq!(&found, column, "{context}, column {}", field.name());
    }
}
