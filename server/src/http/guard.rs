//! Access control: which hosts, origins and tokens are accepted.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    AUTHORIZATION, HOST, ORIGIN, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::http::headers::text;
use crate::http::session::{Sessions, peer};

/// The paths of the interface that need no token.
const OPEN_PATHS: [&str; 2] = ["/v1/session", "/v1/openapi.json"];

const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

/// Which hosts, origins and tokens are accepted.
#[derive(Debug, Clone, Default)]
pub struct GuardConfig {
    /// Host names that are accepted in addition to the loopback ones, without port, in lower case.
    pub hosts: Vec<String>,
    /// Whether every IP address is accepted as host. Unlike a name, an address cannot be rebound by DNS.
    pub any_address: bool,
    /// Origins of other sites whose pages may use this server, such as `https://example.org`.
    pub origins: Vec<String>,
    /// The token that clients must send; `None`: no token is required.
    pub token: Option<String>,
}

/// Checks a request before its handler runs, and adds the headers that every response has.
pub(super) async fn guard(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let guard = app.guard;
    let origin = request.headers().get(ORIGIN).cloned();
    let is_listed = origin
        .as_ref()
        .is_some_and(|origin| guard.lists_origin(origin));
    let mut response = match guard.check(&request, is_listed, &app.sessions) {
        Err(error) => error.into_response(),
        Ok(Verdict::Preflight) => preflight(),
        Ok(Verdict::Pass) => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(
        CROSS_ORIGIN_RESOURCE_POLICY,
        HeaderValue::from_static(if is_listed {
            "cross-origin"
        } else {
            "same-origin"
        }),
    );
    headers.append(VARY, HeaderValue::from_static("origin"));
    if is_listed && let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("X-Query-Id, X-Result-Order, X-Left-Out, Retry-After"),
        );
    }
    response
}

enum Verdict {
    Pass,
    Preflight,
}

impl GuardConfig {
    fn check(
        &self,
        request: &Request,
        is_listed: bool,
        sessions: &Sessions,
    ) -> Result<Verdict, QueryError> {
        let headers = request.headers();
        if headers.get_all(HOST).iter().count() > 1 {
            return Err(QueryError::new(
                ErrorKind::BadParameter,
                "the request has several Host headers",
                "send one",
            ));
        }
        let authority = || Some(request.uri().authority()?.as_str());
        let host = text(headers, HOST).or_else(authority).unwrap_or_default();
        if !self.allows_host(host) {
            return Err(QueryError::new(
                ErrorKind::HostNotAllowed,
                format!("the host {:?} is not allowed", host_name(host)),
                "use the address that the server prints, or start it with --allow-host",
            ));
        }
        let path = request.uri().path();
        let is_interface = path.starts_with("/v1/") || path == "/v1";
        if is_interface && !is_listed && is_cross_site(headers, host) {
            return Err(QueryError::new(
                ErrorKind::OriginNotAllowed,
                "a page of another site may not use this server",
                "start the server with --allow-origin and that page's origin",
            ));
        }
        if is_listed
            && request.method() == Method::OPTIONS
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
        {
            return Ok(Verdict::Preflight);
        }
        match &self.token {
            Some(_) if (is_interface && !OPEN_PATHS.contains(&path)) || path == "/metrics" => {
                self.check_token(request, is_listed, sessions)?;
                Ok(Verdict::Pass)
            }
            _ => Ok(Verdict::Pass),
        }
    }

    /// Accepts the token or, from the server's own page, the cookie of a session.
    fn check_token(
        &self,
        request: &Request,
        is_listed: bool,
        sessions: &Sessions,
    ) -> Result<(), QueryError> {
        let headers = request.headers();
        let unauthorized = |message| {
            let hint = "send Authorization: Bearer and the token of --token-file";
            QueryError::new(ErrorKind::Unauthorized, message, hint)
        };
        let given = text(headers, AUTHORIZATION)
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, given)| given.trim());
        let Some(given) = given else {
            // The cookie belongs to the server's own page; a page of a listed origin sends the token.
            if !is_listed && sessions.contains(headers) {
                return Ok(());
            }
            return Err(unauthorized("the token is missing"));
        };
        let peer = peer(request.extensions());
        sessions.check_failures(peer)?;
        if self.is_token(given) {
            return Ok(());
        }
        sessions.record_failure(peer);
        Err(unauthorized("the token is wrong"))
    }

    /// Whether `given` is the token; takes the same time wherever the two differ.
    pub(super) fn is_token(&self, given: &str) -> bool {
        let given = given.as_bytes();
        let token = self.token.as_ref();
        token.is_some_and(|token| given.ct_eq(token.as_bytes()).into())
    }

    fn lists_origin(&self, origin: &HeaderValue) -> bool {
        origin.to_str().is_ok_and(|origin| {
            self.origins
                .iter()
                .any(|listed| listed.eq_ignore_ascii_case(origin))
        })
    }

    fn allows_host(&self, host: &str) -> bool {
        let name = host_name(host);
        if name == "localhost" || name.ends_with(".localhost") || self.hosts.contains(&name) {
            return true;
        }
        name.parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback() || self.any_address)
    }
}

/// The host without its port, in lower case, an IPv6 address without its brackets.
fn host_name(host: &str) -> String {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, port)| {
            if port.bytes().all(|b| b.is_ascii_digit()) {
                name
            } else {
                host
            }
        }),
    };
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// Whether the request comes from a page of another site. Only browsers send these headers.
fn is_cross_site(headers: &HeaderMap, host: &str) -> bool {
    if let Some(origin) = headers.get(ORIGIN) {
        let same_origin = origin
            .to_str()
            .ok()
            .and_then(|origin| origin.split_once("://"))
            .is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host));
        return !same_origin;
    }
    let site = text(headers, HeaderName::from_static("sec-fetch-site"));
    matches!(site, Some("cross-site" | "same-site"))
}

fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, DELETE"),
        (
            ACCESS_CONTROL_ALLOW_HEADERS,
            "accept, authorization, content-type, prefer",
        ),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        let guard = GuardConfig {
            hosts: vec!["data.example".into()],
            ..GuardConfig::default()
        };
        for host in [
            "localhost",
            "LOCALHOST:7878",
            "127.0.0.1:1",
            "[::1]:7878",
            "data.example:80",
            "a.localhost",
        ] {
            assert!(guard.allows_host(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "10.0.0.1:7878",
            "127.0.0.1.evil.example",
        ] {
            assert!(!guard.allows_host(host), "{host}");
        }
        let open = GuardConfig {
            any_address: true,
            ..GuardConfig::default()
        };
        assert!(open.allows_host("10.0.0.1:7878") && !open.allows_host("evil.example"));
    }

    #[test]
    fn tokens() {
        let guard = GuardConfig {
            token: Some("abc".into()),
            ..GuardConfig::default()
        };
        assert!(guard.is_token("abc"));
        for wrong in ["abd", "ab", "abcd", ""] {
            assert!(!guard.is_token(wrong), "{wrong}");
        }
        assert!(!GuardConfig::default().is_token(""));
    }
}
