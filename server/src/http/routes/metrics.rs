//! `GET /metrics`.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use crate::allocator::held_bytes;
use crate::byte_pool::ledger;
use crate::http::AppState;
use crate::http::headers::text;

/// All counters as OpenMetrics text.
pub(super) async fn metrics(State(app): State<AppState>, headers: HeaderMap) -> Response {
    let metrics = &app.metrics;
    metrics
        .memory_held_bytes
        .set(held_bytes().unwrap_or_default() as i64);
    metrics
        .memory_granted_bytes
        .set(ledger::granted_bytes() as i64);
    let usage = app.engine.usage();
    app.metrics
        .memory_reserved_bytes
        .set(usage.memory_bytes as i64);
    app.metrics.spill_bytes.set(usage.spill_bytes as i64);
    let stored_bytes = app.uploads.used_bytes() as i64;
    app.metrics.upload_stored_bytes.set(stored_bytes);
    let results = &app.results;
    app.metrics
        .run_ahead_bytes
        .set(results.pool.used_bytes() as i64);
    let (runs, streams) = (&results.run_slots, &app.streams);
    app.metrics.run_slots_taken.set(runs.num_taken() as i64);
    app.metrics
        .stream_slots_taken
        .set(streams.num_taken() as i64);
    let spool = &results.spool_storage;
    app.metrics
        .spool_memory_bytes
        .set(spool.memory().used_bytes() as i64);
    app.metrics
        .spool_disk_bytes
        .set(spool.disk().used_bytes() as i64);
    let kept = results.registry.num_kept() as i64;
    app.metrics.results_kept.set(kept);
    // Readers of the older Prometheus format treat lines that they do not know as comments.
    let accepts_openmetrics = text(&headers, ACCEPT)
        .is_some_and(|accept| accept.contains("application/openmetrics-text"));
    let content_type = if accepts_openmetrics {
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    } else {
        "text/plain; version=0.0.4; charset=utf-8"
    };
    let headers = [(CONTENT_TYPE, content_type), (CACHE_CONTROL, "no-store")];
    (headers, app.metrics.text()).into_response()
}
