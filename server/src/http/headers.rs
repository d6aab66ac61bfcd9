//! Request headers that several routes read, and response headers that several routes send.

use axum::http::header::{ACCEPT, ACCEPT_RANGES, CACHE_CONTROL, CONTENT_TYPE, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName};
use mediatype::names::{_STAR, APPLICATION, CSV, JSON, TEXT};
use mediatype::{MediaType, MediaTypeList, Name, ReadParams};
use uuid::Uuid;

use crate::encode::Codec;
use crate::results::export::Format;

/// The media type, <https://www.iana.org/assignments/media-types/application/vnd.apache.arrow.stream>.
pub(super) const ARROW_STREAM: &str = "application/vnd.apache.arrow.stream";

const ARROW_STREAM_TYPE: MediaType<'static> =
    MediaType::new(APPLICATION, Name::new_unchecked("vnd.apache.arrow.stream"));

const PARQUET: Name<'static> = Name::new_unchecked("vnd.apache.parquet");

const QUALITY: Name<'static> = Name::new_unchecked("q");

const CODECS: Name<'static> = Name::new_unchecked("codecs");

/// The id of the result.
pub(super) const X_QUERY_ID: HeaderName = HeaderName::from_static("x-query-id");

/// What the order of the rows guarantees.
pub(super) const X_RESULT_ORDER: HeaderName = HeaderName::from_static("x-result-order");

/// The value of a header, if it is ASCII text.
pub(super) fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Each value of a header that may be repeated, if it is ASCII text.
pub(super) fn texts(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter();
    values.filter_map(|value| value.to_str().ok())
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

/// The format in which the client prefers rows, by the qualities in `Accept`; `None`: an Arrow stream, which is
/// also what clients get that accept anything.
pub(super) fn accepted_format(headers: &HeaderMap) -> Option<Format> {
    let mut best = (0.0, 0, None);
    for accept in texts(headers, ACCEPT) {
        for media_type in MediaTypeList::new(accept).flatten() {
            let Some((rank, format)) = format_of(&media_type) else {
                continue;
            };
            let quality = media_type.get_param(QUALITY);
            let quality = quality.and_then(|q| q.as_str().parse().ok());
            let quality: f32 = quality.unwrap_or(1.0);
            // Of equal ones, the first with the fewest wildcards.
            if quality > 0.0 && (quality, rank) > (best.0, best.1) {
                best = (quality, rank, format);
            }
        }
    }
    best.2
}

/// The format of a media type of `Accept`, and how few wildcards the type has.
fn format_of(media_type: &MediaType<'_>) -> Option<(u8, Option<Format>)> {
    let (main, sub) = (media_type.ty, media_type.subty);
    if media_type.essence() == ARROW_STREAM_TYPE {
        return Some((3, None));
    }
    match main {
        _ if main == _STAR => Some((1, None)),
        _ if main == APPLICATION && sub == _STAR => Some((2, None)),
        _ if main == APPLICATION && sub == JSON => Some((3, Some(Format::Json))),
        _ if main == APPLICATION && sub == PARQUET => Some((3, Some(Format::Parquet))),
        _ if main == TEXT && sub == CSV => Some((3, Some(Format::Csv))),
        _ => None,
    }
}

/// The headers of a streamed body: neither caches nor proxies may keep, change or delay it.
pub(super) fn streaming_headers(id: Uuid) -> [(HeaderName, String); 4] {
    [
        (CACHE_CONTROL, "no-store, no-transform".to_owned()),
        (
            HeaderName::from_static("x-accel-buffering"),
            "no".to_owned(),
        ),
        (ACCEPT_RANGES, "none".to_owned()),
        (X_QUERY_ID, id.to_string()),
    ]
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

    #[test]
    fn formats_of_an_accept_header() {
        for (accept, format) in [
            ("", None),
            ("*/*", None),
            (
                "text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8",
                None,
            ),
            ("application/json, text/plain, */*", Some(Format::Json)),
            ("*/*, application/json", Some(Format::Json)),
            ("application/json;q=0.5, */*", None),
            ("application/json;q=0", None),
            (
                "application/json; q=0.5, text/csv; q=0.7",
                Some(Format::Csv),
            ),
            ("TEXT/CSV", Some(Format::Csv)),
            ("application/vnd.apache.parquet", Some(Format::Parquet)),
            (
                "application/vnd.apache.arrow.stream, application/json",
                None,
            ),
            (
                "application/json, application/vnd.apache.arrow.stream",
                Some(Format::Json),
            ),
            ("application/*, text/csv", Some(Format::Csv)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            assert_eq!(accepted_format(&headers), format, "{accept}");
        }
    }
}
