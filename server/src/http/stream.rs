//! A query as an Arrow response.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{ACCEPT, ACCEPT_RANGES, CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio::sync::OwnedSemaphorePermit;

use crate::backend::request::Request;
use crate::encode::Codec;
use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::http::body::Delivery;
use crate::results::Reader;

/// The media type, <https://www.iana.org/assignments/media-types/application/vnd.apache.arrow.stream>.
pub(super) const ARROW_STREAM: &str = "application/vnd.apache.arrow.stream";

/// The id of the query.
pub(super) const X_QUERY_ID: HeaderName = HeaderName::from_static("x-query-id");

/// What the order of the rows means.
pub(super) const X_RESULT_ORDER: HeaderName = HeaderName::from_static("x-result-order");

/// Runs a request, or finds the query with its id, and answers with its stream.
///
/// # Errors
/// Whatever went wrong before the first byte.
pub(super) async fn respond(
    app: &AppState,
    request: Request,
    has_checksums: bool,
    headers: &HeaderMap,
) -> Result<Response, QueryError> {
    let permit = permit(app)?;
    let reader = app.results.open(request, accepted_codec(headers)).await?;
    deliver(reader, has_checksums, permit).await
}

/// A place among the streams that the server permits.
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
/// The query failed before there was a first row.
pub(super) async fn deliver(
    reader: Reader,
    has_checksums: bool,
    permit: OwnedSemaphorePermit,
) -> Result<Response, QueryError> {
    let id = reader.record().id;
    let order = reader.record().order();
    let content_type = match reader.codec() {
        Some(codec) => format!("{ARROW_STREAM}; codecs={}", codec.name()),
        None => ARROW_STREAM.to_owned(),
    };
    let delivery = Delivery::open(reader, has_checksums, permit).await?;
    let mut response = (StatusCode::OK, Body::from_stream(delivery.into_body())).into_response();
    let headers = response.headers_mut();
    let mut put = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    put(CONTENT_TYPE, &content_type);
    put(CACHE_CONTROL, "no-store, no-transform");
    put(HeaderName::from_static("x-accel-buffering"), "no");
    put(ACCEPT_RANGES, "none");
    put(X_QUERY_ID, &id.to_string());
    put(X_RESULT_ORDER, order.map_or("none", |order| order.name()));
    Ok(response)
}

/// The codec that the client likes best of those that are known:
/// `Accept: application/vnd.apache.arrow.stream; codecs="lz4, zstd"`.
pub(super) fn accepted_codec(headers: &HeaderMap) -> Option<Codec> {
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .find_map(codec_in)
}

fn codec_in(accept: &str) -> Option<Codec> {
    let lower = accept.to_ascii_lowercase();
    let at = lower.find(ARROW_STREAM)?;
    let rest = &lower[at + ARROW_STREAM.len()..];
    // The parameters of this media type end at a comma outside quotes.
    let mut is_quoted = false;
    let end = rest.find(|c| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    });
    let codecs = rest[..end.unwrap_or(rest.len())]
        .split(';')
        .filter_map(|parameter| parameter.trim().strip_prefix("codecs"))
        .find_map(|value| value.trim_start().strip_prefix('='))?;
    codecs
        .trim()
        .trim_matches('"')
        .split([',', ' '])
        .find_map(|name| match name.trim() {
            "lz4" => Some(Codec::Lz4),
            "zstd" => Some(Codec::Zstd),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_of_an_accept_header() {
        for (accept, codec) in [
            ("application/vnd.apache.arrow.stream", None),
            ("*/*", None),
            (
                "application/vnd.apache.arrow.stream; codecs=\"lz4, zstd\"",
                Some(Codec::Lz4),
            ),
            (
                "application/vnd.apache.arrow.stream;codecs=\"zstd,lz4\"",
                Some(Codec::Zstd),
            ),
            (
                "application/json, Application/vnd.apache.arrow.stream; q=0.9; codecs=lz4, text/html",
                Some(Codec::Lz4),
            ),
            (
                "application/vnd.apache.arrow.stream; codecs=\"br, zstd\"",
                Some(Codec::Zstd),
            ),
            ("application/vnd.apache.arrow.stream; codecs=\"\"", None),
            (
                "application/vnd.apache.arrow.stream, text/html; codecs=lz4",
                None,
            ),
        ] {
            assert_eq!(codec_in(accept), codec, "{accept}");
        }
    }
}
