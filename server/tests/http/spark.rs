//! Spark as a source: a server before a fake engine.

use std::time::Duration;

use colonnade_server::App;
use colonnade_server::backend::connect;
use serde_json::json;

use crate::fake_spark::{Answer, FakeSpark, stream_of};
use crate::support::*;

async fn serve(answers: Vec<Answer>) -> (Server, FakeSpark) {
    let spark = FakeSpark::start(answers).await;
    let engine = connect(std::slice::from_ref(&spark.url))
        .await
        .unwrap()
        .unwrap();
    let app = App::of_backend(&config(), engine).unwrap();
    (Server::of_app(app).await, spark)
}

fn rows(start: i64, num_rows: i64) -> Answer {
    Answer::Rows { start, num_rows }
}

/// Runs a query whose stream is truncated, and returns the rows before that and the error.
async fn broken(answers: Vec<Answer>) -> (Vec<i64>, serde_json::Value) {
    let (server, spark) = serve(answers).await;
    let outcome = server.post(&json!({"sql": "select 1", "id": id(1)})).await;
    assert!(!outcome.is_complete());
    let record = server.until_state(&id(1), "failed").await;
    spark.seen.until_released().await;
    (readable(&outcome.body), record["error"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_end_early_lose_nothing() {
    let (server, spark) = serve(vec![
        Answer::EndCall,
        rows(0, 1000),
        Answer::EndCall,
        Answer::EndCall,
        rows(1000, 500),
        Answer::BreakCall,
        Answer::BreakCall,
        rows(1500, 500),
        Answer::EndCall,
        Answer::Complete,
    ])
    .await;
    let outcome = server.sql("select 1; ").await;
    assert!(outcome.has_numbers(0..2000));
    assert_eq!(outcome.header("x-result-order"), "partition");
    assert_eq!(spark.seen.calls("ReattachExecute"), 6);
    spark.seen.until_released().await;
    assert_eq!(spark.seen.calls("Interrupt"), 0);
    assert_eq!(
        spark.seen.statements(),
        [
            "select * from (\nselect 1\n) limit 0",
            "select * from (\nselect 1\n)"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_without_sparks_word_is_an_error() {
    let ends = vec![Answer::EndCall; 20];
    let (numbers, error) = broken([vec![rows(0, 1000)], ends].concat()).await;
    assert_eq!(numbers.len(), 1000);
    assert_eq!(error["code"], "bad_engine");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("ResultComplete"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_stays_lost_is_an_error() {
    let breaks = vec![Answer::BreakCall; 20];
    let (numbers, error) = broken([vec![rows(0, 1000)], breaks].concat()).await;
    assert_eq!(numbers.len(), 1000);
    assert_eq!(error["code"], "engine_unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_in_another_place_are_an_error() {
    for said in [990, 1010, -1] {
        let (numbers, error) =
            broken(vec![rows(0, 1000), Answer::Misplaced { start: 1000, said }]).await;
        assert_eq!(numbers.len(), 1000);
        assert_eq!(error["code"], "bad_engine", "{said}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_was_started_again_is_an_error() {
    let (_, error) = broken(vec![rows(0, 10), Answer::OtherDriver]).await;
    assert_eq!(error["code"], "bad_engine");
    let lost = Answer::Fail("INVALID_HANDLE.SESSION_NOT_FOUND", "[INVALID_HANDLE] gone");
    let (_, error) = broken(vec![rows(0, 10), Answer::BreakCall, lost]).await;
    assert_eq!(error["code"], "engine_unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_bytes_are_an_error() {
    let sound = stream_of(10, 10);
    let bytes = |bytes: Vec<u8>, row_count| Answer::Bytes { bytes, row_count };
    let mut other = stream_of(10, 10);
    // Another name in the schema message.
    let name = other.iter().position(|byte| *byte == b'n').unwrap();
    other[name] = b'm';
    let mut long = sound.clone();
    long[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let cases = [
        bytes(sound[..sound.len() / 2].to_vec(), 10),
        bytes(sound[1..].to_vec(), 10),
        bytes(sound.clone(), 11),
        bytes(sound.clone(), -1),
        bytes(vec![0xFF; 7], 10),
        bytes(vec![0; 64], 10),
        bytes(long, 10),
        bytes(other, 10),
    ];
    for case in cases {
        let (numbers, error) = broken(vec![rows(0, 10), case]).await;
        assert_eq!(numbers.len(), 10);
        assert_eq!(error["code"], "bad_engine", "{error}");
    }
    // Changes every 23rd byte of a small batch in turn: the result is an error or the rows, and the server
    // survives.
    let (server, _spark) = serve(vec![]).await;
    for at in (0..sound.len()).step_by(23) {
        let mut flipped = sound.clone();
        flipped[at] ^= 0x55;
        let script = vec![rows(0, 10), bytes(flipped, 10), Answer::Complete];
        let (server, _spark) = serve(script).await;
        server.sql("select 1").await;
        assert_eq!(server.get("/healthz").await.status, 200, "byte {at}");
    }
    assert_eq!(server.get("/healthz").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_have_sparks_words() {
    let text = "[TABLE_OR_VIEW_NOT_FOUND] no `x`. SQLSTATE: 42P01; line 2 pos 14;\n'Project [*]";
    let (_, error) = broken(vec![
        rows(0, 10),
        Answer::Delay(Duration::from_millis(200)),
        Answer::Fail("TABLE_OR_VIEW_NOT_FOUND", text),
    ])
    .await;
    assert_eq!(error["code"], "unknown_table");
    let message = "[TABLE_OR_VIEW_NOT_FOUND] no `x`. SQLSTATE: 42P01 (line 1, column 15)";
    assert_eq!(error["message"], message);
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told() {
    let (server, _spark) = serve(vec![
        Answer::Progress { done: 3, tasks: 8 },
        rows(0, 10),
        Answer::Delay(Duration::from_secs(3600)),
    ])
    .await;
    let body = json!({"sql": "select 1", "id": id(1)}).to_string();
    let json = [("content-type", "application/json")];
    let mut response = server
        .ask("POST", "/v1/query", &json, body.as_bytes())
        .await;
    response.chunk().await.unwrap().unwrap();
    let record = server.json(&format!("/v1/query/{}", id(1))).await;
    assert_eq!(record["engine"], json!({"tasks_done": 3, "tasks": 8}));
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_read_again_from_what_is_kept_and_never_run_again() {
    let (server, spark) = serve(vec![rows(0, 1000), rows(1000, 1000), Answer::Complete]).await;
    let body = json!({"sql": "select 1", "id": id(1)});
    assert!(server.post(&body).await.has_numbers(0..2000));
    let window = server
        .get(&format!("/v1/query/{}/rows?offset=990&limit=20", id(1)))
        .await;
    assert!(window.has_numbers(990..1010));
    // Kept rows are queried by the embedded engine.
    let sorted = server
        .post(&json!({"query": id(1), "sort": ["-n"], "limit": 3}))
        .await;
    assert_eq!(sorted.numbers(), [1999, 1998, 1997]);
    let summary = server
        .json(&format!("/v1/query/{}/summary?column=n", id(1)))
        .await;
    assert_eq!(summary["rows"], 2000, "{summary}");
    assert_eq!(spark.seen.calls("ExecutePlan"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_change_something_is_not_sent() {
    let (server, spark) = serve(vec![]).await;
    for sql in ["drop table t", "insert into t select 1", "set a = b"] {
        server.sql(sql).await.assert_refused(403, "read_only");
    }
    assert_eq!(spark.seen.calls("ExecutePlan"), 0);
}

#[tokio::test]
async fn sources_that_cannot_be_served() {
    let refused = async |sources: &[&str]| {
        let sources: Vec<String> = sources.iter().map(ToString::to_string).collect();
        let error = connect(&sources).await.err().unwrap();
        (error.exit_code(), error.to_string())
    };
    let (code, text) = refused(&["sc://127.0.0.1:1/;token=secret"]).await;
    assert_eq!(code, 1);
    assert!(
        text.contains("cannot be reached") && !text.contains("secret"),
        "{text}"
    );
    let (code, text) = refused(&["lake=sc://127.0.0.1:1/;token=secret", "a.parquet"]).await;
    assert_eq!(code, 2);
    assert!(
        text.contains("only source") && !text.contains("secret"),
        "{text}"
    );
    assert_eq!(refused(&["sc://"]).await.0, 2);
    assert!(connect(&["a.parquet".to_owned()]).await.unwrap().is_none());
}
