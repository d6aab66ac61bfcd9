//! The metrics.

use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_counted() {
    let rows = |num_rows| vec![Step::Rows { start: 0, num_rows }];
    let (good, _) = scripted("good", vec![rows(5), rows(7)]);
    let (bad, _) = scripted("bad", vec![vec![Step::Fail]]);
    let server = Server::of(vec![good, bad]).await;
    let outcome = server.get("/v1/tables/good/rows").await;
    assert_eq!(outcome.numbers().len(), 12);
    server
        .until_state(outcome.header("x-query-id"), "done")
        .await;
    assert!(server.get("/v1/tables/bad/rows").await.status >= 400);
    assert_eq!(server.get("/v1/tables/none/rows").await.status, 404);

    let metrics = server.get("/metrics").await;
    assert!(
        metrics
            .header("content-type")
            .starts_with("text/plain; version=0.0.4")
    );
    let text = String::from_utf8(metrics.body).unwrap();
    for line in [
        "colonnade_streams_started_total 3",
        "colonnade_streams_running 0",
        "colonnade_streams_ended_total{state=\"done\"} 1",
        "colonnade_streams_ended_total{state=\"failed\"} 2",
        "colonnade_rows_sent_total 12",
        "colonnade_first_batch_seconds_count 1",
        "colonnade_requests_total{status=\"4xx\"} 2",
        "colonnade_memory_reserved_bytes 0",
        "colonnade_spill_bytes 0",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
    }
}
