//! Row k of the stream is row k of the result.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use colonnade_server::AppConfig;
use datafusion::arrow::array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use serde_json::json;
use tempfile::TempDir;

use crate::support::*;

/// Files of rows 0.. in order, with small row groups.
fn parquet_files(num_files: i64, rows_per_file: i64) -> TempDir {
    let folder = TempDir::new().unwrap();
    for file in 0..num_files {
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(10_000))
            .build();
        let handle = File::create(folder.path().join(format!("part-{file:02}.parquet"))).unwrap();
        let mut writer = ArrowWriter::try_new(handle, schema(), Some(properties)).unwrap();
        writer
            .write(&batch(file * rows_per_file, rows_per_file))
            .unwrap();
        writer.close().unwrap();
    }
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_row_groups_stay_in_order() {
    let folder = parquet_files(3, 400_000);
    let server = Server::of_files(&[format!("t={}/*.parquet", folder.path().display())]).await;
    for query in ["", "?batch_bytes=16384", "?batch_bytes=16777216"] {
        let outcome = server.get(&format!("/v1/tables/t/rows{query}")).await;
        assert_eq!(
            outcome.header("content-type"),
            "application/vnd.apache.arrow.stream"
        );
        assert_eq!(outcome.header("cache-control"), "no-store, no-transform");
        assert_eq!(outcome.header("x-accel-buffering"), "no");
        assert_eq!(outcome.header("accept-ranges"), "none");
        assert_eq!(outcome.header("x-result-order"), "partition");
        assert_eq!(outcome.header("content-length"), "");
        assert!(outcome.has_numbers(0..1_200_000), "{query}");
    }
    let filtered = server.sql("select n from t where n % 7 = 3").await;
    assert!(
        filtered
            .numbers()
            .into_iter()
            .eq((0..1_200_000).filter(|n| n % 7 == 3))
    );
    let both = server
        .sql("select n from t union all select -n from t")
        .await;
    assert!(
        both.numbers()
            .into_iter()
            .eq((0..1_200_000).chain((0..1_200_000).map(|n| -n)))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn limit_and_offset_take_the_first_rows() {
    let folder = parquet_files(3, 100_000);
    let server = Server::of_files(&[format!("t={}/*.parquet", folder.path().display())]).await;
    let ranges = [
        (0, 10),
        (0, 1024),
        (5, 1500),
        (99_999, 2),
        (150_000, 60_000),
        (299_999, 50),
        (300_000, 1),
        (7, 0),
    ];
    for (offset, limit) in ranges {
        let expected = offset..(offset + limit).min(300_000).max(offset);
        let rows = server
            .get(&format!(
                "/v1/tables/t/rows?columns=n&offset={offset}&limit={limit}"
            ))
            .await;
        assert!(
            rows.numbers().into_iter().eq(expected.clone()),
            "{offset} {limit}"
        );
        let sql = server
            .sql(&format!("select n from t limit {limit} offset {offset}"))
            .await;
        assert!(sql.has_numbers(expected), "{offset} {limit}");
    }
    let nested = server
        .post(&json!({"sql": "select n from t limit 100 offset 10", "offset": 5, "limit": 3}))
        .await;
    assert_eq!(nested.numbers(), [15, 16, 17]);
    let end = server
        .post(&json!({"sql": "select n from t limit 100", "offset": 98, "limit": 30}))
        .await;
    assert_eq!(end.numbers(), [98, 99]);
}

#[tokio::test(flavor = "multi_thread")]
async fn delays_do_not_change_the_order() {
    for seed in 1..=8 {
        println!("seed {seed}");
        let mut random = Random(seed * 0x9E37_79B9_7F4A_7C15);
        let mut next = 0;
        let scripts = (0..12)
            .map(|_| {
                let mut steps = Vec::new();
                for _ in 0..random.below(8) {
                    steps.push(Step::Delay(Duration::from_millis(random.below(6))));
                    let num_rows = random.below(5000) as i64;
                    steps.push(Step::Rows {
                        start: next,
                        num_rows,
                    });
                    next += num_rows;
                }
                steps
            })
            .collect();
        let config = AppConfig {
            stream_memory_bytes: [1, 100_000, 64 << 20][random.below(3) as usize],
            ..config()
        };
        let (server, _) = Server::start_scripts(&config, scripts).await;
        let outcome = server.get("/v1/tables/t/rows?batch_bytes=16384").await;
        assert!(outcome.has_numbers(0..next), "seed {seed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_smaller_than_a_batch_does_not_block() {
    let part = |part: i64| {
        let starts = (part * 5..part * 5 + 5).map(|k| k * 20_000);
        starts.map(|start| Step::rows(start, 20_000)).collect()
    };
    let scripts = (0..6).map(part).collect();
    let config = AppConfig {
        stream_memory_bytes: 1,
        ..config()
    };
    let (server, _) = Server::start_scripts(&config, scripts).await;
    assert!(
        server
            .get("/v1/tables/t/rows")
            .await
            .has_numbers(0..600_000)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_stops_the_work() {
    let (server, counts) = Server::of_scripts(vec![vec![Step::Forever]; 4]).await;
    let outcome = server.get("/v1/tables/t/rows?limit=2500").await;
    assert!(outcome.has_numbers(0..2500));
    counts.until_idle().await;
    let outcome = server.sql("select n from t limit 200000").await;
    assert!(outcome.has_numbers(0..200_000));
    counts.until_idle().await;
}

/// Reports the first difference instead of both lists.
fn assert_same(got: &[i64], expected: &[i64]) {
    let difference = got.iter().zip(expected).position(|(a, b)| a != b);
    assert_eq!((difference, got.len()), (None, expected.len()));
}

fn with_ties() -> (TempDir, Vec<f64>) {
    let mut random = Random(42);
    let specials = [
        f64::NAN,
        -f64::NAN,
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1.5,
        -1.5,
    ];
    let values: Vec<f64> = (0..60_000)
        .map(|_| specials[random.below(8) as usize])
        .collect();
    let folder = TempDir::new().unwrap();
    for file in 0..3 {
        let rows = file * 20_000..(file + 1) * 20_000;
        let floats: Float64Array = rows
            .clone()
            .map(|k| (k % 11 != 0).then_some(values[k]))
            .collect();
        let batch = RecordBatch::try_from_iter([
            (
                "n",
                Arc::new(Int64Array::from_iter_values(rows.map(|k| k as i64))) as ArrayRef,
            ),
            ("v", Arc::new(floats) as ArrayRef),
        ])
        .unwrap();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(5000))
            .build();
        let handle = File::create(folder.path().join(format!("{file}.parquet"))).unwrap();
        let mut writer = ArrowWriter::try_new(handle, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
    (folder, values)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sort_is_total() {
    let (folder, values) = with_ties();
    let server = Server::of_files(&[format!("t={}/*.parquet", folder.path().display())]).await;
    for descending in [false, true] {
        // The slow, obvious version: a stable sort in which −0 equals 0, and NaN after all numbers and then
        // nulls are last in both directions.
        let key = |n: &i64| {
            let value = values[*n as usize];
            if value.is_nan() {
                if descending {
                    f64::NEG_INFINITY
                } else {
                    f64::INFINITY
                }
            } else if value == 0.0 {
                0.0
            } else {
                value.clamp(-1e300, 1e300)
            }
        };
        let (mut expected, nulls): (Vec<i64>, Vec<i64>) = (0..60_000).partition(|n| n % 11 != 0);
        expected.sort_by(|a, b| {
            let order = key(a).total_cmp(&key(b));
            if descending { order.reverse() } else { order }
        });
        expected.extend(nulls);
        let (minus, word) = if descending {
            ("-", "desc")
        } else {
            ("", "asc")
        };
        let rows = server
            .get(&format!("/v1/tables/t/rows?sort={minus}v&columns=n"))
            .await;
        assert_eq!(rows.header("x-result-order"), "total");
        assert_same(&rows.numbers(), &expected);
        let top = server
            .get(&format!(
                "/v1/tables/t/rows?sort={minus}v&columns=n&offset=9990&limit=20"
            ))
            .await;
        assert_same(&top.numbers(), &expected[9990..10_010]);
        let sql = server
            .sql(&format!("select n from t order by v {word}"))
            .await;
        assert_eq!(sql.header("x-result-order"), "total");
        assert_same(&sql.numbers(), &expected);
        let sql = server
            .sql(&format!("select n from t order by v {word} limit 500"))
            .await;
        assert_same(&sql.numbers(), &expected[..500]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_says_what_it_is() {
    let (folder, _) = with_ties();
    let server = Server::of_files(&[format!("t={}/*.parquet", folder.path().display())]).await;
    for (sql, order) in [
        ("select n from t", "partition"),
        ("select n + 1 from t where v > 0", "partition"),
        ("select n from t limit 5", "partition"),
        ("select v, count(*) from t group by v", "none"),
        ("select v, count(*) c from t group by v order by c", "total"),
        ("select a.n from t a join t b on a.n = b.n", "none"),
        ("select distinct v from t", "none"),
        ("select 1", "partition"),
    ] {
        let outcome = server.sql(sql).await;
        assert!(outcome.is_complete(), "{sql}");
        assert_eq!(outcome.header("x-result-order"), order, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_rows_come_before_the_last() {
    let rows = Step::rows(0, 5000);
    let (server, _) = Server::of_scripts(vec![vec![rows, Step::Silence]]).await;
    let mut response = server.open("/v1/tables/t/rows").await;
    let first = response.chunk().await.unwrap().unwrap();
    let num_rows = readable(&first).len();
    assert!(num_rows >= 1024, "{num_rows}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schema_does_not_wait_for_rows() {
    let (server, _) = Server::of_scripts(vec![vec![Step::Silence]]).await;
    let mut response = server.open("/v1/tables/t/rows").await;
    let first = response.chunk().await.unwrap().unwrap();
    let reader =
        datafusion::arrow::ipc::reader::StreamReader::try_new(first.as_slice(), None).unwrap();
    assert_eq!(reader.schema(), schema());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_result_is_complete() {
    let (server, _) = Server::of_scripts(vec![vec![], vec![]]).await;
    let rows = server.get("/v1/tables/t/rows").await.rows();
    assert_eq!((rows.num_rows(), rows.schema()), (0, schema()));
    assert_eq!(
        server
            .sql("select n from t where n > 5")
            .await
            .rows()
            .column(0)
            .len(),
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sort_with_a_large_limit_goes_on_on_disk() {
    let server = Server::of_files(&[]).await;
    let sql = "select value as n, repeat('x', 500) as wide from generate_series(1, 100000) \
               order by value % 11, n";
    let query = json!({ "sql": sql, "limit": 90_000, "id": id(1) });
    assert_eq!(server.post(&query).await.rows().num_rows(), 90_000);
    let record = server.json(&format!("/v1/query/{}", id(1))).await;
    assert!(
        record["usage"]["spilled_bytes"].as_u64().unwrap() > 0,
        "{record}"
    );
}
