//! Rows as JSON, CSV and Parquet, by the header `Accept`.

use std::time::Duration;

use colonnade_server::AppConfig;
use serde_json::{Value, json};

use crate::export::{read_parquet, records};
use crate::support::*;

const JSON: &str = "application/json";

async fn accepting(server: &Server, path: &str, accept: &str) -> Outcome {
    read(server.ask("GET", path, &[("accept", accept)], b"").await).await
}

async fn as_json(server: &Server, path: &str) -> Value {
    let outcome = accepting(server, path, JSON).await;
    assert_eq!(outcome.status, 200, "{path}");
    assert!(outcome.is_whole);
    serde_json::from_slice(&outcome.body).unwrap()
}

#[tokio::test]
async fn a_range_of_rows_in_each_format() {
    let (server, _) = Server::of_scripts(vec![vec![Step::rows(0, 500)]; 2]).await;
    let path = format!("/v1/tables/t/rows?offset=498&limit=3&id={}", id(1));
    let json = accepting(&server, &path, JSON).await;
    assert_eq!(json.header("content-type"), JSON);
    assert_eq!(json.header("x-query-id"), id(1));
    assert_eq!(json.header("x-result-order"), "partition");
    assert_eq!(json.header("cache-control"), "no-store, no-transform");
    assert!(json.header("vary").contains("accept"));
    let wanted = json!({
        "fields": [
            {"name": "n", "type": "int64", "nullable": true},
            {"name": "t", "type": "string", "nullable": true},
        ],
        "rows": [["498", "row 498"], ["499", "row 499"], ["0", "row 0"]],
    });
    assert_eq!(serde_json::from_slice::<Value>(&json.body).unwrap(), wanted);
    // The result is the same for readers in other formats.
    let rows = format!("/v1/query/{}/rows?offset=499&limit=1", id(1));
    let csv = accepting(&server, &rows, "text/csv").await;
    assert_eq!(
        csv.header("content-type"),
        "text/csv; charset=utf-8; header=present"
    );
    assert_eq!(csv.body, b"n,t\n499,row 499\n");
    assert_eq!(
        as_json(&server, &rows).await["rows"],
        json!([["499", "row 499"]])
    );
    let parquet = accepting(&server, &rows, "application/vnd.apache.parquet").await;
    assert_eq!(numbers(&read_parquet(parquet.body), 0), [499]);
    assert_eq!(server.get(&rows).await.numbers(), [499]);
    let status = server.json(&format!("/v1/query/{}", id(1))).await;
    assert_eq!(status["state"], "done");
    assert_eq!(status["rows_sent"], 3 + 4);

    let body = json!({ "sql": "select 1 as a where false" }).to_string();
    let headers = [("content-type", JSON), ("accept", JSON)];
    let none = read(
        server
            .ask("POST", "/v1/query", &headers, body.as_bytes())
            .await,
    )
    .await;
    let none: Value = serde_json::from_slice(&none.body).unwrap();
    assert_eq!(none["rows"], json!([]));
    let checksums = accepting(&server, "/v1/tables/t/rows?checksum=xxh3", JSON).await;
    checksums.assert_refused(400, "bad_parameter");
}

/// Whether integers of 64 bits or decimals can be inside.
fn may_hold_wide_numbers(data_type: &str) -> bool {
    ["list", "struct", "map", "union", "dictionary", "run_end"]
        .iter()
        .any(|kind| data_type.contains(kind))
}

/// The members of a row are those of NDJSON, but wide numbers are the texts of CSV.
#[tokio::test(flavor = "multi_thread")]
async fn every_type_is_json() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/every_type.arrows");
    let server = Server::of_files(&[format!("t={file}")]).await;
    let id = id(2);
    let path = format!("/v1/tables/t/rows?id={id}");
    let json = as_json(&server, &path).await;
    let table = server.json("/v1/tables/t").await;
    assert_eq!(json["fields"], table["fields"]);
    let exported = |format: &str| format!("/v1/query/{id}/export?format={format}");
    let csv = server.get(&exported("csv")).await;
    let csv = records(std::str::from_utf8(&csv.body).unwrap());
    let ndjson = server.get(&exported("ndjson")).await;
    let lines = ndjson.body.split(|byte| *byte == b'\n');
    let rows = json["rows"].as_array().unwrap();
    let fields = json["fields"].as_array().unwrap();
    let mut num_wide = 0;
    for ((row, line), texts) in rows.iter().zip(lines).zip(&csv[1..]) {
        let line: serde_json::Map<String, Value> = serde_json::from_slice(line).unwrap();
        for (column, field) in fields.iter().enumerate() {
            let data_type = field["type"].as_str().unwrap();
            let is_wide = ["int64", "uint64"].contains(&data_type) || data_type.starts_with("dec");
            let name = field["name"].as_str().unwrap();
            if is_wide {
                assert_eq!(row[column].as_str(), texts[column].as_deref(), "{name}");
                num_wide += 1;
            } else if !may_hold_wide_numbers(data_type) {
                assert_eq!(row[column], line[name], "{name}");
            }
        }
    }
    assert!(num_wide > 0);
    assert_eq!(rows.len(), csv.len() - 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn wide_numbers_in_nested_values_are_strings() {
    let (server, _) = Server::of_scripts(vec![vec![]]).await;
    let sql = "select named_struct('a', make_array(9007199254740993, null), 'b', 1.5) as s";
    let body = json!({ "sql": sql }).to_string();
    let headers = [("content-type", JSON), ("accept", JSON)];
    let outcome = read(
        server
            .ask("POST", "/v1/query", &headers, body.as_bytes())
            .await,
    )
    .await;
    let json: Value = serde_json::from_slice(&outcome.body).unwrap();
    let wanted = json!([[{"a": ["9007199254740993", null], "b": 1.5}]]);
    assert_eq!(json["rows"], wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_never_ends_the_body_cleanly() {
    let late = Step::Delay(Duration::from_millis(300));
    let config = AppConfig {
        first_message_wait: Duration::MAX,
        ..config()
    };
    for accept in [JSON, "text/csv", "application/vnd.apache.parquet"] {
        let script = vec![Step::rows(0, 1000), late.clone(), Step::Fail];
        let (server, _) = Server::start_scripts(&config, vec![script]).await;
        let outcome = accepting(&server, "/v1/tables/t/rows", accept).await;
        assert_eq!(outcome.status, 200);
        assert!(!outcome.is_whole, "{accept}");
        let (server, _) = Server::start_scripts(&config, vec![vec![Step::Fail]]).await;
        let outcome = accepting(&server, "/v1/tables/t/rows", accept).await;
        assert!(outcome.status >= 400, "{accept}");
        assert_eq!(outcome.header("content-type"), "application/problem+json");
    }
}
