//! Results that are kept: any reader, any row, within the quotas.

use std::sync::atomic::Ordering;
use std::time::Duration;

use colonnade_server::AppConfig;
use serde_json::json;

use crate::support::*;

fn numbered(num_parts: i64, rows: i64) -> Vec<Vec<Step>> {
    (0..num_parts)
        .map(|part| {
            let batches = (0..rows / 1000).map(|k| Step::Rows {
                start: part * rows + k * 1000,
                num_rows: 1000,
            });
            batches.collect()
        })
        .collect()
}

fn with_spool(spool_bytes: u64) -> AppConfig {
    AppConfig {
        spool_bytes,
        ..config()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_row_of_a_kept_result_can_be_read_again() {
    let (table, counts) = scripted("t", numbered(3, 10_000));
    let server = Server::of(vec![table]).await;
    let body = json!({ "sql": "select n, t from t where n % 3 > 0", "id": id(1) });
    let whole = server.post(&body).await.rows();
    let begun = counts.begun.load(Ordering::SeqCst);
    let mut random = Random(11);
    for _ in 0..60 {
        let (offset, limit) = (random.below(21_000), random.below(3000));
        let path = format!("/v1/query/{}/rows?offset={offset}&limit={limit}", id(1));
        let start = (offset as usize).min(whole.num_rows());
        let num_rows = (limit as usize).min(whole.num_rows() - start);
        assert_eq!(
            server.get(&path).await.rows(),
            whole.slice(start, num_rows),
            "{path}"
        );
    }
    // The same request with the same id reads the same result.
    let again = json!({ "sql": "select n, t from t where n % 3 > 0", "id": id(1), "offset": 5 });
    assert_eq!(
        server.post(&again).await.rows(),
        whole.slice(5, whole.num_rows() - 5)
    );
    assert_eq!(
        counts.begun.load(Ordering::SeqCst),
        begun,
        "nothing ran again"
    );
    let record = server.json(&format!("/v1/query/{}", id(1))).await;
    assert_eq!(
        (&record["state"], &record["rows"], &record["way"]),
        (&json!("done"), &json!(20_000), &json!("spool"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_an_end_like_any_other() {
    let (table, _) = scripted("t", numbered(3, 10_000));
    let (endless, _) = scripted("endless", vec![vec![Step::Forever]]);
    let server = Server::of(vec![table, endless]).await;
    for (k, range, rows) in [
        (1, "limit=12000", 12_000),
        (2, "offset=500&limit=1000", 1500),
        (3, "offset=29990&limit=1000", 30_000),
        (4, "limit=0", 0),
    ] {
        let path = format!("/v1/tables/t/rows?id={}&{range}", id(k));
        assert!(server.get(&path).await.is_complete(), "{range}");
        let record = server.json(&format!("/v1/query/{}", id(k))).await;
        let told = (&record["state"], &record["rows"]);
        assert_eq!(told, (&json!("done"), &json!(rows)), "{range}");
    }
    // The end of a part that somebody reads is not the end of the result.
    let path = format!("/v1/tables/endless/rows?id={}", id(5));
    drop(server.open(&path).await);
    server.until_state(&id(5), "cancelled").await;
    let part = format!("/v1/query/{}/rows?offset=10&limit=100", id(5));
    assert_eq!(server.get(&part).await.rows().num_rows(), 100);
    let record = server.until_state(&id(5), "cancelled").await;
    assert_eq!(record["rows"], json!(null));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_readers_share_one_run() {
    let (table, counts) = scripted("t", numbered(4, 20_000));
    let server = Server::of(vec![table]).await;
    let path = format!("/v1/tables/t/rows?id={}&linger_s=60", id(1));
    let first = server.open(&path).await;
    let (offset, from_middle) = (33_333, format!("/v1/query/{}/rows?offset=33333", id(1)));
    let (a, b, c) = tokio::join!(read(first), server.get(&path), server.get(&from_middle));
    assert_eq!(a.rows(), b.rows());
    assert_eq!(c.rows(), a.rows().slice(offset, 80_000 - offset));
    assert_eq!(counts.begun.load(Ordering::SeqCst), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_waits_for_a_reader_at_the_tail() {
    let config = AppConfig {
        stream_memory_bytes: 1 << 20,
        ..config()
    };
    let (table, counts) = scripted("t", vec![vec![Step::Forever]; 2]);
    let server = Server::start(&config, vec![table]).await;
    let path = format!("/v1/tables/t/rows?id={}&linger_s=600", id(1));
    let mut slow = server.open(&path).await;
    slow.chunk().await.unwrap();
    let produced = counts.until_still().await;
    // A second reader of rows that are there makes nobody work.
    let early = server
        .get(&format!("/v1/query/{}/rows?limit=500", id(1)))
        .await;
    assert_eq!(early.numbers().len(), 500);
    assert_eq!(counts.until_still().await, produced);
    // Held, idle, for the next reader.
    drop(slow);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(counts.until_still().await, produced);
    let record = server.json(&format!("/v1/query/{}", id(1))).await;
    assert_eq!(record["state"], "running");
    let next = server
        .get(&format!("/v1/query/{}/rows?offset=1000&limit=100", id(1)))
        .await;
    assert_eq!(next.numbers(), (1000..1100).collect::<Vec<_>>());
    server
        .ask("DELETE", &format!("/v1/query/{}", id(1)), &[], b"")
        .await;
    counts.until_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_lingers_as_long_as_it_was_told_to() {
    let (table, counts) = scripted("t", vec![vec![Step::Forever]]);
    let server = Server::of(vec![table]).await;
    let path = format!("/v1/tables/t/rows?id={}&linger_s=1", id(1));
    let mut response = server.open(&path).await;
    response.chunk().await.unwrap();
    drop(response);
    server.until_state(&id(1), "cancelled").await;
    counts.until_idle().await;
    let long = server.get("/v1/tables/t/rows?linger_s=601").await;
    assert_eq!((long.status, long.code().as_str()), (400, "bad_parameter"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_told_behind_the_last_good_row() {
    let good = vec![Step::Rows {
        start: 0,
        num_rows: 30_000,
    }];
    let bad = vec![Step::Delay(Duration::from_millis(200)), Step::Fail];
    let (table, _) = scripted("t", vec![good, bad]);
    let server = Server::of(vec![table]).await;
    server.get(&format!("/v1/tables/t/rows?id={}", id(1))).await;
    server.until_state(&id(1), "failed").await;
    let window = server
        .get(&format!("/v1/query/{}/rows?limit=100", id(1)))
        .await;
    assert_eq!(window.numbers().len(), 100);
    let tail = server
        .get(&format!("/v1/query/{}/rows?offset=30000", id(1)))
        .await;
    assert_eq!(
        (tail.status, tail.code().as_str()),
        (422, "execution_error")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_kept_rows_make_room() {
    let (table, _) = scripted("t", numbered(4, 400_000));
    // Each result is about 40 MB, of which 8 stay in memory.
    let server = Server::start(&with_spool(80 << 20), vec![table]).await;
    let query = |number| json!({ "sql": "select n, t from t where n >= 0", "id": id(number) });
    let whole = server.post(&query(1)).await.rows();
    for number in 2..5 {
        assert_eq!(server.post(&query(number)).await.rows(), whole);
    }
    let gone = server.get(&format!("/v1/query/{}/rows", id(1))).await;
    assert_eq!((gone.status, gone.code().as_str()), (410, "rows_expired"));
    let kept = server
        .get(&format!("/v1/query/{}/rows?offset=1234567", id(4)))
        .await;
    assert_eq!(kept.rows(), whole.slice(1_234_567, 1_600_000 - 1_234_567));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_larger_than_the_disk_drops_its_head() {
    let (table, _) = scripted("t", numbered(4, 400_000));
    let server = Server::start(&with_spool(4 << 20), vec![table]).await;
    let path = format!("/v1/query/{}", id(1));
    let body = json!({ "sql": "select n, t from t where n >= 0", "id": id(1) });
    let whole = server.post(&body).await.rows();
    assert_eq!(
        whole.num_rows(),
        1_600_000,
        "the reader at the tail lacks nothing"
    );
    let record = server.json(&path).await;
    let first_row = record["first_row"].as_u64().unwrap();
    assert!((1..1_600_000).contains(&first_row), "{record}");
    let gone = server
        .get(&format!("{path}/rows?offset={}", first_row - 1))
        .await;
    assert_eq!((gone.status, gone.code().as_str()), (410, "rows_expired"));
    assert!(
        gone.problem()["hint"]
            .as_str()
            .unwrap()
            .contains(&first_row.to_string())
    );
    let tail = server.get(&format!("{path}/rows?offset={first_row}")).await;
    assert_eq!(
        tail.rows(),
        whole.slice(first_row as usize, 1_600_000 - first_row as usize)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_of_rows_that_went_is_told_so() {
    let (table, _) = scripted("t", numbered(4, 400_000));
    let server = Server::start(&with_spool(2 << 20), vec![table]).await;
    let body = json!({ "sql": "select n, t from t where n >= 0", "id": id(1) }).to_string();
    let json = [("content-type", "application/json")];
    let mut slow = server
        .ask("POST", "/v1/query", &json, body.as_bytes())
        .await;
    slow.chunk().await.unwrap();
    let fast = read(
        server
            .ask("POST", "/v1/query", &json, body.as_bytes())
            .await,
    )
    .await;
    assert_eq!(fast.rows().num_rows(), 1_600_000);
    let slow = read(slow).await;
    assert!(
        !slow.is_whole && !slow.body.ends_with(&MARKER),
        "rows are missing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_restart_lost_is_read_again_where_that_is_certain() {
    let folder = tempfile::tempdir().unwrap();
    let config = AppConfig {
        data_dir: Some(folder.path().join("data")),
        ..config()
    };
    let csv = path(folder.path(), "t.csv");
    let lines: String = (0..5000)
        .map(|k| format!("{k},{}\n", (k * 7919) % 1000))
        .collect();
    std::fs::write(&csv, format!("n,m\n{lines}")).unwrap();
    let sources = [csv.clone()];
    let open = || colonnade_server::source::open_all(&sources).unwrap();
    let sorted = json!({ "table": "t", "sort": ["m"], "id": id(1) });
    let plain = json!({ "sql": "select n from t where m > 10", "id": id(2) });
    let unordered = json!({ "sql": "select m, count(*) from t group by m", "id": id(3) });

    let mut server = Server::start(&config, open()).await;
    let whole: Vec<_> = [
        server.post(&sorted).await.rows(),
        server.post(&plain).await.rows(),
        server.post(&unordered).await.rows(),
    ]
    .into();
    server.stop_and_wait().await;

    let mut server = Server::start(&config, open()).await;
    for (number, whole) in [(1, &whole[0]), (2, &whole[1])] {
        let path = format!("/v1/query/{}/rows?offset=777", id(number));
        let again = server.get(&path).await.rows();
        assert_eq!(again, whole.slice(777, whole.num_rows() - 777));
    }
    let lost = server
        .get(&format!("/v1/query/{}/rows?offset=5", id(3)))
        .await;
    assert_eq!((lost.status, lost.code().as_str()), (410, "rows_expired"));
    server.stop_and_wait().await;

    std::fs::write(&csv, format!("n,m\n{lines}1,2\n")).unwrap();
    let server = Server::start(&config, open()).await;
    let changed = server
        .get(&format!("/v1/query/{}/rows?offset=777", id(1)))
        .await;
    assert_eq!(
        (changed.status, changed.code().as_str()),
        (409, "source_changed")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_served_is_done() {
    let (table, _) = scripted("t", numbered(3, 10_000));
    let server = Server::of(vec![table]).await;
    for number in 1..100 {
        let (offset, limit) = (number * 100, number % 3 * 700);
        let path = format!(
            "/v1/tables/t/rows?id={}&offset={offset}&limit={limit}",
            id(number)
        );
        assert!(server.get(&path).await.is_complete());
        let record = server.json(&format!("/v1/query/{}", id(number))).await;
        assert_eq!(record["state"], "done", "{record}");
        assert_eq!(record["rows_sent"], limit);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_and_wrong_ids() {
    let (table, _) = scripted("t", numbered(1, 1000));
    let server = Server::of(vec![table]).await;
    let unknown = server.get(&format!("/v1/query/{}/rows", id(1))).await;
    assert_eq!(
        (unknown.status, unknown.code().as_str()),
        (404, "unknown_query")
    );
    for path in ["/v1/query/1/rows", "/v1/query/..%2f..%2fetc/rows"] {
        let wrong = server.get(path).await;
        assert_eq!(
            (wrong.status, wrong.code().as_str()),
            (400, "bad_parameter"),
            "{path}"
        );
    }
    server.get(&format!("/v1/tables/t/rows?id={}", id(2))).await;
    let bad = server
        .get(&format!("/v1/query/{}/rows?rows=5", id(2)))
        .await;
    assert_eq!((bad.status, bad.code().as_str()), (400, "bad_parameter"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_can_be_queried_like_a_table() {
    let (table, counts) = scripted("t", numbered(3, 10_000));
    let server = Server::of(vec![table]).await;
    let body = json!({ "sql": "select n % 7 as m, n from t where n % 2 = 0", "id": id(1) });
    let base = server.post(&body).await.rows();
    let begun = counts.begun.load(Ordering::SeqCst);
    let sorted = server
        .post(
            &json!({ "query": id(1), "sort": ["-m"], "columns": ["n", "m"], "id": id(2),
            "filter": { "op": "ne", "column": "m", "value": 3 }, "limit": 5000 }),
        )
        .await
        .rows();
    let (ms, ns) = (numbers(&base, 0), numbers(&base, 1));
    let mut expected: Vec<_> = ms.into_iter().zip(ns).filter(|(m, _)| *m != 3).collect();
    expected.sort_by_key(|(m, _)| -m);
    expected.truncate(5000);
    let found: Vec<_> = numbers(&sorted, 1)
        .into_iter()
        .zip(numbers(&sorted, 0))
        .collect();
    assert_eq!(found, expected, "ties in row order");
    assert_eq!(
        counts.begun.load(Ordering::SeqCst),
        begun,
        "nothing ran again"
    );
    let again = server
        .get(&format!("/v1/query/{}/rows?offset=4000", id(2)))
        .await;
    assert_eq!(again.rows(), sorted.slice(4000, 1000));

    let unknown = server.post(&json!({ "query": id(7) })).await;
    assert_eq!(
        (unknown.status, unknown.code().as_str()),
        (404, "unknown_query")
    );
    let wrong = server.post(&json!({ "query": "7" })).await;
    assert_eq!(
        (wrong.status, wrong.code().as_str()),
        (400, "bad_parameter")
    );
    let column = server
        .post(&json!({ "query": id(1), "columns": ["x"] }))
        .await;
    assert_eq!(
        (column.status, column.code().as_str()),
        (400, "unknown_column")
    );
    let both = server.post(&json!({ "query": id(1), "table": "t" })).await;
    assert_eq!((both.status, both.code().as_str()), (400, "bad_parameter"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_still_runs_can_be_queried() {
    let (table, _) = scripted("t", numbered(3, 100_000));
    let server = Server::of(vec![table]).await;
    let path = format!("/v1/tables/t/rows?id={}&linger_s=60", id(1));
    let slow = server.open(&path).await;
    let last = server
        .post(&json!({ "query": id(1), "sort": ["-n"], "limit": 3 }))
        .await;
    assert_eq!(last.numbers(), [299_999, 299_998, 299_997]);
    assert_eq!(read(slow).await.rows().num_rows(), 300_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_query_waits_for_its_own_rows() {
    let (table, _) = scripted("t", numbered(1, 1000));
    let server = Server::of(vec![table]).await;
    let own = json!({ "query": id(1), "id": id(1) });
    assert_eq!(server.post(&own).await.code(), "unknown_query");
    let status = server.get(&format!("/v1/query/{}", id(1))).await;
    assert_eq!(status.code(), "unknown_query");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_nobody_asks_for_is_forgotten_with_its_files() {
    let config = AppConfig {
        keep_results: Duration::from_millis(300),
        ..config()
    };
    let (table, _) = scripted("t", numbered(4, 400_000));
    let server = Server::start(&config, vec![table]).await;
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
        // Looking at the list is no request for the result.
        server.json("/v1/query").await;
    }
    let gone = server.get(&format!("/v1/query/{}/rows", id(1))).await;
    assert_eq!((gone.status, gone.code().as_str()), (404, "unknown_query"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_runs_than_the_memory_permits() {
    let config = AppConfig {
        memory_bytes: 1 << 20,
        ..config()
    };
    let (table, _) = scripted("t", vec![vec![Step::Forever]]);
    let server = Server::start(&config, vec![table]).await;
    let mut running = Vec::new();
    for number in 1..5 {
        let mut response = server
            .open(&format!("/v1/tables/t/rows?id={}", id(number)))
            .await;
        assert_eq!(response.status, 200);
        response.chunk().await.unwrap();
        running.push(response);
    }
    let refused = server.get("/v1/tables/t/rows").await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (503, "too_many_streams")
    );
    assert_eq!(refused.header("retry-after"), "1");
    // One more reader of what runs costs no run.
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
