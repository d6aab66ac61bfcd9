//! What every request and its response go through, outside of who may ask.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::{ErrorKind, QueryError};
use crate::http::{AppState, MAX_BODY_BYTES};

/// Counts and logs a request, and ends its connection where another reader of the same bytes could
/// see a second request in them.
pub(super) async fn observe(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    // hyper drops a Content-Length beside it, so that a request with both cannot be told apart.
    // RFC 9112, 6.1: the connection ends after the response to such a request.
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

/// Reads a small body before its handler begins, within a size and a time.
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
    let announced = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<u64>().ok());
    if announced.is_some_and(|num_bytes| num_bytes > MAX_BODY_BYTES as u64) {
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

/// A body that does not come.
pub(super) fn body_timeout() -> QueryError {
    QueryError::new(
        ErrorKind::RequestTimeout,
        "the body did not arrive in time",
        "send it again, without a pause",
    )
}

fn is_too_long(error: &axum::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if error.to_string().contains("length limit exceeded") {
            return true;
        }
        source = error.source();
    }
    false
}
