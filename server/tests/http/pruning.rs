//! Row groups that a filter excludes by their statistics hold no row for which it is true.

use std::fs;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use datafusion::parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use datafusion::parquet::file::statistics::Statistics;
use serde_json::json;
use tempfile::TempDir;

use crate::support::*;

/// Rows of a row group.
const GROUP_ROWS: usize = 2;

fn rows() -> RecordBatch {
    let nan = f64::NAN;
    let doubles = [
        1.0, nan, 3.0, nan, -1.0, -2.0, nan, nan, 0.0, 7.5, -nan, 2.0,
    ];
    let singles = doubles.map(|value| value as f32);
    let n = Int64Array::from_iter_values(0..doubles.len() as i64);
    let i = n
        .iter()
        .map(|n| n.filter(|n| n % 4 != 1).map(|n| n / 2))
        .collect::<Int64Array>();
    let texts = n
        .iter()
        .map(|n| n.filter(|n| n % 3 > 0).map(|n| format!("t{n}")));
    let texts = texts.collect::<StringArray>();
    RecordBatch::try_from_iter_with_nullable([
        ("n", Arc::new(n) as ArrayRef, false),
        (
            "f",
            Arc::new(Float64Array::from(doubles.to_vec())) as ArrayRef,
            true,
        ),
        (
            "g",
            Arc::new(Float32Array::from(singles.to_vec())) as ArrayRef,
            true,
        ),
        ("i", Arc::new(i) as ArrayRef, true),
        ("t", Arc::new(texts) as ArrayRef, true),
    ])
    .unwrap()
}

fn written(rows: &RecordBatch, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let properties = Some(properties.build());
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), properties).unwrap();
    writer.write(rows).unwrap();
    writer.into_inner().unwrap()
}

fn parquet(rows: &RecordBatch) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_bloom_filter_enabled(true);
    written(rows, properties)
}

/// One row group, of pages of `GROUP_ROWS` rows. Bounds have two bytes.
fn of_pages(rows: &RecordBatch) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(GROUP_ROWS)
        .set_write_batch_size(GROUP_ROWS)
        .set_statistics_truncate_length(Some(2))
        .set_column_index_truncate_length(Some(2));
    written(rows, properties)
}

/// The same file, whose page index does not say how many nulls the pages of a column have: their `counts` stand where no
/// reader looks.
fn without_page_null_counts(file: &[u8], counts: &[u8]) -> Vec<u8> {
    let (after_min_max, unknown_field, list_of_longs) = (0x19, 0xF9, 0x06);
    let mut field = vec![after_min_max, (counts.len() as u8) << 4 | list_of_longs];
    field.extend(counts.iter().map(|count| count * 2));
    let mut places = file.windows(field.len()).enumerate();
    let (at, _) = places.rfind(|(_, bytes)| *bytes == field).unwrap();
    let mut file = file.to_vec();
    file[at] = unknown_field;
    file
}

/// The same file with other statistics, and without a page index.
fn with_statistics(file: &[u8], change: impl Fn(&Statistics) -> Statistics) -> Vec<u8> {
    let data = bytes::Bytes::copy_from_slice(file);
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&data)
        .unwrap();
    let mut builder = metadata.into_builder();
    let groups = builder.take_row_groups().into_iter().map(|group| {
        let columns = group.columns().iter().map(|column| {
            let statistics = change(column.statistics().unwrap());
            let column = column.clone().into_builder().set_statistics(statistics);
            column
                .set_column_index_offset(None)
                .set_column_index_length(None)
                .set_offset_index_offset(None)
                .set_offset_index_length(None)
                .build()
                .unwrap()
        });
        let columns = columns.collect();
        group
            .into_builder()
            .set_column_metadata(columns)
            .build()
            .unwrap()
    });
    let groups = groups.collect();
    let metadata = builder.set_row_groups(groups).build();
    let footer_bytes = u32::from_le_bytes(file[file.len() - 8..][..4].try_into().unwrap());
    let mut out = file[..file.len() - 8 - footer_bytes as usize].to_vec();
    ParquetMetaDataWriter::new(&mut out, &metadata)
        .finish()
        .unwrap();
    out
}

/// Statistics that do not say how many nulls there are.
fn without_null_counts(statistics: &Statistics) -> Statistics {
    match statistics {
        Statistics::Int64(known) => Statistics::int64(
            known.min_opt().copied(),
            known.max_opt().copied(),
            None,
            None,
            false,
        ),
        Statistics::ByteArray(known) => Statistics::byte_array(
            known.min_opt().cloned(),
            known.max_opt().cloned(),
            None,
            None,
            false,
        ),
        other => other.clone(),
    }
}

/// Statistics as early writers wrote them, in the order of signed bytes, for a least and a greatest value.
fn of_early_writer(statistics: &Statistics) -> Statistics {
    let Statistics::ByteArray(known) = statistics else {
        return statistics.clone();
    };
    let (min, max) = (known.min_opt().cloned(), known.max_opt().cloned());
    let is_negative = max.as_ref().is_some_and(|max| max.data()[0] > 0x7F);
    let (min, max) = if is_negative { (max, min) } else { (min, max) };
    Statistics::byte_array(min, max, None, known.null_count_opt(), true)
}

const CONDITIONS: [&str; 30] = [
    "f > 2",
    "f >= 3.0",
    "f <> 3",
    "not (f < 10)",
    "f < 1.5",
    "f = 'NaN'::double",
    "f = 3",
    "f in (3, 7.5)",
    "f > 2 and n > 1",
    "f between 2 and 100",
    "isnan(f)",
    "g > 2",
    "g <> 3",
    "f = 0",
    "i is null",
    "i is null or n > 10",
    "i is not null",
    "(i > 3) is unknown",
    "(i > 3) is not true",
    "nullif(i, 3) is null",
    "not (i is not null)",
    "(i is null) = true",
    "i is not distinct from null",
    "case when i is null then 1 else 0 end = 1",
    "i = 3 or not (i > 0 or i <= 0 or i is not null)",
    "i is distinct from 3",
    "not (i = 3)",
    "t is null",
    "t = 't4'",
    "coalesce(i, 100) > 50",
];

#[tokio::test(flavor = "multi_thread")]
async fn filters_find_the_same_rows_with_and_without_statistics() {
    let folder = TempDir::new().unwrap();
    let rows = rows();
    let of = |name: &str| path(folder.path(), name);
    let plain = write_arrow(folder.path(), "plain.arrow", &rows);
    let pruned = parquet(&rows);
    let uncounted = with_statistics(&pruned, without_null_counts);
    fs::write(of("uncounted.parquet"), uncounted).unwrap();
    fs::write(of("pruned.parquet"), pruned).unwrap();
    let paged = of_pages(&rows);
    let pages_uncounted = without_page_null_counts(&paged, &[1, 0, 1, 0, 1, 0]);
    fs::write(of("pages_uncounted.parquet"), pages_uncounted).unwrap();
    fs::write(of("paged.parquet"), paged).unwrap();
    let parquet = ["pruned", "uncounted", "paged", "pages_uncounted"];
    let files = parquet.map(|name| of(&format!("{name}.parquet")));
    let files = [&[plain][..], &files].concat();
    let server = Server::of_files(&files).await;
    for condition in CONDITIONS {
        let ask = async |table: &str| {
            let sql = format!("select n from {table} where {condition} order by n");
            server.sql(&sql).await.numbers()
        };
        let expected = ask("plain").await;
        for table in parquet {
            assert_eq!(ask(table).await, expected, "{condition} of {table}");
        }
    }
    for (filter, expected) in [
        (
            json!({"op": "gt", "column": "f", "value": 2}),
            vec![1, 2, 3, 6, 7, 9, 10],
        ),
        (
            json!({"op": "ne", "column": "g", "value": 3}),
            vec![0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11],
        ),
        (json!({"op": "is_null", "column": "i"}), vec![1, 5, 9]),
        (json!({"op": "is_null", "column": "t"}), vec![0, 3, 6, 9]),
    ] {
        for table in parquet {
            let query = json!({ "table": table, "columns": ["n"], "filter": filter });
            assert_eq!(
                server.post(&query).await.numbers(),
                expected,
                "{filter} of {table}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_still_exclude_row_groups() {
    let folder = TempDir::new().unwrap();
    let file = path(folder.path(), "t.parquet");
    fs::write(&file, parquet(&rows())).unwrap();
    let server = Server::of_files(&[file]).await;
    for (condition, is_pruned) in [("n > 9", true), ("i is null", true), ("f > 2", false)] {
        let sql = format!("explain analyze select n from t where {condition}");
        let plan = server.sql(&sql).await.rows();
        let text = format!("{:?}", plan.columns());
        let has_predicate = text.contains("pruning_predicate");
        assert_eq!(has_predicate, is_pruned, "{condition}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_of_early_writers_excludes_no_text() {
    let texts = StringArray::from(vec!["a", "ä", "b", "z"]);
    let rows = RecordBatch::try_from_iter([
        (
            "n",
            Arc::new(Int64Array::from_iter_values(0..4)) as ArrayRef,
        ),
        ("t", Arc::new(texts)),
    ])
    .unwrap();
    let folder = TempDir::new().unwrap();
    let file = path(folder.path(), "t.parquet");
    let early = with_statistics(&parquet(&rows), of_early_writer);
    fs::write(&file, early).unwrap();
    let server = Server::of_files(&[file]).await;
    for (condition, expected) in [
        ("t > 'zz'", vec![1]),
        ("t < 'b'", vec![0]),
        ("t between 'a' and 'c'", vec![0, 2]),
        ("t >= 'ä'", vec![1]),
        ("n > 2", vec![3]),
    ] {
        let sql = format!("select n from t where {condition} order by n");
        assert_eq!(server.sql(&sql).await.numbers(), expected, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bounds_that_are_cut_exclude_no_row() {
    let last = char::MAX.to_string();
    let texts = ["aaa1", "aaa2", "aä€", "aé", &last.repeat(3), "zz", "a", ""];
    let bytes = texts.map(|text| [&[0xFF, 0xFF], text.as_bytes()].concat());
    let bytes = BinaryArray::from_iter_values(bytes);
    let n = Int64Array::from_iter_values(0..texts.len() as i64);
    let texts = StringArray::from(texts.to_vec());
    let rows = RecordBatch::try_from_iter([
        ("n", Arc::new(n) as ArrayRef),
        ("t", Arc::new(texts)),
        ("b", Arc::new(bytes)),
    ])
    .unwrap();
    let folder = TempDir::new().unwrap();
    let of = |name: &str| path(folder.path(), name);
    let plain = write_arrow(folder.path(), "plain.arrow", &rows);
    fs::write(of("paged.parquet"), of_pages(&rows)).unwrap();
    let groups = WriterProperties::builder()
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_statistics_truncate_length(Some(2));
    fs::write(of("groups.parquet"), written(&rows, groups)).unwrap();
    let server = Server::of_files(&[plain, of("paged.parquet"), of("groups.parquet")]).await;
    for bound in ["", "a", "aa", "aaa1", "aä", "aä€", "z", &last] {
        let mut conditions = vec![
            format!("t like '{bound}%'"),
            format!("starts_with(t, '{bound}')"),
        ];
        let hex = bound.bytes().map(|byte| format!("{byte:02X}"));
        let hex = hex.collect::<String>();
        for op in ["=", "<>", "<", "<=", ">", ">="] {
            conditions.push(format!("t {op} '{bound}'"));
            conditions.push(format!("b {op} x'FFFF{hex}'"));
        }
        for condition in conditions {
            let ask = async |table: &str| {
                let sql = format!("select n from {table} where {condition} order by n");
                server.sql(&sql).await.numbers()
            };
            let expected = ask("plain").await;
            assert_eq!(ask("paged").await, expected, "{condition}");
            assert_eq!(ask("groups").await, expected, "{condition}");
        }
    }
}
