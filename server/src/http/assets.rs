//! The dashboard's files, embedded when the program was built.

use axum::body::Body;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    VARY,
};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::error::{ErrorKind, QueryError};
use crate::http::headers::{is_not_modified, text};

#[derive(RustEmbed)]
#[folder = "../web/dashboard/dist"]
#[allow_missing = true]
struct Dashboard;

/// The page may load files of this server only, and compile wasm.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; worker-src 'self'; img-src 'self' blob: data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";

const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Colonnade</title>\
<h1>The page was not built</h1><p>This server was compiled without its dashboard. <code>npm run build</code> builds \
it, then the server. The tables are still served: <a href=\"/v1/tables\">/v1/tables</a>.</p></html>\n";

/// A file of the dashboard; `/` is its page.
pub(super) async fn asset(uri: Uri, headers: HeaderMap) -> Response {
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    match find(path, &headers) {
        Some((file, encoding)) => respond(path, file, encoding, &headers),
        None => respond_not_built(),
    }
}

/// The file of the dashboard with that name, or 404.
pub(super) async fn asset_or_not_found(
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, QueryError> {
    let path = uri.path().trim_start_matches('/');
    if method == Method::GET || method == Method::HEAD {
        let is_plain = !path.ends_with(".br") && !path.ends_with(".gz");
        if is_plain && let Some((file, encoding)) = find(path, &headers) {
            return Ok(respond(path, file, encoding, &headers));
        }
    }
    Err(QueryError::new(
        ErrorKind::NotFound,
        format!("there is nothing at {}", uri.path()),
        "GET /v1/tables lists the tables, / is the dashboard",
    ))
}

fn find(path: &str, headers: &HeaderMap) -> Option<(EmbeddedFile, Option<&'static str>)> {
    let accepted = text(headers, ACCEPT_ENCODING).unwrap_or_default();
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
    file: EmbeddedFile,
    encoding: Option<&'static str>,
    headers: &HeaderMap,
) -> Response {
    let hash = file.metadata.sha256_hash();
    let etag: String = hash[..12]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let etag = format!("\"{etag}\"");
    let (status, body) = if is_not_modified(headers, &etag) {
        (StatusCode::NOT_MODIFIED, Body::empty())
    } else {
        (StatusCode::OK, Body::from(file.data))
    };
    // Vite puts a hash of the content into the names below assets/.
    let cache = if path.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let out = [
        (CONTENT_TYPE, content_type(path)),
        (CACHE_CONTROL, cache),
        (VARY, "accept-encoding"),
        (ETAG, etag.as_str()),
    ];
    let encoding = encoding.map(|encoding| [(CONTENT_ENCODING, encoding)]);
    // A worker obeys the policy of its own response, so scripts need one too.
    let needs_policy = path.ends_with(".html") || path.ends_with(".js");
    let policy = needs_policy.then_some([(CONTENT_SECURITY_POLICY, POLICY)]);
    (status, out, encoding, policy, body).into_response()
}

fn respond_not_built() -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
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
