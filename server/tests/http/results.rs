//! Results that are kept: any reader, any row.

use std::sync::atomic::Ordering;
use std::time::Duration;

use colonnade_server::AppConfig;
use serde_json::json;

use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn any_row_of_a_kept_result_can_be_read_again() {
    let (server, counts) = Server::of_scripts(numbered(3, 10_000)).await;
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
    // The end of a range that is read is not the end of the result.
    let path = format!("/v1/tables/endless/rows?id={}", id(5));
    drop(server.open(&path).await);
    server.until_state(&id(5), "cancelled").await;
    let part = format!("/v1/query/{}/rows?offset=10&limit=100", id(5));
    assert_eq!(server.get(&part).await.rows().num_rows(), 100);
    let record = server.until_state(&id(5), "cancelled").await;
    assert_eq!(record["rows"], json!(null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minimal_answer_begins_a_result() {
    let (server, counts) = Server::of_scripts(numbered(4, 100)).await;
    let minimal = ("prefer", "respond-async, Return = \"minimal\"; foo");
    let json = ("content-type", "application/json");
    let table = format!("/v1/tables/t/rows?id={}&linger_s=60", id(1));
    let statement = json!({ "sql": "select n from t", "id": id(2), "linger_s": 60 }).to_string();
    for (k, num_begun, method, path, body) in [
        (1, 4, "GET", &*table, ""),
        (2, 8, "POST", "/v1/query", &*statement),
    ] {
        let begun = server
            .ask(method, path, &[minimal, json], body.as_bytes())
            .await;
        assert_eq!(begun.status, 204);
        let told = ["preference-applied", "x-query-id", "x-result-order"];
        let told = told.map(|name| begun.headers[name].to_str().unwrap().to_owned());
        assert_eq!(told, ["return=minimal", &id(k), "partition"]);
        assert!(read(begun).await.body.is_empty());
        for (offset, limit) in [(0, 10), (10, 300), (310, 90)] {
            let part = format!("/v1/query/{}/rows?offset={offset}&limit={limit}", id(k));
            let numbers: Vec<_> = (offset..offset + limit).collect();
            assert_eq!(server.get(&part).await.numbers(), numbers);
        }
        // Nothing is begun again. On a busy machine, fewer partitions of the statement may be begun.
        let begun = counts.begun.load(Ordering::SeqCst);
        assert!(begun <= num_begun, "{begun} partitions began");
    }
    // A result that has begun is found.
    let known = format!("/v1/query/{}/rows", id(1));
    assert_eq!(server.ask("GET", &known, &[minimal], b"").await.status, 204);
    // What cannot begin is refused, as without the preference.
    let wrong = json!({ "sql": "select no from t" }).to_string();
    let refused = server
        .ask("POST", "/v1/query", &[minimal, json], wrong.as_bytes())
        .await;
    assert_eq!(refused.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_readers_share_one_run() {
    let (server, counts) = Server::of_scripts(numbered(4, 20_000)).await;
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
    let (server, counts) = Server::start_scripts(&config, vec![vec![Step::Forever]; 2]).await;
    let path = format!("/v1/tables/t/rows?id={}&linger_s=600", id(1));
    let mut slow = server.open(&path).await;
    slow.chunk().await.unwrap();
    let produced = counts.until_still().await;
    // A second reader of existing rows causes no work.
    let early = server
        .get(&format!("/v1/query/{}/rows?limit=500", id(1)))
        .await;
    assert_eq!(early.numbers().len(), 500);
    assert_eq!(counts.until_still().await, produced);
    // The run is held, idle, for the next reader.
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
async fn a_failure_is_told_behind_the_last_good_row() {
    let good = vec![Step::rows(0, 30_000)];
    let bad = vec![Step::Delay(Duration::from_millis(200)), Step::Fail];
    let (server, _) = Server::of_scripts(vec![good, bad]).await;
    server.get(&format!("/v1/tables/t/rows?id={}", id(1))).await;
    server.until_state(&id(1), "failed").await;
    let window = server
        .get(&format!("/v1/query/{}/rows?limit=100", id(1)))
        .await;
    assert_eq!(window.numbers().len(), 100);
    let tail = server
        .get(&format!("/v1/query/{}/rows?offset=30000", id(1)))
        .await;
    tail.assert_refused(422, "execution_error");
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
    lost.assert_refused(409, "not_repeatable");
    server.stop_and_wait().await;

    std::fs::write(&csv, format!("n,m\n{lines}1,2\n")).unwrap();
    let server = Server::start(&config, open()).await;
    let changed = server
        .get(&format!("/v1/query/{}/rows?offset=777", id(1)))
        .await;
    changed.assert_refused(409, "source_changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_served_is_done() {
    let (server, _) = Server::of_scripts(numbered(3, 10_000)).await;
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
    let (server, _) = Server::of_scripts(numbered(1, 1000)).await;
    let unknown = server.get(&format!("/v1/query/{}/rows", id(1))).await;
    unknown.assert_refused(404, "unknown_query");
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
    bad.assert_refused(400, "bad_parameter");
}
