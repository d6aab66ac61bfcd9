//! Quotas of kept results, and which are dropped first.

use std::time::Duration;

use colonnade_server::AppConfig;
use serde_json::json;

use crate::support::*;

fn with_spool(spool_bytes: u64) -> AppConfig {
    AppConfig {
        spool_bytes,
        ..config()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_lingers_as_long_as_it_was_told_to() {
    let (server, counts) = Server::of_scripts(vec![vec![Step::Forever]]).await;
    let path = format!("/v1/tables/t/rows?id={}&linger_s=1", id(1));
    let mut response = server.open(&path).await;
    response.chunk().await.unwrap();
    drop(response);
    server.until_state(&id(1), "cancelled").await;
    counts.until_idle().await;
    let long = server.get("/v1/tables/t/rows?linger_s=601").await;
    long.assert_refused(400, "bad_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_kept_rows_make_room() {
    // Each result is about 40 MB, of which 8 stay in memory.
    let (server, _) = Server::start_scripts(&with_spool(80 << 20), numbered(4, 400_000)).await;
    // Different statements, since the same one would share its rows.
    let query = |number| {
        let sql = format!("select n, t from t where n > -{number}");
        json!({ "sql": sql, "id": id(number) })
    };
    let whole = server.post(&query(1)).await.rows();
    for number in 2..5 {
        assert_eq!(server.post(&query(number)).await.rows(), whole);
    }
    let record = server.json(&format!("/v1/query/{}", id(1))).await;
    assert_eq!(
        (&record["memory_bytes"], &record["disk_bytes"]),
        (&json!(0), &json!(0))
    );
    let again = server.get(&format!("/v1/query/{}/rows", id(1))).await;
    assert_eq!(again.rows(), whole, "another run has the same rows");
    let kept = server
        .get(&format!("/v1/query/{}/rows?offset=1234567", id(4)))
        .await;
    assert_eq!(kept.rows(), whole.slice(1_234_567, 1_600_000 - 1_234_567));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_larger_than_the_disk_drops_its_head() {
    let (server, _) = Server::start_scripts(&with_spool(4 << 20), numbered(4, 400_000)).await;
    let path = format!("/v1/query/{}", id(1));
    let body = json!({ "sql": "select n, t from t where n >= 0", "id": id(1) });
    let whole = server.post(&body).await.rows();
    assert_eq!(
        whole.num_rows(),
        1_600_000,
        "the reader at the tail gets all rows"
    );
    let record = server.json(&path).await;
    let first_row = record["first_row"].as_u64().unwrap();
    assert!((1..1_600_000).contains(&first_row), "{record}");
    for offset in [first_row, first_row - 1] {
        let rows = server.get(&format!("{path}/rows?offset={offset}")).await;
        let expected = whole.slice(offset as usize, 1_600_000 - offset as usize);
        assert_eq!(rows.rows(), expected, "from {offset} on");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_of_rows_that_went_gets_them_of_another_run() {
    let (server, _) = Server::start_scripts(&with_spool(2 << 20), numbered(4, 400_000)).await;
    let body = json!({ "sql": "select n, t from t where n >= 0", "id": id(1) }).to_string();
    let json = [("content-type", "application/json")];
    let mut slow = server
        .ask("POST", "/v1/query", &json, body.as_bytes())
        .await;
    let first = slow.chunk().await;
    let fast = read(
        server
            .ask("POST", "/v1/query", &json, body.as_bytes())
            .await,
    )
    .await;
    assert_eq!(fast.rows().num_rows(), 1_600_000);
    let rest = read(slow).await;
    let body = [first.unwrap().unwrap().to_vec(), rest.body].concat();
    assert_eq!(read_stream(&body), fast.rows());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_nobody_asks_for_is_forgotten_with_its_files() {
    let config = AppConfig {
        keep_results: Duration::from_millis(300),
        ..config()
    };
    let (server, _) = Server::start_scripts(&config, numbered(4, 400_000)).await;
    let body = json!({ "sql": "select n, t from t where n >= 0", "id": id(1) });
    assert_eq!(server.post(&body).await.rows().num_rows(), 1_600_000);
    let disk_bytes = async || {
        let metrics = server.get("/metrics").await;
        let text = String::from_utf8(metrics.body).unwrap();
        let line = text
            .lines()
            .find(|line| line.starts_with("colonnade_spool_disk_bytes "));
        line.unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    assert!(disk_bytes().await > 0);
    let deadline = std::time::Instant::now() + PATIENCE;
    while disk_bytes().await > 0 {
        assert!(std::time::Instant::now() < deadline, "the files stay");
        tokio::time::sleep(Duration::from_millis(20)).await;
        // A request for the list does not count as a request for the result.
        server.json("/v1/query").await;
    }
    let gone = server.get(&format!("/v1/query/{}/rows", id(1))).await;
    gone.assert_refused(404, "unknown_query");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_runs_than_the_memory_permits() {
    let config = AppConfig {
        memory_bytes: 1 << 20,
        queue_timeout: Duration::from_millis(200),
        ..config()
    };
    let (server, _) = Server::start_scripts(&config, vec![vec![Step::Forever]]).await;
    let mut running = Vec::new();
    for number in 1..5 {
        let mut response = server
            .open(&format!(
                "/v1/tables/t/rows?id={}&batch_bytes=10000{number}",
                id(number)
            ))
            .await;
        assert_eq!(response.status, 200);
        response.chunk().await.unwrap();
        running.push(response);
    }
    let refused = server.get("/v1/tables/t/rows").await;
    refused.assert_refused(503, "busy");
    assert_eq!(refused.header("retry-after"), "1");
    // Another reader of a running result starts no run.
    let shared = server
        .get(&format!("/v1/query/{}/rows?limit=5", id(1)))
        .await;
    assert_eq!(shared.numbers().len(), 5);
    running.pop();
    server.until_state(&id(4), "cancelled").await;
    let mut next = server.open("/v1/tables/t/rows").await;
    assert_eq!(next.status, 200);
    next.chunk().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sort_beyond_the_disk_says_so() {
    let config = AppConfig {
        memory_bytes: 128 << 20,
        ..with_spool(4 << 20)
    };
    let (server, _) = Server::start_scripts(&config, numbered(1, 200_000)).await;
    for sql in [
        "select n, repeat('x', 500) as wide from t order by t desc",
        "select n, repeat('x', 500) as wide from t order by t desc, n",
    ] {
        let number = sql.len() as u32;
        server.post(&json!({ "sql": sql, "id": id(number) })).await;
        let record = server.until_state(&id(number), "failed").await;
        assert_eq!(record["error"]["code"], "resources_exhausted", "{record}");
    }
}
