//! Failures, and readers that leave.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use colonnade_server::AppConfig;

use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_in_the_middle_ends_without_the_marker() {
    for (number, last, code) in [
        (1, Step::Fail, "execution_error"),
        (2, Step::Panic, "internal"),
    ] {
        let good = vec![Step::rows(0, 50_000)];
        // Later than the status waits, so that the failure comes after the first byte.
        let bad = vec![
            Step::rows(50_000, 10),
            Step::Delay(Duration::from_millis(250)),
            last,
        ];
        let (server, counts) = Server::of_scripts(vec![good, bad, vec![Step::Forever]]).await;
        let outcome = server
            .get(&format!("/v1/tables/t/rows?id={}", id(number)))
            .await;
        assert_eq!(outcome.status, 200);
        assert!(!outcome.is_whole, "the body ended as if it were complete");
        assert!(!outcome.body.ends_with(&MARKER));
        let read = readable(&outcome.body).len();
        let record = server.until_state(&id(number), "failed").await;
        assert_eq!(record["error"]["code"], code);
        assert!(!record["error"]["message"].as_str().unwrap().is_empty());
        assert_eq!(record["rows"], serde_json::Value::Null);
        assert_eq!(record["rows_sent"], read, "rows before the failure arrive");
        assert!(read >= 50_000);
        counts.until_idle().await;
        assert_eq!(server.get("/healthz").await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_before_the_first_row_is_a_problem() {
    for (last, status, code) in [
        (Step::Fail, 422, "execution_error"),
        (Step::Panic, 500, "internal"),
    ] {
        let (server, _) = Server::of_scripts(vec![vec![last]]).await;
        let outcome = server.get(&format!("/v1/tables/t/rows?id={}", id(3))).await;
        // Printing a panic can take longer than the status waits.
        if outcome.status == 200 {
            assert!(code == "internal" && !outcome.is_whole && !outcome.body.ends_with(&MARKER));
        } else {
            assert_eq!((outcome.status, outcome.code().as_str()), (status, code));
        }
        server.until_state(&id(3), "failed").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_leaves_stops_the_work() {
    let (server, counts) = Server::of_scripts(vec![vec![Step::Forever]; 3]).await;
    let mut response = server
        .open(&format!("/v1/tables/t/rows?id={}", id(4)))
        .await;
    response.chunk().await.unwrap().unwrap();
    assert!(counts.running.load(Ordering::SeqCst) > 0);
    drop(response);
    let left = Instant::now();
    server.until_state(&id(4), "cancelled").await;
    counts.until_idle().await;
    assert!(
        left.elapsed() < Duration::from_secs(1),
        "{:?}",
        left.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_leaves_a_silent_stream_stops_the_work() {
    let (server, counts) = Server::of_scripts(vec![vec![Step::Silence]]).await;
    let response = server
        .open(&format!("/v1/tables/t/rows?id={}", id(5)))
        .await;
    drop(response);
    server.until_state(&id(5), "cancelled").await;
    counts.until_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delete_stops_the_work() {
    let (server, counts) = Server::of_scripts(vec![vec![Step::Forever]; 3]).await;
    let mut response = server
        .open(&format!("/v1/tables/t/rows?id={}", id(6)))
        .await;
    response.chunk().await.unwrap().unwrap();
    let record = format!("/v1/query/{}", id(6));
    assert_eq!(server.ask("DELETE", &record, &[], b"").await.status, 204);
    counts.until_idle().await;
    let end = read(response).await;
    assert!(
        !end.is_whole && !end.body.ends_with(&MARKER),
        "a cancelled stream looks complete"
    );
    // It is forgotten, but a request for its rows does not report it as unknown.
    let rows = server.get(&format!("{record}/rows")).await;
    rows.assert_refused(410, "rows_expired");
    assert_eq!(server.ask("DELETE", &record, &[], b"").await.status, 404);
    assert_eq!(
        server.get(&format!("/v1/query/{}", id(6))).await.code(),
        "unknown_query"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_reader_costs_a_bounded_number_of_rows() {
    let stream_memory_bytes = 8 << 20;
    let config = AppConfig {
        stream_memory_bytes,
        ..config()
    };
    let (server, counts) = Server::start_scripts(&config, vec![vec![Step::Forever]; 4]).await;
    let address = server.url.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    write!(
        socket,
        "GET /v1/tables/t/rows HTTP/1.1\r\nHost: {address}\r\n\r\n"
    )
    .unwrap();
    let num_rows = counts.until_still().await;
    // A row takes about 20 bytes. The sockets' buffers hold some megabytes in addition to the budget.
    let at_most = (stream_memory_bytes as i64 + (12 << 20)) / 16;
    assert!(
        num_rows < at_most,
        "{num_rows} rows were produced without a reader"
    );
    assert!(
        counts.running.load(Ordering::SeqCst) > 0,
        "it waits for its reader"
    );
    drop(socket);
    counts.until_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_runs_too_long_fails() {
    let (table, counts) = scripted("t", vec![vec![Step::rows(0, 10), Step::Silence]]);
    let query_timeout = Some(Duration::from_millis(300));
    let server = Server::start(
        &AppConfig {
            query_timeout,
            ..config()
        },
        vec![table],
    )
    .await;
    let outcome = server.get(&format!("/v1/tables/t/rows?id={}", id(7))).await;
    assert!(!outcome.is_whole && !outcome.body.ends_with(&MARKER));
    assert_eq!(
        server.until_state(&id(7), "failed").await["error"]["code"],
        "query_timeout"
    );
    counts.until_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn busy() {
    let (table, _) = scripted("t", vec![vec![Step::rows(0, 10), Step::Silence]]);
    let server = Server::start(
        &AppConfig {
            max_streams: 1,
            queue_timeout: Duration::from_millis(200),
            ..config()
        },
        vec![table],
    )
    .await;
    let mut first = server.open("/v1/tables/t/rows").await;
    first.chunk().await.unwrap().unwrap();
    let second = server.get("/v1/tables/t/rows").await;
    second.assert_refused(503, "busy");
    assert_eq!(second.header("retry-after"), "1");
    drop(first);
    let deadline = Instant::now() + PATIENCE;
    while server.get("/v1/tables/t/rows?limit=1").await.status == 503 {
        assert!(Instant::now() < deadline, "the slot is not released");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_ends_streams_without_the_marker() {
    let (mut server, counts) = Server::of_scripts(vec![vec![Step::Forever]]).await;
    let mut response = server.open("/v1/tables/t/rows").await;
    response.chunk().await.unwrap().unwrap();
    server.stop();
    let end = read(response).await;
    assert!(!end.is_whole && !end.body.ends_with(&MARKER));
    counts.until_idle().await;
}

/// Leaves a join of n² pairs; `matching` is its condition, which decides how many it yields.
async fn leave_a_join(server: &Server, number: u32, n: u64, matching: &str) {
    let sql = format!(
        "select count(*) from generate_series(1, {n}) a(x), generate_series(1, {n}) b(y) where {matching}"
    );
    let body = serde_json::json!({"sql": sql, "id": id(number)}).to_string();
    let response = server
        .ask(
            "POST",
            "/v1/query",
            &[("content-type", "application/json")],
            body.as_bytes(),
        )
        .await;
    assert_eq!(response.status, 200);
    drop(response);
    server.until_state(&id(number), "cancelled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_join_holds_nobody_up() {
    let server = Server::of(Vec::new()).await;
    // The first join yields rows to the aggregate without end; the second compares pairs and yields none.
    // Neither would yield to another query by itself.
    leave_a_join(&server, 20, 3_000_000, "x < y").await;
    leave_a_join(&server, 21, 150_000, "x + y < 0").await;
    let answer = tokio::time::timeout(PATIENCE, server.sql("select 1 as one")).await;
    assert!(answer.unwrap().is_complete());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_change_while_they_are_read_are_no_whole_result() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    let rows = |letter: &str| {
        format!(
            "name\n{}",
            format!("{}\n", letter.repeat(99)).repeat(300_000)
        )
    };
    std::fs::write(&file, rows("a")).unwrap();
    let server = Server::of_files(&[file.display().to_string()]).await;
    let mut response = server
        .open(&format!("/v1/tables/t/rows?id={}", id(22)))
        .await;
    response.chunk().await.unwrap().unwrap();
    let mut writer = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
    writer.write_all(rows("b").as_bytes()).unwrap();
    writer.sync_all().unwrap();
    let outcome = read(response).await;
    assert!(!outcome.is_whole && !outcome.body.ends_with(&MARKER));
    let record = server.until_state(&id(22), "failed").await;
    assert_eq!(record["error"]["code"], "source_changed");
    assert!(
        server.get("/v1/tables/t/rows").await.is_complete(),
        "the new file can be read"
    );
}
