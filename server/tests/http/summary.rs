//! Column summaries.

use std::sync::Arc;

use colonnade_server::error::ErrorKind;
use colonnade_server::results::summary::{Summary, summarise};
use datafusion::arrow::array::{
    ArrayRef, AsArray, BooleanArray, Decimal128Array, DictionaryArray, Float64Array, Int8Array,
    Int64Array, RecordBatch, StringArray, TimestampNanosecondArray, UInt64Array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::prelude::SessionContext;
use serde_json::json;

use crate::result_bytes::{column, fixture};
use crate::support::{Server, Step};

async fn summary_of(batch: RecordBatch, name: &str) -> Summary {
    let context = SessionContext::new();
    let frame = context.read_batch(batch).unwrap();
    let plan = frame.into_unoptimized_plan();
    summarise(&context.state(), plan, name, 10).await.unwrap()
}

async fn of(array: impl Into<ArrayRef>) -> Summary {
    summary_of(column("c", array), "c").await
}

fn counted(summary: &Summary) -> u64 {
    let histogram = summary.histogram.as_ref().unwrap();
    assert_eq!(histogram.edges.len(), histogram.counts.len() + 1);
    assert!(histogram.counts.len() <= 32);
    histogram.counts.iter().sum()
}

#[tokio::test]
async fn integers_are_exact() {
    let values = vec![Some(i64::MIN), Some(i64::MAX), Some(0), None, Some(0)];
    let summary = of(Arc::new(Int64Array::from(values)) as ArrayRef).await;
    assert_eq!(
        (summary.rows, summary.nulls, summary.distinct),
        (5, 1, Some(3))
    );
    assert_eq!(summary.min.as_deref(), Some("-9223372036854775808"));
    assert_eq!(summary.max.as_deref(), Some("9223372036854775807"));
    assert_eq!(summary.mean.as_deref(), Some("-0.25"));
    let quartiles = summary.quartiles.as_ref().unwrap();
    let [lower, median, upper] = [&quartiles.lower, &quartiles.median, &quartiles.upper];
    assert_eq!([lower, median, upper], ["-9223372036854775808", "0", "0"]);
    assert!(!quartiles.is_approximate);
    assert_eq!(summary.type_name, "int64");
    assert_eq!(counted(&summary), 4);
    let days = Arc::new(UInt64Array::from(vec![1, 2, 2, 3, 7, u64::from(7u8)])) as ArrayRef;
    let histogram = of(days).await.histogram.unwrap();
    assert_eq!(histogram.edges, ["1", "2", "3", "4", "5", "6", "7", "8"]);
    assert_eq!(histogram.counts, [1, 2, 1, 0, 0, 0, 2]);
    let large = of(Arc::new(UInt64Array::from(vec![u64::MAX; 3])) as ArrayRef).await;
    assert_eq!(large.max.as_deref(), Some("18446744073709551615"));
    assert_eq!(counted(&large), 3);
}

#[tokio::test]
async fn values_of_dictionaries_have_the_texts_of_their_type() {
    let halves = cast(&Float64Array::from(vec![0.1, 0.5]), &DataType::Float16).unwrap();
    let keys = Int8Array::from(vec![0, 1]);
    let summary = of(Arc::new(DictionaryArray::new(keys, halves)) as ArrayRef).await;
    assert_eq!(
        [summary.min, summary.max],
        ["0.1", "0.5"].map(|text| Some(text.into()))
    );
}

#[tokio::test]
async fn floats_count_apart_what_is_no_number() {
    let values = [
        0.5,
        1.5,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN,
    ];
    let summary = of(Arc::new(Float64Array::from(values.to_vec())) as ArrayRef).await;
    assert_eq!((summary.nan, summary.infinite), (Some(2), Some(2)));
    assert_eq!(summary.min.as_deref(), Some("-1.7976931348623157e+308"));
    assert_eq!(summary.max.as_deref(), Some("1.7976931348623157e+308"));
    assert_eq!(summary.mean.as_deref(), Some("0.5"));
    assert_eq!(counted(&summary), 4);
    let none = of(Arc::new(Float64Array::from(vec![f64::NAN; 2])) as ArrayRef).await;
    assert_eq!((none.min, none.mean, none.nan), (None, None, Some(2)));
}

#[tokio::test]
async fn decimals_and_times() {
    let decimals = Decimal128Array::from(vec![Some(100), Some(250), None]);
    let decimals = decimals.with_precision_and_scale(12, 2).unwrap();
    let summary = of(Arc::new(decimals) as ArrayRef).await;
    assert_eq!(summary.min.as_deref(), Some("1.00"));
    assert_eq!(summary.mean.as_deref(), Some("1.75"));
    assert_eq!(counted(&summary), 2);
    let times = TimestampNanosecondArray::from(vec![0, 1_700_000_000_000_000_001]);
    let summary = of(Arc::new(times.with_timezone("+05:30")) as ArrayRef).await;
    assert_eq!(
        summary.max.as_deref(),
        Some("2023-11-15 03:43:20.000000001+0530")
    );
    assert_eq!(
        summary.mean.as_deref(),
        Some("1996-12-08 04:36:40.000000001+0530")
    );
    assert_eq!(counted(&summary), 2);
}

#[tokio::test]
async fn texts_and_booleans_have_top_values() {
    let texts = vec![Some("b"), Some("a"), None, Some("b"), Some("")];
    let summary = of(Arc::new(StringArray::from(texts)) as ArrayRef).await;
    assert_eq!(
        (summary.distinct, summary.distinct_is_approximate),
        (Some(3), false)
    );
    assert_eq!(summary.empties, Some(1));
    let lengths = serde_json::to_value(summary.lengths.unwrap()).unwrap();
    let expected =
        json!({"min": 0, "lower": 0, "median": 1, "upper": 1, "max": 1, "is_approximate": false});
    assert_eq!(lengths, expected);
    let top: Vec<_> = summary
        .top
        .unwrap()
        .into_iter()
        .map(|top| (top.value, top.count))
        .collect();
    let pair = |value: &str, count| (value.to_owned(), count);
    assert_eq!(top, [pair("b", 2), pair("", 1), pair("a", 1)]);
    assert_eq!(
        (summary.min.as_deref(), summary.max.as_deref()),
        (Some(""), Some("b"))
    );
    assert!(summary.histogram.is_none());
    let booleans = BooleanArray::from(vec![Some(true), Some(true), Some(false), None]);
    let top = of(Arc::new(booleans) as ArrayRef).await.top.unwrap();
    assert_eq!(top[0].value, "true");
    assert_eq!(top[0].count, 2);
}

#[tokio::test]
async fn every_type_has_a_summary() {
    let stream = fixture("every_type.arrows");
    let reader = StreamReader::try_new(stream.as_slice(), None).unwrap();
    let batches: Vec<_> = reader.map(|batch| batch.unwrap()).collect();
    let expected: Vec<serde_json::Value> =
        serde_json::from_slice(&fixture("every_type.json")).unwrap();
    for (index, wanted) in expected.iter().enumerate() {
        let name = wanted["name"].as_str().unwrap();
        let batch = batches[0].project(&[index]).unwrap();
        let summary = summary_of(batch.clone(), name).await;
        let texts = &wanted["text"].as_array().unwrap()[..batch.num_rows()];
        assert_eq!(summary.rows, batch.num_rows() as u64);
        assert_eq!(summary.type_name, wanted["type"], "{name}");
        let is_known_to_arrow = !wanted["type"].as_str().unwrap().contains("union");
        if is_known_to_arrow {
            let nulls = texts.iter().filter(|text| text.is_null()).count();
            assert_eq!(summary.nulls, nulls as u64, "{name}");
        }
        for value in [&summary.min, &summary.max].into_iter().flatten() {
            assert!(
                texts.iter().any(|text| text == value),
                "{name}: {value} in {texts:?}"
            );
        }
        if summary.histogram.is_some() {
            let apart = summary.nan.unwrap_or(0) + summary.infinite.unwrap_or(0);
            assert_eq!(
                counted(&summary) + apart + summary.nulls,
                summary.rows,
                "{name}"
            );
            assert!(summary.mean.is_some(), "{name}");
        }
    }
}

#[tokio::test]
async fn no_rows_and_no_such_column() {
    let empty = of(Arc::new(Int64Array::from(Vec::<i64>::new())) as ArrayRef).await;
    assert_eq!((empty.rows, empty.nulls, empty.distinct), (0, 0, Some(0)));
    assert_eq!((empty.min, empty.mean), (None, None));
    let context = SessionContext::new();
    let batch = column("price", Arc::new(Int64Array::from(vec![1])) as ArrayRef);
    let plan = context.read_batch(batch).unwrap().into_unoptimized_plan();
    let error = summarise(&context.state(), plan, "prize", 10)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::UnknownColumn);
    assert!(error.hint.contains("price"), "{}", error.hint);
}

#[tokio::test]
async fn over_http() {
    let (server, _) = Server::of_scripts(vec![vec![Step::rows(0, 500)]; 2]).await;
    for (body, rows, max) in [
        (json!({ "table": "t", "sort": ["-n"] }), 1000, "499"),
        (
            json!({ "table": "t", "filter": {"op": "lt", "column": "n", "value": "10"} }),
            20,
            "9",
        ),
        (json!({ "table": "t", "limit": 100 }), 100, "99"),
        (json!({ "table": "t", "offset": 990, "limit": 5 }), 5, "494"),
        (json!({ "sql": "select n + 1 as n from t" }), 1000, "500"),
    ] {
        let outcome = server.post(&body).await;
        let id = outcome.header("x-query-id").to_owned();
        let summary = server
            .json(&format!("/v1/query/{id}/summary?column=n"))
            .await;
        assert_eq!(
            (&summary["rows"], &summary["max"]),
            (&json!(rows), &json!(max)),
            "{body}"
        );
        assert_eq!(summary["type"], "int64");
        let unknown = server
            .get(&format!("/v1/query/{id}/summary?column=m"))
            .await;
        assert_eq!(unknown.code(), "unknown_column");
        let none = server.get(&format!("/v1/query/{id}/summary")).await;
        assert_eq!(none.code(), "bad_parameter");
    }
}

/// The least value that is not smaller than this share of all.
fn at<T: Clone>(sorted: &[T], quarters: usize) -> T {
    sorted[(sorted.len() * quarters).div_ceil(4) - 1].clone()
}

#[tokio::test]
async fn the_most_frequent_values_are_as_many_as_asked_for() {
    let values = "select case when n % 7 = 0 then null else repeat('é', n % 50) || (n * n % 1500) end as t, n \
                  from t";
    let (server, _) = Server::of_scripts(vec![vec![Step::rows(0, 20_000)]]).await;
    let outcome = server.post(&json!({ "sql": values })).await;
    let rows = outcome.rows();
    let id = outcome.header("x-query-id").to_owned();
    let texts: Vec<String> = texts_of(&rows, "t").into_iter().flatten().collect();
    let mut counts = std::collections::HashMap::<&str, u64>::new();
    texts
        .iter()
        .for_each(|text| *counts.entry(text).or_default() += 1);
    let mut expected: Vec<_> = counts
        .iter()
        .map(|(text, count)| (std::cmp::Reverse(*count), *text))
        .collect();
    expected.sort_unstable();
    let mut lengths: Vec<usize> = texts.iter().map(|text| text.chars().count()).collect();
    lengths.sort_unstable();
    for top in [1, 10, 1000] {
        let path = format!("/v1/query/{id}/summary?column=t&top={top}");
        let summary = server.json(&path).await;
        let found = summary["top"].as_array().unwrap();
        let shown = expected.iter().take(top);
        let shown: Vec<_> = shown
            .map(|(count, text)| json!({"value": text, "count": count.0}))
            .collect();
        assert_eq!(found, &shown);
        assert_eq!(summary["distinct"], expected.len());
        assert_eq!(summary["lengths"]["median"], at(&lengths, 2));
        assert_eq!(summary["lengths"]["max"], at(&lengths, 4));
    }
    let numbers = server
        .json(&format!("/v1/query/{id}/summary?column=n"))
        .await;
    let expected =
        json!({"lower": "4999", "median": "9999", "upper": "14999", "is_approximate": false});
    assert_eq!(numbers["quartiles"], expected);
    for top in ["0", "1001", "ten"] {
        let refused = server
            .get(&format!("/v1/query/{id}/summary?column=t&top={top}"))
            .await;
        assert_eq!(refused.code(), "bad_parameter");
    }
}

#[tokio::test]
async fn a_filter_matches_the_rows_that_a_search_finds() {
    let sql = "select n, case when n % 3 = 0 then 'Straße ' || n when n % 3 = 1 then 'STRASSE' end as t, \
               n * 0.25 as f, [n, n + 1] as l, date '2024-02-27' + cast(n % 5 as int) as d from t";
    let (server, _) = Server::of_scripts(vec![vec![Step::rows(0, 1000)]]).await;
    let all = server.post(&json!({ "sql": sql })).await;
    let id = all.header("x-query-id").to_owned();
    for (value, columns, case) in [
        ("straße", None, "ignore"),
        ("Straße", Some("t"), "exact"),
        ("STRASSE", None, "exact"),
        ("17", None, "ignore"),
        ("17", Some("n,l"), "ignore"),
        ("4-02-29", None, "ignore"),
        (".25", Some("f"), "exact"),
        ("[17, 18]", Some("l"), "ignore"),
        ("none", None, "ignore"),
        ("x", Some("n"), "ignore"),
    ] {
        let named = columns.map_or_else(String::new, |names| format!("&columns={names}"));
        let text: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
        let path = format!("/v1/query/{id}/find?text={text}&limit=10000&case={case}{named}");
        let found = server.json(&path).await;
        let found = found["matches"].as_array().unwrap().iter();
        let found: Vec<i64> = found.map(|found| found["row"].as_i64().unwrap()).collect();
        let columns: Option<Vec<&str>> = columns.map(|names| names.split(',').collect());
        let filter = json!({"op": "matches", "value": value, "columns": columns, "match_case": case == "exact"});
        for (filter, expected) in [
            (filter.clone(), found.clone()),
            (
                json!({ "not": filter }),
                (0..1000).filter(|row| !found.contains(row)).collect(),
            ),
        ] {
            let rows = server
                .post(&json!({"query": id, "filter": filter}))
                .await
                .rows();
            assert_eq!(integers_of(&rows, "n"), expected, "{filter}");
        }
    }
    let unknown = json!({"query": id, "filter": {"op": "matches", "value": "a", "columns": ["m"]}});
    assert_eq!(server.post(&unknown).await.code(), "unknown_column");
}

fn texts_of(rows: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let column =
        datafusion::arrow::compute::cast(rows.column_by_name(name).unwrap(), &DataType::Utf8);
    let texts = column.unwrap();
    let texts = texts.as_string::<i32>().iter();
    texts.map(|text| text.map(str::to_owned)).collect()
}

fn integers_of(rows: &RecordBatch, name: &str) -> Vec<i64> {
    let integers = rows
        .column_by_name(name)
        .unwrap()
        .as_primitive::<Int64Type>();
    integers.values().to_vec()
}
