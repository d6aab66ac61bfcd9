//! The export route: headers, progress, and how its body ends.

use serde_json::{Value, json};

use crate::export::{read_parquet, records};
use crate::support::{Server, Step, id, scripted};

/// Runs a query and returns its id.
async fn asked(server: &Server, body: Value) -> String {
    let outcome = server.post(&body).await;
    assert!(outcome.is_complete());
    outcome.header("x-query-id").to_owned()
}

#[tokio::test]
async fn over_http() {
    let (table, _) = scripted("say \"ü\"", vec![vec![Step::rows(0, 500)]; 2]);
    let server = Server::of(vec![table]).await;
    let id = asked(&server, json!({ "table": "say \"ü\"" })).await;
    let file = server
        .get(&format!("/v1/query/{id}/export?format=csv"))
        .await;
    assert_eq!(file.status, 200);
    assert!(file.is_whole);
    assert_eq!(
        file.header("content-type"),
        "text/csv; charset=utf-8; header=present"
    );
    assert_eq!(
        file.header("content-disposition"),
        "attachment; filename=\"say____.csv\"; filename*=UTF-8''say%20%22%C3%BC%22.csv"
    );
    assert_eq!(file.header("x-content-type-options"), "nosniff");
    let text = String::from_utf8(file.body).unwrap();
    let records = records(&text);
    assert_eq!(records.len(), 1001);
    assert_eq!(records[1000][1].as_deref(), Some("row 499"));
    let status = server.json(&format!("/v1/query/{id}")).await;
    let wanted = json!({
        "format": "csv", "rows": 1000, "bytes": text.len(), "state": "done"
    });
    assert_eq!(status["export"], wanted);

    let named = server
        .get(&format!(
            "/v1/query/{id}/export?format=csv&name=last%20%C3%BC"
        ))
        .await;
    assert_eq!(
        named.header("content-disposition"),
        "attachment; filename=\"last__.csv\"; filename*=UTF-8''last%20%C3%BC.csv"
    );
    for name in ["", "a%2Fb", "a%0Ab", &"x".repeat(129)] {
        let wrong = server
            .get(&format!("/v1/query/{id}/export?format=csv&name={name}"))
            .await;
        assert_eq!(wrong.code(), "bad_parameter", "{name}");
    }

    let parquet = server
        .get(&format!("/v1/query/{id}/export?format=parquet"))
        .await;
    assert_eq!(read_parquet(parquet.body).num_rows(), 1000);
    let wrong = server
        .get(&format!("/v1/query/{id}/export?format=xlsx"))
        .await;
    assert_eq!(wrong.code(), "bad_parameter");
    let late = "select arrow_cast(9223372036854775807, 'Timestamp(Second, None)') as late";
    let late = asked(&server, json!({ "sql": late })).await;
    let refused = server
        .get(&format!("/v1/query/{late}/export?format=parquet"))
        .await;
    refused.assert_refused(422, "not_exportable");
    let detail = refused.problem()["detail"].to_string();
    assert!(detail.contains("late"), "{detail}");
    let interval = asked(&server, json!({ "sql": "select interval '1 day' as i" })).await;
    let refused = server
        .get(&format!("/v1/query/{interval}/export?format=parquet"))
        .await;
    refused.assert_refused(422, "not_exportable");
}

#[tokio::test(flavor = "multi_thread")]
async fn json_of_several_kinds_comes_out_as_it_came_in() {
    let lines = "{\"v\":1}\n{\"v\":{\"a\":[1,null]}}\n{\"v\":\"x\"}\n{\"v\":null}\n{\"v\":\"1\"}\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.ndjson");
    std::fs::write(&file, lines).unwrap();
    let server = Server::of_files(&[file.display().to_string()]).await;
    for query in [json!({ "table": "t" }), json!({ "sql": "select v from t" })] {
        let id = asked(&server, query).await;
        let route = format!("/v1/query/{id}/export?format=ndjson");
        let text = String::from_utf8(server.get(&route).await.body).unwrap();
        assert_eq!(text, lines);
    }
}

#[tokio::test]
async fn only_the_rows_that_were_asked_for() {
    let (server, _) = Server::of_scripts(vec![vec![Step::rows(0, 100)]]).await;
    let id = asked(&server, json!({ "table": "t", "offset": 10, "limit": 5 })).await;
    let file = server
        .get(&format!("/v1/query/{id}/export?format=ndjson"))
        .await;
    let text = String::from_utf8(file.body).unwrap();
    assert_eq!(text.lines().count(), 5);
    assert!(text.starts_with("{\"n\":10,"), "{text}");
}

#[tokio::test]
async fn a_late_failure_breaks_the_body() {
    let rows = Step::rows(0, 100_000);
    let late = Step::Delay(std::time::Duration::from_millis(300));
    let (server, _) = Server::of_scripts(vec![vec![rows, late, Step::Fail]]).await;
    let id = id(7);
    let mut first = server
        .open(&format!("/v1/tables/t/rows?id={id}&linger_s=60"))
        .await;
    first.chunk().await.unwrap();
    let file = server
        .get(&format!("/v1/query/{id}/export?format=csv"))
        .await;
    assert_eq!(file.status, 200);
    assert!(!file.is_whole, "the file looks complete");
    assert!(
        file.body.starts_with(b"n,t\n0,row 0\n"),
        "the rows before the failure are missing"
    );
    let status = server.json(&format!("/v1/query/{id}")).await;
    assert_eq!(status["export"]["state"], "failed");
}

#[tokio::test]
async fn no_rows_are_a_whole_file() {
    let (server, _) = Server::of_scripts(vec![vec![]]).await;
    let id = asked(&server, json!({ "table": "t" })).await;
    for (format, begins) in [
        ("csv", "n,t\n"),
        ("ndjson", ""),
        ("arrow", "ARROW1"),
        ("parquet", "PAR1"),
    ] {
        let path = format!("/v1/query/{id}/export?format={format}");
        let file = server.get(&path).await;
        assert_eq!(file.status, 200, "{format}");
        assert!(file.is_whole, "{format}");
        assert!(file.body.starts_with(begins.as_bytes()), "{format}");
    }
}
