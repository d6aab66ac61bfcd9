//! Rows of a result as an Arrow response.

use std::sync::Arc;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use tokio::sync::OwnedSemaphorePermit;

use crate::backend::request::Request;
use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::http::arrow_body::ArrowBody;
use crate::http::headers::{ARROW_STREAM, X_RESULT_ORDER, accepted_codec, streaming_headers};
use crate::results::Reader;

/// Runs a request, or finds the result with its id, and answers with its rows.
///
/// # Errors
/// Any failure before the first byte.
pub(super) async fn respond(
    app: &AppState,
    request: Request,
    has_checksums: bool,
    headers: &HeaderMap,
) -> Result<Response, QueryError> {
    let permit = permit(app)?;
    let reader = app.results.open(request, accepted_codec(headers)).await?;
    stream_rows(reader, has_checksums, permit).await
}

/// A permit for one of the `--max-streams` streams.
///
/// # Errors
/// `too_many_streams`.
pub(super) fn permit(app: &AppState) -> Result<OwnedSemaphorePermit, QueryError> {
    Arc::clone(&app.streams).try_acquire_owned().map_err(|_| {
        QueryError::new(
            ErrorKind::TooManyStreams,
            "all streams that this server permits are in use",
            "try again in a second, or start the server with a larger --max-streams",
        )
    })
}

/// The rows of a reader as a response.
///
/// # Errors
/// The query failed before its first row.
pub(super) async fn stream_rows(
    reader: Reader,
    has_checksums: bool,
    permit: OwnedSemaphorePermit,
) -> Result<Response, QueryError> {
    let order = reader.record().order().map_or("none", |order| order.name());
    let content_type = match reader.codec() {
        Some(codec) => format!("{ARROW_STREAM}; codecs={}", codec.name()),
        None => ARROW_STREAM.to_owned(),
    };
    let headers = (
        streaming_headers(reader.record().id),
        [(CONTENT_TYPE, content_type)],
        [(X_RESULT_ORDER, order)],
    );
    let body = ArrowBody::open(reader, has_checksums, permit).await?;
    Ok((headers, Body::from_stream(body.into_stream())).into_response())
}
