//! What the server answers while it opens its sources.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONNECTION;
use axum::response::IntoResponse;
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

/// Answers every request with `busy` until `started` is ready.
pub async fn answer_while_starting(listener: Arc<TcpListener>, started: impl Future<Output = ()>) {
    let router = Router::new().fallback(|| async {
        let starting = QueryError::new(
            ErrorKind::Busy,
            "the server is opening its sources",
            "try again in a second",
        );
        // The next request is for the server that has started.
        ([(CONNECTION, "close")], starting).into_response()
    });
    let connections = Connections::new(router, Arc::new(Metrics::new()), LIMITS);
    connections.accept(&listener, started).await;
    connections.finish(GRACE).await;
}
