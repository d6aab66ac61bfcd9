//! The dashboard's files, embedded when the program was built.

use std::borrow::Cow;

use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::error::{ErrorKind, QueryError};

#[derive(RustEmbed)]
#[folder = "../web/dashboard/dist"]
#[allow_missing = true]
struct Dashboard;

/// What the page may load: itself, wasm, and nothing from elsewhere.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; worker-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";

const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Colonnade</title>\
<h1>The page was not built</h1><p>This server was compiled without its dashboard. <code>npm run build</code> builds \
it, then the server. The tables are served all the same: <a href=\"/v1/tables\">/v1/tables</a>.</p></html>\n";

/// A file of the dashboard.
pub(super) async fn asset(uri: Uri, headers: HeaderMap) -> Response {
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    match find(path, &headers) {
        Some((file, encoding)) => respond(path, &file, encoding, &headers),
        None => respond_not_built(),
    }
}

/// A file of the dashboard where there is one by that name.
pub(super) async fn asset_or_not_found(
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, QueryError> {
    let path = uri.path().trim_start_matches('/');
    if method == Method::GET || method == Method::HEAD {
        let is_plain = !path.ends_with(".br") && !path.ends_with(".gz");
        if is_plain && let Some((file, encoding)) = find(path, &headers) {
            return Ok(respond(path, &file, encoding, &headers));
        }
    }
    Err(QueryError::new(
        ErrorKind::NotFound,
        format!("there is nothing at {}", uri.path()),
        "GET /v1/tables lists the tables, / is the page",
    ))
}

fn find(path: &str, headers: &HeaderMap) -> Option<(EmbeddedFile, Option<&'static str>)> {
    let accepted = headers
        .get(ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    for (encoding, extension) in [("br", "br"), ("gzip", "gz")] {
        let accepts = accepted.split(',').any(|item| {
            let mut parts = item.split(';').map(str::trim);
            parts.next() == Some(encoding)
                && !parts.any(|p| p.trim_start_matches("q=").parse() == Ok(0.0))
        });
        if accepts && let Some(file) = Dashboard::get(&format!("{path}.{extension}")) {
            return Some((file, Some(encoding)));
        }
    }
    Dashboard::get(path).map(|file| (file, None))
}

fn respond(
    path: &str,
    file: &EmbeddedFile,
    encoding: Option<&'static str>,
    headers: &HeaderMap,
) -> Response {
    let hash = file.metadata.sha256_hash();
    let etag: String = hash[..12]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let etag = format!("\"{etag}\"");
    let known = headers
        .get(IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains(&etag));
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        match &file.data {
            Cow::Borrowed(bytes) => axum::body::Bytes::from_static(bytes).into_response(),
            Cow::Owned(bytes) => bytes.clone().into_response(),
        }
    };
    let is_html = path.ends_with(".html");
    // Vite puts a hash of the content into the names below assets/.
    let cache = if path.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let out = response.headers_mut();
    out.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(path)));
    out.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    out.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        out.insert(ETAG, etag);
    }
    if let Some(encoding) = encoding {
        out.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    // A worker has the policy of its own response, so that scripts need it too.
    if is_html || path.ends_with(".js") {
        out.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    }
    response
}

fn respond_not_built() -> Response {
    let headers: [(HeaderName, &str); 4] = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, NOT_BUILT).into_response()
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("webp") => "image/webp",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
