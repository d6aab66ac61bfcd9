//! What nobody reads holds nothing that others want.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use colonnade_server::AppConfig;
use colonnade_server::source::open_all;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::parquet::arrow::ArrowWriter;
use futures::future::join_all;
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::client::Response;
use crate::scripted::{Step, numbered, scripted};
use crate::support::*;

/// Rows of a table whose bytes no connection holds.
const NUM_ROWS: i64 = 1_000_000;

/// A server for four runs and three streams at the same time.
fn narrow() -> AppConfig {
    AppConfig {
        memory_bytes: 150 << 20,
        stream_memory_bytes: 1 << 20,
        max_streams: 3,
        queue_timeout: PATIENCE,
        ..config()
    }
}

/// The begin of a response that is read no further.
async fn begun(server: &Server, body: &serde_json::Value) -> Response {
    let headers = [("content-type", "application/json")];
    let body = body.to_string();
    let mut response = server
        .ask("POST", "/v1/query", &headers, body.as_bytes())
        .await;
    assert_eq!(response.status, 200);
    response.chunk().await.unwrap().unwrap();
    response
}

async fn assert_answers(server: &Server) {
    let count = server.sql("select count(*) as n from t where n < 10").await;
    assert_eq!(count.numbers(), [10]);
    assert_eq!(
        server
            .get("/v1/tables/t/rows?limit=5")
            .await
            .numbers()
            .len(),
        5
    );
}

async fn metric(server: &Server, name: &str) -> u64 {
    let metrics = String::from_utf8(server.get("/metrics").await.body).unwrap();
    let value = |line: &str| line.strip_prefix(name)?.trim().parse().ok();
    metrics.lines().find_map(value).unwrap()
}

/// The path of a file with the numbers from 0 on, in a folder that lasts as long as the first value.
fn file_of(num_rows: i64) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let numbers = Int64Array::from_iter_values(0..num_rows);
    let rows = RecordBatch::try_from_iter([("n", Arc::new(numbers) as ArrayRef)]).unwrap();
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    (folder, path.display().to_string())
}

/// More of them than may run wait for much longer than a request does.
#[tokio::test(flavor = "multi_thread")]
async fn sorts_that_wait_for_each_other_keep_nobody_out() {
    const FILE_ROWS: i64 = 1_000_000;
    let (_folder, path) = file_of(FILE_ROWS);
    let config = AppConfig {
        max_streams: 64,
        queue_timeout: Duration::from_millis(400),
        ..narrow()
    };
    let server = Server::start(&config, open_all(&[path]).unwrap()).await;
    // Each begins at another row, so that each has a run of its own.
    let sorts = (0..6).map(|first_row| {
        let query = json!({ "table": "t", "sort": [{ "column": "n" }], "id": id(first_row as u32), "offset": first_row });
        let server = &server;
        async move {
            let sorted = server.post(&query).await;
            sorted.has_numbers(first_row..FILE_ROWS)
        }
    });
    let newcomers = async {
        loop {
            assert_eq!(
                server
                    .get("/v1/tables/t/rows?limit=5")
                    .await
                    .numbers()
                    .len(),
                5
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let sorted = tokio::select! {
        sorted = join_all(sorts) => sorted,
        () = newcomers => unreachable!(),
    };
    assert_eq!(sorted, [true; 6]);
}

/// Those that work and those that wait leave runs to readers of tables.
#[tokio::test(flavor = "multi_thread")]
async fn statements_that_take_long_keep_no_reader_of_a_table_out() {
    let (_folder, path) = file_of(10);
    let config = AppConfig {
        max_streams: 64,
        queue_timeout: Duration::from_millis(400),
        ..narrow()
    };
    let server = Server::start(&config, open_all(&[path]).unwrap()).await;
    let statements = (0..6).map(|number| {
        let sql = format!(
            "select count(*) from generate_series(1, 100000000) a(x), \
             generate_series(1, 1000000) b(y) where (x + y) % 7 = {number}"
        );
        let (query, server) = (json!({ "sql": sql, "id": id(number) }), &server);
        async move { server.post(&query).await }
    });
    let newcomers = async {
        while metric(&server, "colonnade_run_slots_taken").await < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for _ in 0..20 {
            let rows = server.get("/v1/tables/t/rows").await;
            assert!(rows.has_numbers(0..10));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        _ = join_all(statements) => unreachable!("the statements take longer than the newcomers"),
        () = newcomers => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_take_long_keep_no_newcomer_out() {
    const FILE_ROWS: i64 = 8_000_000;
    let (_folder, path) = file_of(FILE_ROWS);
    let config = AppConfig {
        max_streams: 64,
        queue_timeout: Duration::from_secs(4),
        ..narrow()
    };
    let server = Server::start(&config, open_all(&[path]).unwrap()).await;
    let hasten = CancellationToken::new();
    // Far from each other, so that each has a run of its own.
    let first_row = |k: i64| k * FILE_ROWS / 20;
    let slow = (0..6).map(|k| {
        let (server, hasten) = (&server, &hasten);
        async move {
            let path = format!(
                "/v1/tables/t/rows?offset={}&id={}",
                first_row(k),
                id(k as u32)
            );
            let mut response = server.open(&path).await;
            let mut body = Vec::new();
            // It reads all the time, so that its run is never idle.
            while let Some(chunk) = response.chunk().await.unwrap() {
                body.extend_from_slice(&chunk);
                let pause = Duration::from_millis(10);
                let _ = tokio::time::timeout(pause, hasten.cancelled()).await;
            }
            Outcome {
                status: response.status,
                headers: response.headers.clone(),
                body,
                is_whole: true,
            }
        }
    });
    let newcomer = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_answers(&server).await;
        hasten.cancel();
    };
    let (ends, ()) = tokio::join!(join_all(slow), newcomer);
    for (k, end) in (0..).zip(ends) {
        assert!(end.has_numbers(first_row(k)..FILE_ROWS), "{k}");
    }
}

/// With many slots, all of which were taken together, turns end before a newcomer gives up.
#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_of_readers_keeps_no_newcomer_out() {
    const FILE_ROWS: i64 = 8_000_000;
    const NUM_SLOTS: i64 = 40;
    let (_folder, path) = file_of(FILE_ROWS);
    let config = AppConfig {
        memory_bytes: NUM_SLOTS as u64 * (40 << 20),
        max_streams: 64,
        queue_timeout: Duration::from_millis(1600),
        ..narrow()
    };
    let server = Server::start(&config, open_all(&[path]).unwrap()).await;
    let slow = (0..NUM_SLOTS).map(|k| {
        let server = &server;
        async move {
            let first_row = k * FILE_ROWS / (2 * NUM_SLOTS);
            let path = format!("/v1/tables/t/rows?offset={first_row}&id={}", id(k as u32));
            let mut response = server.open(&path).await;
            while response.chunk().await.unwrap().is_some() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    });
    let newcomer = async {
        while metric(&server, "colonnade_run_slots_taken").await < NUM_SLOTS as u64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_answers(&server).await;
    };
    tokio::select! {
        _ = join_all(slow) => unreachable!("the readers take longer than the newcomer"),
        () = newcomer => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_that_are_not_read_go_on_when_they_are() {
    let (server, _) = Server::start_scripts(&narrow(), numbered(2, NUM_ROWS / 2)).await;
    let whole = json!({ "sql": "select n, t from t", "id": id(1) });
    assert!(server.post(&whole).await.is_complete());
    let path = format!("/v1/query/{}/export?format=csv", id(1));
    let file = server.get(&path).await;
    assert!(file.is_whole);
    let mut exports = Vec::new();
    for _ in 0..6 {
        let mut export = server.open(&path).await;
        assert_eq!(export.status, 200);
        export.chunk().await.unwrap().unwrap();
        exports.push(export);
    }
    assert_answers(&server).await;
    for export in join_all(exports.into_iter().map(read)).await {
        assert!(export.is_whole);
        assert!(file.body.ends_with(&export.body));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_is_not_read_runs_again_when_it_is() {
    let (server, counts) = Server::start_scripts(&narrow(), numbered(1, NUM_ROWS)).await;
    let mut unread = Vec::new();
    // As many as may work at the same time.
    for k in 0..2 {
        let sql = format!("select n, t from t where n >= {k}");
        let body = json!({ "sql": sql, "id": id(k) });
        unread.push(begun(&server, &body).await);
    }
    assert_answers(&server).await;
    // One has given way, and none that did not have to.
    let is_one = || counts.running.load(Ordering::SeqCst) == 1;
    until(is_one, "two statements or none are at work").await;
    for k in 2..8 {
        let sql = format!("select n, t from t where n >= {k}");
        let body = json!({ "sql": sql, "id": id(k) });
        unread.push(begun(&server, &body).await);
    }
    assert_answers(&server).await;
    for (k, end) in join_all(unread.into_iter().map(read))
        .await
        .iter()
        .enumerate()
    {
        assert!(end.is_whole, "{k}: {}", end.body.len());
        // The first bytes were read before.
        assert!(readable(&end.body).is_empty() || end.body.ends_with(&MARKER));
        let record = server.until_state(&id(k as u32), "done").await;
        assert_eq!(record["rows"], json!(NUM_ROWS - k as i64), "{k}");
    }
    counts.until_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_was_left_gives_way() {
    let (server, counts) = Server::start_scripts(&narrow(), numbered(1, NUM_ROWS)).await;
    for k in 0..8 {
        let sql = format!("select n, t from t where n >= {k}");
        let body = json!({ "sql": sql, "id": id(k), "linger_s": 600 });
        drop(begun(&server, &body).await);
    }
    assert_answers(&server).await;
    for k in 0..8 {
        let path = format!("/v1/query/{}/rows?offset=500000", id(k));
        let rows = server.get(&path).await.numbers();
        assert_eq!(rows.first(), Some(&(500_000 + i64::from(k))));
        assert_eq!(rows.last(), Some(&(NUM_ROWS - 1)));
    }
    counts.until_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_would_be_others_are_kept_while_there_is_room() {
    let (table, counts) = scripted("t", numbered(1, 300_000));
    let (endless, _) = scripted("endless", vec![vec![Step::Forever]]);
    let config = AppConfig {
        spool_bytes: 64 << 20,
        ..narrow()
    };
    let server = Server::start(&config, vec![table, endless]).await;
    // All processes but the last, whose statement ends after its turn.
    let mut unread = Vec::new();
    for k in 0..3 {
        let sql = "select n, t, random() as r from t";
        unread.push(begun(&server, &json!({ "sql": sql, "id": id(k) })).await);
    }
    // They go on while others want their processes.
    let deadline = std::time::Instant::now() + PATIENCE;
    while counts.running.load(Ordering::SeqCst) > 0 {
        assert!(std::time::Instant::now() < deadline, "work goes on");
        join_all((0..4).map(|_| assert_answers(&server))).await;
    }
    for (k, end) in (0..).zip(join_all(unread.into_iter().map(read)).await) {
        let record = server.json(&format!("/v1/query/{}", id(k))).await;
        assert!(end.is_whole && end.body.ends_with(&MARKER), "{record}");
    }
    // Without room, the rows are gone.
    let mut unread = Vec::new();
    for k in 3..6 {
        let sql = "select n, t, random() as r from endless";
        unread.push(begun(&server, &json!({ "sql": sql, "id": id(k) })).await);
    }
    assert_answers(&server).await;
    let failed = async |k| {
        let record = server.json(&format!("/v1/query/{}", id(k))).await;
        record["error"]["code"] == json!("not_repeatable")
    };
    let deadline = std::time::Instant::now() + PATIENCE;
    while !join_all((3..6).map(failed)).await.contains(&true) {
        assert!(
            std::time::Instant::now() < deadline,
            "nothing is given back"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_result_keeps_no_rows_for_a_client_that_reads_nothing() {
    let (server, counts) = Server::start_scripts(&narrow(), numbered(1, NUM_ROWS)).await;
    let kept_bytes = async || {
        let memory_bytes = metric(&server, "colonnade_spool_memory_bytes").await;
        memory_bytes + metric(&server, "colonnade_spool_disk_bytes").await
    };
    let body = |k| json!({ "sql": "select n, t, random() as r from t", "id": id(k) });
    assert!(server.post(&body(0)).await.is_complete());
    let mut complete = server.open(&format!("/v1/query/{}/rows", id(0))).await;
    complete.chunk().await.unwrap().unwrap();
    let running = begun(&server, &body(1)).await;
    assert!(kept_bytes().await > 10 << 20);
    for k in 0..2 {
        let path = format!("/v1/query/{}", id(k));
        let deleted = server.ask("DELETE", &path, &[], b"").await;
        assert_eq!(deleted.status, 204);
    }
    let deadline = std::time::Instant::now() + PATIENCE;
    // The rest is what waits in the responses.
    while kept_bytes().await > 2 << 20 {
        assert!(std::time::Instant::now() < deadline, "rows are kept");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    counts.until_idle().await;
    for unread in [complete, running] {
        assert!(!read(unread).await.is_whole);
    }
}

/// The run of a result that another one reads has no slot of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_of_a_result_that_is_not_read_goes_on_when_it_is() {
    let (server, counts) = Server::start_scripts(&narrow(), numbered(1, NUM_ROWS)).await;
    drop(begun(&server, &json!({ "table": "t", "id": id(1) })).await);
    server.until_state(&id(1), "cancelled").await;
    let filter = json!({ "op": "ge", "column": "n", "value": 5 });
    let body = json!({ "query": id(1), "filter": filter, "id": id(2) });
    let unread = begun(&server, &body).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let end = read(unread).await;
    assert!(end.is_whole && end.body.ends_with(&MARKER));
    let record = server.until_state(&id(2), "done").await;
    assert_eq!(record["rows"], json!(NUM_ROWS - 5));
    counts.until_idle().await;
}

/// A client that scrolls far leaves a result for each screen.
#[tokio::test(flavor = "multi_thread")]
async fn windows_that_were_read_keep_within_the_memory() {
    const NUM_WINDOWS: i64 = 40;
    const WINDOW_ROWS: i64 = 1 << 17;
    const MEMORY_BYTES: u64 = 64 << 20;
    let folder = tempfile::tempdir().unwrap();
    let numbers = Int64Array::from_iter_values(0..NUM_WINDOWS * WINDOW_ROWS);
    let rows = RecordBatch::try_from_iter([("n", Arc::new(numbers) as ArrayRef)]).unwrap();
    let sources = [write_arrow(folder.path(), "t", &rows)];
    let config = AppConfig {
        memory_bytes: MEMORY_BYTES,
        ..config()
    };
    let server = Server::following(&config, &sources).await;
    for window in 0..NUM_WINDOWS {
        let first = window * WINDOW_ROWS;
        let path = format!("/v1/tables/t/rows?offset={first}&limit={WINDOW_ROWS}");
        let rows = server.get(&path).await;
        assert!(rows.is_complete() && rows.has_numbers(first..first + WINDOW_ROWS));
    }
    let kept_bytes = metric(&server, "colonnade_spool_memory_bytes").await;
    assert!((1..=MEMORY_BYTES / 8).contains(&kept_bytes), "{kept_bytes}");
    // The rows that went can be read again.
    assert!(
        server
            .get("/v1/tables/t/rows?limit=9")
            .await
            .has_numbers(0..9)
    );
}

/// What the system holds for a connection is not in the memory of the server.
#[tokio::test(flavor = "multi_thread")]
async fn the_system_holds_little_for_a_client_that_reads_nothing() {
    const MAX_BYTES: u64 = 2 << 20;
    let (_folder, path) = file_of(2_000_000);
    let server = Server::start(&narrow(), open_all(&[path]).unwrap()).await;
    let _unread = server.open("/v1/tables/t/rows").await;
    let mut sent_bytes = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        match metric(&server, "colonnade_bytes_sent_total").await {
            now if now == sent_bytes => break,
            now => sent_bytes = now,
        }
    }
    assert!((1..MAX_BYTES).contains(&sent_bytes), "{sent_bytes}");
}
