//! Errors as `application/problem+json`, RFC 9457.

use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
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
        let headers = [
            (CONTENT_TYPE, "application/problem+json"),
            (CACHE_CONTROL, "no-store"),
        ];
        let header_of_kind = match self.kind {
            ErrorKind::ResourcesExhausted | ErrorKind::Busy => Some((RETRY_AFTER, "1")),
            ErrorKind::TooManyAttempts => Some((RETRY_AFTER, "60")),
            // The rest of the body must not be read as the next request.
            ErrorKind::RequestTimeout => Some((CONNECTION, "close")),
            ErrorKind::Unauthorized => Some((WWW_AUTHENTICATE, "Bearer")),
            _ => None,
        };
        let header_of_kind = header_of_kind.map(|header| [header]);
        (status, headers, header_of_kind, body.to_string()).into_response()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn temporary_failures_have_a_retry_after() {
        for (kind, seconds) in [
            (ErrorKind::Busy, Some("1")),
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
