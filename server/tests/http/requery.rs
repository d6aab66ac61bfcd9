//! Kept results that are sorted, filtered and summarised like tables.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_result_can_be_queried_like_a_table() {
    let (server, counts) = Server::of_scripts(numbered(3, 10_000)).await;
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

    // The rows of the original request.
    let part = json!({ "table": "t", "id": id(3), "offset": 100, "limit": 50 });
    assert_eq!(server.post(&part).await.numbers().len(), 50);
    let part = server
        .post(&json!({ "query": id(3), "sort": ["-n"] }))
        .await;
    assert_eq!(part.numbers(), (100..150).rev().collect::<Vec<_>>());
    let summary = server
        .json(&format!("/v1/query/{}/summary?column=n", id(3)))
        .await;
    assert_eq!(
        (&summary["rows"], &summary["min"]),
        (&json!(50), &json!("100"))
    );
    let more = json!({ "table": "t", "id": id(3), "offset": 100, "limit": 51 });
    assert_eq!(
        server.post(&more).await.code(),
        "id_in_use",
        "not the same request"
    );

    let unknown = server.post(&json!({ "query": id(7) })).await;
    unknown.assert_refused(404, "unknown_query");
    let wrong = server.post(&json!({ "query": "7" })).await;
    wrong.assert_refused(400, "bad_parameter");
    let column = server
        .post(&json!({ "query": id(1), "columns": ["x"] }))
        .await;
    column.assert_refused(400, "unknown_column");
    let both = server.post(&json!({ "query": id(1), "table": "t" })).await;
    both.assert_refused(400, "bad_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_still_runs_can_be_queried() {
    let (server, _) = Server::of_scripts(numbered(3, 100_000)).await;
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
    let (server, _) = Server::of_scripts(numbered(1, 1000)).await;
    let own = json!({ "query": id(1), "id": id(1) });
    assert_eq!(server.post(&own).await.code(), "unknown_query");
    let status = server.get(&format!("/v1/query/{}", id(1))).await;
    assert_eq!(status.code(), "unknown_query");
}
