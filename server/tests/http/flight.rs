//! Flight SQL as a source: a server before a fake engine.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow_flight::{IpcMessage, SchemaAsIpc};
use colonnade_server::App;
use colonnade_server::backend::connect;
use datafusion::arrow::array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::ipc::writer::IpcWriteOptions;
use serde_json::json;

use crate::fake_flight::{FakeFlight, Script, Sent};
use crate::support::*;

async fn serve_at(url: &str) -> Server {
    let engine = connect(&[url.to_owned()]).await.unwrap().unwrap();
    Server::of_app(App::of_backend(&config(), engine).unwrap()).await
}

async fn serve(script: Script) -> (Server, FakeFlight) {
    let flight = FakeFlight::start(script).await;
    (serve_at(&flight.url).await, flight)
}

fn rows(start: i64, num_rows: i64) -> Sent {
    Sent::Rows { start, num_rows }
}

fn script(endpoints: Vec<Vec<Sent>>) -> Script {
    Script {
        endpoints,
        ordered: true,
        ..Script::default()
    }
}

/// Runs a query whose stream is truncated, and returns the rows before that and the error's code.
async fn broken(script: Script) -> (Vec<i64>, String) {
    let (server, flight) = serve(script).await;
    let outcome = server.post(&json!({"sql": "select 1", "id": id(1)})).await;
    assert!(!outcome.is_complete());
    flight.seen.until_idle().await;
    flight.seen.until_cancelled().await;
    if outcome.status != 200 {
        let problem: serde_json::Value = serde_json::from_slice(&outcome.body).unwrap();
        return (Vec::new(), problem["code"].as_str().unwrap().to_owned());
    }
    let record = server.until_state(&id(1), "failed").await;
    let code = record["error"]["code"].as_str().unwrap().to_owned();
    (readable(&outcome.body), code)
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_are_put_in_order_where_they_have_one() {
    for ordered in [true, false] {
        let slow = Sent::Delay(Duration::from_millis(200));
        let (server, flight) = serve(Script {
            ordered,
            ..script(vec![
                vec![slow, rows(0, 1000)],
                vec![],
                vec![rows(1000, 1000)],
                vec![rows(2000, 1000)],
            ])
        })
        .await;
        let outcome = server.sql("select 1").await;
        let mut numbers = outcome.numbers();
        let order = if ordered { "partition" } else { "none" };
        assert_eq!(outcome.header("x-result-order"), order);
        if !ordered {
            numbers.sort_unstable();
        }
        assert!(numbers.into_iter().eq(0..3000));
        assert_eq!(flight.seen.begun.load(Ordering::SeqCst), 4);
        flight.seen.until_idle().await;
        assert_eq!(flight.seen.cancelled.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_endpoint_is_an_empty_result() {
    let (server, _flight) = serve(script(vec![])).await;
    assert_eq!(server.sql("select 1").await.rows().num_rows(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_asked_for_again_from_the_log() {
    let (server, flight) = serve(script(vec![vec![rows(0, 5000)], vec![rows(5000, 5000)]])).await;
    let all = server.post(&json!({"sql": "select 1", "id": id(1)})).await;
    assert!(all.has_numbers(0..10_000));
    let some = server
        .get(&format!("/v1/query/{}/rows?offset=4990&limit=20", id(1)))
        .await;
    assert!(some.has_numbers(4990..5010));
    assert_eq!(flight.seen.begun.load(Ordering::SeqCst), 2);
    // With a limit, only the first rows are read.
    let first = server.post(&json!({"sql": "select 1", "limit": 10})).await;
    assert!(first.has_numbers(0..10));
    flight.seen.until_idle().await;
    flight.seen.until_cancelled().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_fails_or_lies_is_an_error() {
    let fail = vec![rows(1000, 500), Sent::Fail("boom")];
    let (numbers, code) = broken(script(vec![vec![rows(0, 1000)], fail])).await;
    assert!(numbers.iter().copied().eq(0..numbers.len() as i64));
    assert_eq!(code, "execution_error");

    let silent = Script {
        is_silent: true,
        ..script(vec![vec![rows(0, 1000)]])
    };
    assert_eq!(broken(silent).await.1, "engine_unavailable");

    let other: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let other = RecordBatch::try_from_iter([("n", other)]).unwrap();
    let (numbers, code) = broken(script(vec![vec![rows(0, 1000)], vec![Sent::Batch(other)]])).await;
    assert!(numbers.len() <= 1000);
    assert_eq!(code, "bad_engine");

    for (header, body) in [
        (vec![0xFF; 64], vec![]),
        (vec![], vec![1, 2, 3]),
        (vec![8, 0, 0, 0, 4, 0, 6, 0], vec![0; 64]),
    ] {
        let hostile = vec![Sent::Bytes { header, body }];
        assert_eq!(broken(script(vec![hostile.clone()])).await.1, "bad_engine");
        let (_, code) = broken(script(vec![vec![rows(0, 100)], hostile])).await;
        assert_eq!(code, "bad_engine");
    }
    // A batch whose buffers are not in its body.
    let many: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
    let schema = Schema::new(vec![Field::new("n", DataType::Int64, true)]);
    let many = RecordBatch::try_new(Arc::new(schema), vec![many]).unwrap();
    let data = arrow_flight::utils::batches_to_flight_data(&many.schema(), vec![many]).unwrap();
    let bytes = |header: &[u8], body: &[u8]| Sent::Bytes {
        header: header.to_vec(),
        body: body.to_vec(),
    };
    let cut = vec![
        bytes(&data[0].data_header, b""),
        bytes(&data[1].data_header, &data[1].data_body[..64]),
    ];
    assert_eq!(broken(script(vec![cut])).await.1, "bad_engine");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_once() {
    let secret = Script {
        password: Some("secret"),
        ..script(vec![vec![rows(0, 100)]])
    };
    let flight = FakeFlight::start(secret).await;
    let with = |user: &str| flight.url.replace("://", &format!("://{user}@"));
    let server = serve_at(&with("me:secret")).await;
    assert!(server.sql("select 1").await.has_numbers(0..100));
    let refused = connect(&[with("me:hunter2")])
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        refused.contains("who are you?") && !refused.contains("hunter2"),
        "{refused}"
    );
    let two = connect(&[with("me:hunter2"), "a.csv".to_owned()]).await;
    assert!(!two.err().unwrap().to_string().contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_change_something_is_not_sent() {
    let (server, flight) = serve(script(vec![vec![rows(0, 100)]])).await;
    let refused = server.sql("drop table t").await;
    refused.assert_refused(403, "read_only");
    assert_eq!(flight.seen.begun.load(Ordering::SeqCst), 0);
}

/// The answer to `CommandGetTables`: one table in a schema, with its columns, and one without them.
fn tables() -> RecordBatch {
    let schema = batch(0, 0).schema();
    let options = IpcWriteOptions::default();
    let IpcMessage(columns) = SchemaAsIpc::new(&schema, &options).try_into().unwrap();
    let text = |texts: [Option<&str>; 2]| Arc::new(StringArray::from_iter(texts)) as ArrayRef;
    RecordBatch::try_from_iter_with_nullable([
        ("catalog_name", text([None, None]), true),
        ("db_schema_name", text([Some("air"), None]), true),
        (
            "table_name",
            text([Some("the flights"), Some("plain")]),
            false,
        ),
        ("table_type", text([Some("TABLE"), Some("VIEW")]), false),
        (
            "table_schema",
            Arc::new(BinaryArray::from_iter([Some(columns.as_ref()), None])),
            true,
        ),
    ])
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_listed_with_their_columns_and_read_by_their_names() {
    let (server, flight) = serve(Script {
        tables: Some(tables()),
        ..script(vec![vec![rows(0, 1000)]])
    })
    .await;
    let listed = server.json("/v1/tables").await;
    let listed = listed["tables"].as_array().unwrap();
    let names: Vec<_> = listed.iter().map(|table| &table["name"]).collect();
    assert_eq!(names, ["air.the flights", "plain"]);
    for table in listed {
        assert_eq!(table["format"], "flight");
        assert_eq!(table["fields"][0]["name"], "n", "{table}");
    }
    // Only the table without columns was queried.
    let asked = r#"select * from "plain" where 1 = 0"#;
    assert_eq!(flight.seen.statements(), [asked]);

    let all = server.get("/v1/tables/air.the%20flights/rows").await;
    assert!(all.has_numbers(0..1000));
    let some = server.get("/v1/tables/plain/rows?columns=n").await;
    assert!(some.has_numbers(0..1000));
    let statements = flight.seen.statements();
    assert_eq!(
        statements[1..],
        [
            r#"select * from "air"."the flights""#,
            r#"select "n" from "plain""#
        ]
    );
    let nothing = server.get("/v1/tables/planes/rows").await;
    nothing.assert_refused(404, "unknown_table");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_lists_no_tables_is_asked_in_sql() {
    let (server, _flight) = serve(script(vec![vec![rows(0, 100)]])).await;
    assert_eq!(server.json("/v1/tables").await["tables"], json!([]));
    assert!(server.sql("select 1").await.has_numbers(0..100));
}
