//! Filters and sorts give the same results as in the browser; the cases are shared with its tests.

use colonnade_core::decode::Decoder;
use colonnade_core::text::{CellText, FixedOffsets};
use colonnade_core::wire::Limits;
use serde_json::{Value, json};

use crate::result_bytes::fixture;
use crate::support::Server;

async fn served() -> Server {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/predicates.arrows");
    Server::of_files(&[format!("cases={path}")]).await
}

/// The rows of an answer as their numbers in the table, or the error's code.
async fn rows(server: &Server, mut request: Value) -> Value {
    request["table"] = json!("cases");
    request["columns"] = json!(["row"]);
    let outcome = server.post(&request).await;
    if outcome.status != 200 {
        let problem: Value = serde_json::from_slice(&outcome.body).unwrap();
        return problem["code"].clone();
    }
    let mut decoder = Decoder::new(u64::MAX, Limits::default());
    decoder.push(&outcome.body).unwrap();
    let table = decoder.table().unwrap();
    let mut numbers = Vec::new();
    for row in 0..table.num_rows() {
        let (chunk, index) = table.locate(row).unwrap();
        let mut text = String::new();
        let mut out = CellText::new(&mut text, 0);
        table
            .write_cell(0, chunk, index, &FixedOffsets, &mut out)
            .unwrap();
        numbers.push(text.parse::<u32>().unwrap());
    }
    json!(numbers)
}

fn cases(name: &str) -> Vec<Value> {
    serde_json::from_slice(&fixture(name)).unwrap()
}

#[tokio::test]
async fn predicates_mean_what_they_mean_in_the_browser() {
    let server = served().await;
    let mut wrong = Vec::new();
    for case in cases("predicates.json") {
        let expected = if case["rows"].is_null() {
            &case["error"]
        } else {
            &case["rows"]
        };
        let found = rows(&server, json!({"filter": case["filter"]})).await;
        if found != *expected {
            wrong.push(format!("{case} gave {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn sorts_are_what_they_are_in_the_browser() {
    let server = served().await;
    let mut wrong = Vec::new();
    for case in cases("sorts.json") {
        let found = rows(&server, json!({"sort": case["sort"]})).await;
        if found != case["rows"] {
            wrong.push(format!("{case} gave {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
