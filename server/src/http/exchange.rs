//! Middleware of every route: counts and logs requests, and reads small bodies.

use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, TRANSFER_ENCODING};
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::LengthLimitError;

use crate::error::{ErrorKind, QueryError};
use crate::http::{AppState, MAX_BODY_BYTES};

/// Counts and logs a request. Closes its connection where a proxy could read the same bytes as two
/// requests.
pub(super) async fn observe(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    // RFC 9112, 6.1: a request with Transfer-Encoding and Content-Length closes its connection.
    // hyper removes Content-Length from such a request, so every chunked one closes.
    let is_chunked = request.headers().contains_key(TRANSFER_ENCODING);
    let mut response = next.run(request).await;
    if is_chunked {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let status = response.status().as_u16();
    app.metrics.request(status);
    tracing::debug!(%method, path, status, ms = began.elapsed().as_millis() as u64, "request");
    response
}

/// Reads a small body before its handler runs, within `MAX_BODY_BYTES` and `body_timeout`.
pub(super) async fn read_body(
    State(app): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    if !matches!(*request.method(), Method::POST | Method::DELETE) {
        return next.run(request).await;
    }
    let too_large = || {
        QueryError::new(
            ErrorKind::BodyTooLarge,
            "the body is larger than 1 MiB",
            "send a smaller query",
        )
    };
    // The lower bound is Content-Length, or 0 where there is none.
    if request.body().size_hint().lower() > MAX_BODY_BYTES as u64 {
        return too_large().into_response();
    }
    let (parts, body) = request.into_parts();
    let read = axum::body::to_bytes(body, MAX_BODY_BYTES);
    let error = match tokio::time::timeout(app.body_timeout, read).await {
        Ok(Ok(bytes)) => {
            return next
                .run(Request::from_parts(parts, Body::from(bytes)))
                .await;
        }
        Ok(Err(error)) if is_too_long(&error) => too_large(),
        Ok(Err(_)) => QueryError::new(
            ErrorKind::BadJson,
            "the body could not be read",
            "send it again",
        ),
        Err(_) => body_timeout(),
    };
    error.into_response()
}

/// A body did not arrive within `body_timeout`.
pub(super) fn body_timeout() -> QueryError {
    QueryError::new(
        ErrorKind::RequestTimeout,
        "the body did not arrive in time",
        "send it again, without a pause",
    )
}

fn is_too_long(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<LengthLimitError>)
}
