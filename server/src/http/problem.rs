//! Failures as `application/problem+json`, RFC 9457.

use axum::http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::error::{ErrorKind, QueryError};

impl IntoResponse for QueryError {
    fn into_response(self) -> Response {
        let code = self.kind.code();
        let body = json!({
            "type": format!("urn:colonnade:error:{code}"),
            "title": self.kind.title(),
            "status": self.kind.status(),
            "code": code,
            "detail": self.message,
            "hint": self.hint,
        });
        let status =
            StatusCode::from_u16(self.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        match self.kind {
            ErrorKind::TooManyStreams | ErrorKind::ResourcesExhausted => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            ErrorKind::TooManyAttempts => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("60"));
            }
            // What is left of the body is not a request.
            ErrorKind::RequestTimeout => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            ErrorKind::Unauthorized => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_to_try_again_is_told_when() {
        for (kind, seconds) in [
            (ErrorKind::TooManyStreams, Some("1")),
            (ErrorKind::ResourcesExhausted, Some("1")),
            (ErrorKind::TooManyAttempts, Some("60")),
            (ErrorKind::BadName, None),
        ] {
            let response = QueryError::new(kind, "x", "y").into_response();
            let given = response.headers().get(RETRY_AFTER);
            assert_eq!(given.map(HeaderValue::as_bytes), seconds.map(str::as_bytes));
        }
    }
}
