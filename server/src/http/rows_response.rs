//! Rows of a result as an Arrow response.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::backend::request::Request;
use crate::error::QueryError;
use crate::http::AppState;
use crate::http::arrow_body::ArrowBody;
use crate::http::headers::{
    ARROW_STREAM, PREFERENCE_APPLIED, RETURN_MINIMAL, X_RESULT_ORDER, accepted_codec,
    prefers_minimal, streaming_headers,
};
use crate::results::Reader;
use crate::slots::Slot;

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
    let slot = app.streams.take().await?;
    let reader = app.results.open(request, accepted_codec(headers)).await?;
    stream_rows(app, reader, has_checksums, headers, slot).await
}

/// The rows of a reader as a response. If the client prefers a minimal answer, the result is begun without
/// sending them.
///
/// # Errors
/// The query failed before its first row.
pub(super) async fn stream_rows(
    app: &AppState,
    reader: Reader,
    has_checksums: bool,
    headers: &HeaderMap,
    slot: Slot,
) -> Result<Response, QueryError> {
    let order = reader.record().order().map_or("none", |order| order.name());
    let content_type = match reader.codec() {
        Some(codec) => format!("{ARROW_STREAM}; codecs={}", codec.name()),
        None => ARROW_STREAM.to_owned(),
    };
    let result = (
        streaming_headers(reader.record()),
        [(X_RESULT_ORDER, order)],
    );
    let body = ArrowBody::open(reader, has_checksums, app.pace(slot)).await?;
    if prefers_minimal(headers) {
        let applied = [(PREFERENCE_APPLIED, RETURN_MINIMAL)];
        return Ok((StatusCode::NO_CONTENT, result, applied).into_response());
    }
    let rows = Body::from_stream(body.into_stream());
    Ok((result, [(CONTENT_TYPE, content_type)], rows).into_response())
}
