//! Request headers that several routes read, and response headers that several routes send.

use axum::http::header::{ACCEPT, ACCEPT_RANGES, CACHE_CONTROL, CONTENT_TYPE, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use mediatype::names::APPLICATION;
use mediatype::{MediaType, MediaTypeList, Name, ReadParams};

use crate::encode::Codec;
use crate::results::ResultRecord;

/// The media type, <https://www.iana.org/assignments/media-types/application/vnd.apache.arrow.stream>.
pub(super) const ARROW_STREAM: &str = "application/vnd.apache.arrow.stream";

const ARROW_STREAM_TYPE: MediaType<'static> =
    MediaType::new(APPLICATION, Name::new_unchecked("vnd.apache.arrow.stream"));

const CODECS: Name<'static> = Name::new_unchecked("codecs");

/// The id of the result.
pub(super) const X_QUERY_ID: HeaderName = HeaderName::from_static("x-query-id");

/// What the order of the rows guarantees.
pub(super) const X_RESULT_ORDER: HeaderName = HeaderName::from_static("x-result-order");

/// The number of files that the rows lack, because they could not be read.
const X_LEFT_OUT: HeaderName = HeaderName::from_static("x-left-out");

/// What the client would like, <https://www.rfc-editor.org/rfc/rfc7240>.
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// Which preference the answer follows.
pub(super) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The preference for an answer without the rows.
pub(super) const RETURN_MINIMAL: &str = "return=minimal";

/// The value of a header, if it is ASCII text.
pub(super) fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Each value of a header that may be repeated, if it is ASCII text.
pub(super) fn texts(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter();
    values.filter_map(|value| value.to_str().ok())
}

/// Whether the client prefers an answer without the rows: `Prefer: return=minimal`.
pub(super) fn prefers_minimal(headers: &HeaderMap) -> bool {
    texts(headers, PREFER)
        .flat_map(|value| value.split([',', ';']))
        .any(|preference| {
            let preference = preference.replace([' ', '\t', '"'], "");
            preference.eq_ignore_ascii_case(RETURN_MINIMAL)
        })
}

/// Whether the body is declared as JSON, whatever the parameters of the media type are.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    text(headers, CONTENT_TYPE)
        .and_then(|value| value.split(';').next())
        .is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// Whether the client already has the version that `etag` names: the answer is 304.
pub(super) fn is_not_modified(headers: &HeaderMap, etag: &str) -> bool {
    texts(headers, IF_NONE_MATCH)
        .flat_map(|value| value.split(','))
        .map(|tag| tag.trim().trim_start_matches("W/"))
        .any(|tag| tag == etag || tag == "*")
}

/// The first known codec that the client lists:
/// `Accept: application/vnd.apache.arrow.stream; codecs="lz4, zstd"`.
pub(super) fn accepted_codec(headers: &HeaderMap) -> Option<Codec> {
    texts(headers, ACCEPT).find_map(codec_in)
}

fn codec_in(accept: &str) -> Option<Codec> {
    let arrow = MediaTypeList::new(accept)
        .flatten()
        .find(|media_type| media_type.essence() == ARROW_STREAM_TYPE)?;
    let codecs = arrow.get_param(CODECS)?;
    codecs.unquoted_str().split([',', ' ']).find_map(|name| {
        [Codec::Lz4, Codec::Zstd]
            .into_iter()
            .find(|codec| codec.name().eq_ignore_ascii_case(name))
    })
}

/// The headers of a streamed body of rows of a result: neither caches nor proxies may keep, change or delay it.
pub(super) fn streaming_headers(result: &ResultRecord) -> HeaderMap {
    let num_left_out = result.properties().map_or(0, |known| known.num_left_out);
    let left_out = (num_left_out > 0).then(|| (X_LEFT_OUT, num_left_out.to_string()));
    let headers = [
        (CACHE_CONTROL, "no-store, no-transform".to_owned()),
        (
            HeaderName::from_static("x-accel-buffering"),
            "no".to_owned(),
        ),
        (ACCEPT_RANGES, "none".to_owned()),
        (X_QUERY_ID, result.id.to_string()),
    ];
    let headers = headers.into_iter().chain(left_out);
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_str(&value).ok()));
    headers
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
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
