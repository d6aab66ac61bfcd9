//! `GET /metrics`.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use crate::http::AppState;

/// All counters as OpenMetrics text.
pub(super) async fn metrics(State(app): State<AppState>) -> Response {
    let usage = app.engine.usage();
    app.metrics
        .memory_reserved_bytes
        .set(usage.memory_bytes as i64);
    app.metrics.spill_bytes.set(usage.spill_bytes as i64);
    let stored_bytes = app.uploads.used_bytes() as i64;
    app.metrics.upload_stored_bytes.set(stored_bytes);
    let headers = [
        (
            CONTENT_TYPE,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
        (CACHE_CONTROL, "no-store"),
    ];
    (headers, app.metrics.text()).into_response()
}
