//! What the server answers while it opens its sources.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONNECTION, REFRESH, RETRY_AFTER};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use crate::error::{ErrorKind, QueryError};
use crate::http::connections::{ConnectionLimits, Connections};
use crate::metrics::Metrics;

const LIMITS: ConnectionLimits = ConnectionLimits {
    max_connections: 64,
    header_timeout: Duration::from_secs(10),
};

/// How long a response may take that is under way when the server has started.
const GRACE: Duration = Duration::from_millis(250);

/// What a browser shows that opens the dashboard too early.
const PAGE: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Colonnade</title>\
    <p>Colonnade is opening its sources. This page reloads by itself.";

/// Answers every request with 503 until `started` is ready.
pub async fn answer_while_starting(listener: Arc<TcpListener>, started: impl Future<Output = ()>) {
    let router = Router::new().route("/", get(page)).fallback(busy);
    let connections = Connections::new(router, Arc::new(Metrics::new()), LIMITS);
    connections.accept(&listener, started).await;
    connections.finish(GRACE).await;
}

/// It reloads itself, on a connection to the server that has started.
async fn page() -> Response {
    let headers = [
        (RETRY_AFTER, "1"),
        (REFRESH, "1"),
        (CACHE_CONTROL, "no-store"),
        (CONNECTION, "close"),
    ];
    (StatusCode::SERVICE_UNAVAILABLE, headers, Html(PAGE)).into_response()
}

async fn busy() -> Response {
    let starting = QueryError::new(
        ErrorKind::Busy,
        "the server is opening its sources",
        "try again in a second",
    );
    ([(CONNECTION, "close")], starting).into_response()
}
