//! Results with the same rows share a run, and readers that wait hold nothing that others need.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

use colonnade_server::AppConfig;
use serde_json::json;
use tokio::time::timeout;

use crate::support::*;

/// Far more than the buffers of a connection hold.
const MANY_ROWS: i64 = 1_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn results_with_the_same_rows_share_a_run() {
    let steps = [
        &[Step::rows(0, 1000), Step::Delay(Duration::from_millis(500))][..],
        &numbered(1, 20_000)[0],
    ];
    let (server, counts) = Server::of_scripts(vec![steps.concat()]).await;
    let path = |number, parameters| format!("/v1/tables/t/rows?id={}{parameters}", id(number));
    let first = server.open(&path(1, "")).await;
    let paths = [path(2, ""), path(3, "&offset=500"), path(4, "&limit=15000")];
    let others = futures::future::join_all(paths.iter().map(|path| server.get(path)));
    let (first, others) = tokio::join!(read(first), others);
    let whole = first.rows();
    assert_eq!(whole.num_rows(), 21_000);
    let expected = [(0, 21_000), (500, 20_500), (0, 15_000)];
    for (other, (first_row, num_rows)) in others.iter().zip(expected) {
        assert_eq!(other.rows(), whole.slice(first_row, num_rows));
    }
    for number in 1..5 {
        server.until_state(&id(number), "done").await;
    }
    assert_eq!(counts.begun.load(Ordering::SeqCst), 1);
    // Other columns are other rows, and so is another size of the messages.
    assert_eq!(
        server
            .get(&path(5, "&columns=n"))
            .await
            .rows()
            .num_columns(),
        1
    );
    assert_eq!(
        server.get(&path(6, "&batch_bytes=16384")).await.rows(),
        whole
    );
    assert_eq!(counts.begun.load(Ordering::SeqCst), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_one_result_leaves_the_run_to_the_other() {
    let script = vec![
        Step::rows(0, 1000),
        Step::Delay(Duration::from_secs(1)),
        Step::rows(1000, 1000),
    ];
    let (server, counts) = Server::of_scripts(vec![script]).await;
    let mut one = server
        .open(&format!("/v1/tables/t/rows?id={}", id(1)))
        .await;
    one.chunk().await.unwrap();
    let other = server
        .open(&format!("/v1/tables/t/rows?id={}", id(2)))
        .await;
    let record = format!("/v1/query/{}", id(1));
    assert_eq!(server.ask("DELETE", &record, &[], b"").await.status, 204);
    assert!(!read(one).await.is_whole);
    assert!(read(other).await.has_numbers(0..2000));
    assert_eq!(counts.begun.load(Ordering::SeqCst), 1);
}

/// A client that asks for the rows of `t` and reads nothing.
fn stalled(server: &Server, number: u32) -> TcpStream {
    let address = server.url.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    let path = format!("/v1/tables/t/rows?id={}", id(number));
    write!(
        socket,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    socket
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_reader_leaves_its_slot_and_goes_on_later() {
    for name in ["t.parquet", "t.csv"] {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join(name);
        if name == "t.csv" {
            let lines = (0..MANY_ROWS).map(|n| format!("{n},row {n}\n"));
            std::fs::write(&file, format!("n,t\n{}", lines.collect::<String>())).unwrap();
        } else {
            write_rows(&file, 0, MANY_ROWS);
        }
        let config = AppConfig {
            max_streams: 2,
            stall_timeout: Duration::from_millis(100),
            ..config()
        };
        let source = [format!("t={}", path(folder.path(), name))];
        let tables = colonnade_server::source::open_all(&source).unwrap();
        let server = Server::start(&config, tables).await;
        let sockets: Vec<_> = (1..9).map(|number| stalled(&server, number)).collect();
        let whole = timeout(PATIENCE, server.get("/v1/tables/t/rows"))
            .await
            .unwrap();
        assert!(whole.has_numbers(0..MANY_ROWS), "{name}");
        for mut socket in sockets {
            let reading = tokio::task::spawn_blocking(move || {
                let mut response = Vec::new();
                socket.read_to_end(&mut response).map(|_| response)
            });
            let response = timeout(PATIENCE, reading).await.unwrap().unwrap().unwrap();
            assert_eq!(readable(&unchunked(&response)), whole.numbers(), "{name}");
        }
    }
}

/// The body of a chunked response.
fn unchunked(response: &[u8]) -> Vec<u8> {
    let find = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).position(|w| w == what);
    let mut rest = &response[find(response, b"\r\n\r\n").unwrap() + 4..];
    let mut body = Vec::new();
    while let Some(end) = find(&rest[..rest.len().min(20)], b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).unwrap();
        let num_bytes = usize::from_str_radix(size, 16).unwrap();
        body.extend_from_slice(&rest[end + 2..end + 2 + num_bytes]);
        rest = &rest[end + 4 + num_bytes..];
    }
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_goes_on_where_the_last_one_stopped() {
    let script = vec![Step::Delay(Duration::from_secs(3)), Step::rows(0, 1000)];
    let (server, counts) = Server::of_scripts(vec![script]).await;
    let body = json!({ "table": "t", "sort": ["n"], "id": id(1), "linger_s": 0 }).to_string();
    let json = [("content-type", "application/json")];
    drop(
        server
            .ask("POST", "/v1/query", &json, body.as_bytes())
            .await,
    );
    let find = format!("/v1/query/{}/find?text=row+999", id(1));
    let mut found = server.json(&find).await;
    for _ in 0..3 {
        if found["next"] == json!(0) {
            found = server.json(&find).await;
        }
    }
    assert_eq!(found["matches"][0]["row"], 999, "{found}");
    assert!(counts.begun.load(Ordering::SeqCst) <= 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_any_size_are_kept_until_they_are_read() {
    let config = AppConfig {
        // The spools of all results together get an eighth.
        memory_bytes: 8 << 20,
        ..config()
    };
    let folder = tempfile::TempDir::new().unwrap();
    write_rows(&folder.path().join("t.parquet"), 0, 2 * MANY_ROWS);
    let source = [format!("t={}", path(folder.path(), "t.parquet"))];
    let server = Server::start(
        &config,
        colonnade_server::source::open_all(&source).unwrap(),
    )
    .await;
    let readers = (1..5).map(|number| {
        let path = format!("/v1/tables/t/rows?batch_bytes=16777216&id={}", id(number));
        let server = &server;
        async move { server.get(&path).await }
    });
    let outcomes = timeout(PATIENCE, futures::future::join_all(readers))
        .await
        .unwrap();
    for outcome in outcomes {
        assert!(outcome.has_numbers(0..2 * MANY_ROWS));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_result_waits_for_its_own_rows() {
    let (server, _) = Server::of_scripts(numbered(1, 10)).await;
    let over = |base, number| json!({ "query": id(base), "id": id(number), "sort": ["-n"] });
    server
        .get(&format!("/v1/tables/t/rows?id={}", id(2)))
        .await
        .rows();
    server.post(&over(2, 1)).await.rows();
    let base = format!("/v1/query/{}", id(2));
    assert_eq!(server.ask("DELETE", &base, &[], b"").await.status, 204);
    let itself = timeout(PATIENCE, server.post(&over(1, 2))).await.unwrap();
    itself.assert_refused(409, "id_in_use");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_request_gets_the_slot_of_a_stalled_one_at_once() {
    let folder = tempfile::TempDir::new().unwrap();
    write_rows(&folder.path().join("t.parquet"), 0, MANY_ROWS);
    let config = AppConfig {
        max_streams: 1,
        stall_timeout: Duration::from_secs(3600),
        ..config()
    };
    let source = [format!("t={}", path(folder.path(), "t.parquet"))];
    let tables = colonnade_server::source::open_all(&source).unwrap();
    let server = Server::start(&config, tables).await;
    let socket = stalled(&server, 1);
    while server.get(&format!("/v1/query/{}", id(1))).await.status == 404 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(
        server
            .get("/v1/tables/t/rows?limit=10")
            .await
            .has_numbers(0..10)
    );
    // Its client is still there.
    server.until_state(&id(1), "running").await;
    drop(socket);
    server.until_state(&id(1), "cancelled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_over_another_never_has_the_rows_of_its_successor() {
    let (server, _) = Server::of_scripts(numbered(1, 10)).await;
    let base = |sql: &str| json!({ "sql": sql, "id": id(1) });
    let over = |number| json!({ "query": id(1), "id": id(number) });
    for (number, sql) in [(2, "select 1 as a"), (3, "select 2 as a")] {
        server.post(&base(sql)).await.rows();
        let expected = i64::from(number) - 1;
        let derived = server.post(&over(number)).await;
        assert_eq!(derived.numbers(), [expected], "{sql}");
        let path = format!("/v1/query/{}", id(1));
        assert_eq!(server.ask("DELETE", &path, &[], b"").await.status, 204);
    }
    let rows = format!("/v1/query/{}/rows", id(2));
    assert_eq!(server.get(&rows).await.numbers(), [1]);
}
