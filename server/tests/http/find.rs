//! Searches for the next rows that contain a text.

use std::sync::Arc;
use std::time::Duration;

use colonnade_server::error::{ErrorKind, QueryError};
use colonnade_server::results::find::{FindRequest, Found, find};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use futures::StreamExt;
use serde_json::{Value, json};

use crate::result_bytes::{fixture, result_of, stream_of};
use crate::support::{PATIENCE, Server, Step, read_stream};

fn request(text: &str) -> FindRequest {
    FindRequest {
        text: text.to_owned(),
        from: 0,
        limit: 100,
        columns: None,
        match_case: false,
    }
}

/// Rows `[0, 30)` in batches of 7.
fn stream() -> (Vec<u8>, RecordBatch) {
    let texts = (0..30).map(|k| match k % 10 {
        3 => Some(format!("Straße {k}")),
        5 => None,
        _ => Some(format!("row {k}")),
    });
    let batch = RecordBatch::try_from_iter_with_nullable([
        (
            "n",
            Arc::new(Int64Array::from_iter_values(0..30)) as ArrayRef,
            true,
        ),
        (
            "t",
            Arc::new(texts.collect::<StringArray>()) as ArrayRef,
            true,
        ),
    ])
    .unwrap();
    let batches: Vec<_> = (0..30)
        .step_by(7)
        .map(|start| batch.slice(start, 7.min(30 - start)))
        .collect();
    (stream_of(&batches, false), batch)
}

async fn look(request: &FindRequest) -> Result<Found, QueryError> {
    let (stream, batch) = stream();
    find(result_of(&stream), &batch.schema(), request, PATIENCE).await
}

fn rows(found: &Found) -> Vec<u64> {
    found.matches.iter().map(|found| found.row).collect()
}

#[tokio::test]
async fn cells_that_hold_the_text() {
    let found = look(&request("ROW 2")).await.unwrap();
    assert_eq!(rows(&found), [2, 20, 21, 22, 24, 26, 27, 28, 29]);
    assert_eq!(found.matches[0].columns, ["t"]);
    assert_eq!((found.next, found.searched), (None, 30));
    let both = look(&request("13")).await.unwrap();
    assert_eq!(both.matches.len(), 1);
    assert_eq!(both.matches[0].columns, ["n", "t"]);
    assert!(look(&request("null")).await.unwrap().matches.is_empty());
    assert_eq!(rows(&look(&request("STRAßE")).await.unwrap()), [3, 13, 23]);
    // Characters of a regular expression have no special meaning.
    assert!(look(&request("r.w")).await.unwrap().matches.is_empty());
}

#[tokio::test]
async fn times_are_found_as_their_zone_shows_them() {
    let stream = fixture("zones.arrows");
    let schema = read_stream(&stream).schema();
    let columns: Value = serde_json::from_slice(&fixture("zones.json")).unwrap();
    for column in columns.as_array().unwrap() {
        let name = column["name"].as_str().unwrap();
        for (row, text) in column["text"].as_array().unwrap().iter().enumerate() {
            let Some(text) = text.as_str() else { continue };
            let request = FindRequest {
                columns: Some(vec![name.to_owned()]),
                ..request(text)
            };
            let found = find(result_of(&stream), &schema, &request, PATIENCE).await;
            assert_eq!(rows(&found.unwrap()), [row as u64], "{name}: {text}");
        }
    }
}

#[tokio::test]
async fn case_and_columns() {
    let exact = FindRequest {
        match_case: true,
        ..request("Row")
    };
    assert!(look(&exact).await.unwrap().matches.is_empty());
    let numbers = FindRequest {
        columns: Some(vec!["n".into()]),
        ..request("7")
    };
    assert_eq!(rows(&look(&numbers).await.unwrap()), [7, 17, 27]);
    let unknown = FindRequest {
        columns: Some(vec!["m".into()]),
        ..request("7")
    };
    assert_eq!(
        look(&unknown).await.unwrap_err().kind,
        ErrorKind::UnknownColumn
    );
    for wrong in [
        request(""),
        FindRequest {
            limit: 0,
            ..request("x")
        },
    ] {
        assert_eq!(
            look(&wrong).await.unwrap_err().kind,
            ErrorKind::BadParameter
        );
    }
}

#[tokio::test]
async fn going_on_finds_each_row_once() {
    let all = rows(&look(&request("row")).await.unwrap());
    for limit in [1, 2, 5, 100] {
        let mut seen = Vec::new();
        let mut searched = 0;
        let mut from = Some(0);
        while let Some(row) = from {
            let next = FindRequest {
                from: row,
                limit,
                ..request("row")
            };
            let found = look(&next).await.unwrap();
            assert!(found.matches.len() <= limit);
            seen.extend(rows(&found));
            searched += found.searched;
            assert!(found.next.is_none_or(|next| next > row));
            from = found.next;
        }
        assert_eq!(seen, all, "limit {limit}");
        assert_eq!(searched, 30);
    }
}

#[tokio::test]
async fn a_result_may_begin_later() {
    let (stream, batch) = stream();
    let mut result = result_of(&stream);
    result.first_row = 1000;
    let late = FindRequest {
        from: 1010,
        ..request("1")
    };
    let found = find(result, &batch.schema(), &late, PATIENCE)
        .await
        .unwrap();
    assert_eq!(rows(&found)[..3], [1010, 1011, 1012]);
    assert_eq!(found.searched, 20);
}

#[tokio::test]
async fn time_is_over_before_the_rows_are() {
    let (stream, batch) = stream();
    let mut result = result_of(&stream);
    result.messages = result
        .messages
        .take(2)
        .chain(futures::stream::pending())
        .boxed();
    let found = find(
        result,
        &batch.schema(),
        &request("row"),
        Duration::from_millis(50),
    )
    .await;
    let found = found.unwrap();
    assert_eq!(found.next, Some(found.searched));
    assert!(found.searched <= 14);
}

#[tokio::test]
async fn a_failure_is_no_end() {
    let (stream, batch) = stream();
    let mut result = result_of(&stream);
    let failure = QueryError::new(ErrorKind::SourceChanged, "it changed", "");
    result.messages = result
        .messages
        .chain(futures::stream::iter([Err(failure)]))
        .boxed();
    let found = find(result, &batch.schema(), &request("nowhere"), PATIENCE).await;
    assert_eq!(found.unwrap_err().kind, ErrorKind::SourceChanged);
}

#[tokio::test]
async fn over_http() {
    let (server, _) = Server::of_scripts(vec![vec![Step::rows(0, 500)]; 2]).await;
    let outcome = server.post(&json!({ "table": "t" })).await;
    let id = outcome.header("x-query-id").to_owned();
    let found = server
        .json(&format!(
            "/v1/query/{id}/find?text=ROW%2049&columns=t&limit=12"
        ))
        .await;
    let rows: Vec<u64> = found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["row"].as_u64().unwrap())
        .collect();
    assert_eq!(
        rows,
        [49, 490, 491, 492, 493, 494, 495, 496, 497, 498, 499, 549]
    );
    assert_eq!(found["matches"][0]["columns"], json!(["t"]));
    assert_eq!(found["next"], 550);
    let rest = server
        .json(&format!(
            "/v1/query/{id}/find?text=ROW%2049&columns=t&from=550"
        ))
        .await;
    assert_eq!(rest["matches"].as_array().unwrap().len(), 10);
    assert_eq!(
        (&rest["next"], &rest["searched"]),
        (&Value::Null, &json!(450))
    );
    for (wrong, code) in [
        ("", "bad_parameter"),
        ("?text=", "bad_parameter"),
        ("?text=a&case=maybe", "bad_parameter"),
        ("?text=a&limit=100000", "bad_parameter"),
        ("?text=a&columns=x", "unknown_column"),
    ] {
        let refused = server.get(&format!("/v1/query/{id}/find{wrong}")).await;
        assert_eq!(refused.code(), code, "{wrong}");
    }
}
