//! `POST /v1/session` and `DELETE /v1/session`: exchange the token for a cookie, so that a page does
//! not have to store the token.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, COOKIE, HOST, SET_COOKIE};
use axum::http::{Extensions, HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use uuid::Uuid;

use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::http::connections::Peer;
use crate::http::headers::{is_json, text, texts};

const MAX_AGE: Duration = Duration::from_secs(12 * 3600);
const MAX_SESSIONS: usize = 1000;

/// Wrong tokens that one address may send within `FAILURE_WINDOW`.
const MAX_FAILURES: u32 = 100;
const FAILURE_WINDOW: Duration = Duration::from_secs(60);
const MAX_ADDRESSES: usize = 4096;

/// The sessions, and the addresses that sent wrong tokens.
#[derive(Debug, Default)]
pub struct Sessions {
    expiries: Mutex<HashMap<String, Instant>>,
    failures: Mutex<HashMap<IpAddr, Failures>>,
}

#[derive(Debug)]
struct Failures {
    since: Instant,
    count: u32,
}

impl Sessions {
    /// The secret of a new session. Beyond `MAX_SESSIONS`, the oldest session ends.
    fn begin(&self) -> String {
        let secret = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let now = Instant::now();
        let mut expiries = lock(&self.expiries);
        expiries.retain(|_, expiry| *expiry > now);
        if expiries.len() >= MAX_SESSIONS
            && let Some(oldest) = expiries
                .iter()
                .min_by_key(|(_, expiry)| **expiry)
                .map(|(secret, _)| secret.clone())
        {
            expiries.remove(&oldest);
        }
        expiries.insert(secret.clone(), now + MAX_AGE);
        secret
    }

    /// Whether a request has the cookie of a session.
    pub(super) fn contains(&self, headers: &HeaderMap) -> bool {
        let expiries = lock(&self.expiries);
        secrets(headers).any(|secret| {
            expiries
                .get(secret)
                .is_some_and(|expiry| *expiry > Instant::now())
        })
    }

    fn end(&self, headers: &HeaderMap) {
        let mut expiries = lock(&self.expiries);
        for secret in secrets(headers) {
            expiries.remove(secret);
        }
    }

    /// Refuses an address that sent too many wrong tokens.
    ///
    /// # Errors
    /// `too_many_attempts`.
    pub(super) fn check_failures(&self, peer: IpAddr) -> Result<(), QueryError> {
        let failures = lock(&self.failures);
        match failures.get(&peer) {
            Some(Failures { since, count })
                if *count >= MAX_FAILURES && since.elapsed() < FAILURE_WINDOW =>
            {
                Err(QueryError::new(
                    ErrorKind::TooManyAttempts,
                    "too many wrong tokens came from this address",
                    "try again in a minute, with the token of --token-file",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Counts a wrong token.
    pub(super) fn record_failure(&self, peer: IpAddr) {
        tracing::warn!(%peer, "a wrong token");
        let mut failures = lock(&self.failures);
        if failures.len() >= MAX_ADDRESSES {
            failures.retain(|_, failures| failures.since.elapsed() < FAILURE_WINDOW);
        }
        if failures.len() >= MAX_ADDRESSES {
            return;
        }
        let entry = failures.entry(peer).or_insert(Failures {
            since: Instant::now(),
            count: 0,
        });
        if entry.since.elapsed() >= FAILURE_WINDOW {
            *entry = Failures {
                since: Instant::now(),
                count: 0,
            };
        }
        entry.count += 1;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The address of the client.
pub(super) fn peer(extensions: &Extensions) -> IpAddr {
    extensions
        .get::<Peer>()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0)
}

/// Browsers store cookies by host, without the port, so two servers on one host need two names.
fn cookie_name(headers: &HeaderMap) -> String {
    match text(headers, HOST).and_then(|host| host.rsplit_once(':')) {
        Some((_, port)) if port.bytes().all(|b| b.is_ascii_digit()) => {
            format!("colonnade_session_{port}")
        }
        _ => "colonnade_session".to_owned(),
    }
}

fn secrets(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let name = cookie_name(headers);
    texts(headers, COOKIE)
        .flat_map(|value| value.split(';'))
        .filter_map(move |pair| {
            let (key, value) = pair.trim().split_once('=')?;
            (key == name).then_some(value)
        })
}

#[derive(Deserialize)]
struct SessionBody {
    token: String,
}

/// Exchanges the token, as JSON `{"token": …}` or as text, for a cookie.
pub(super) async fn begin(
    State(app): State<AppState>,
    extensions: Extensions,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, QueryError> {
    if app.guard.token.is_none() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let peer = peer(&extensions);
    app.sessions.check_failures(peer)?;
    let given = if is_json(&headers) {
        serde_json::from_slice::<SessionBody>(&body)
            .map(|body| body.token)
            .map_err(|_| {
                QueryError::new(
                    ErrorKind::BadJson,
                    "the body holds no token",
                    r#"send {"token": "…"}, or the token alone as text/plain"#,
                )
            })?
    } else {
        String::from_utf8_lossy(&body).into_owned()
    };
    if !app.guard.is_token(given.trim()) {
        app.sessions.record_failure(peer);
        return Err(QueryError::new(
            ErrorKind::Unauthorized,
            "the token is wrong",
            "send the token of --token-file",
        ));
    }
    Ok(set_cookie(&headers, &app.sessions.begin(), MAX_AGE))
}

/// Ends the session of the request's cookie.
pub(super) async fn end(State(app): State<AppState>, headers: HeaderMap) -> Response {
    app.sessions.end(&headers);
    set_cookie(&headers, "", Duration::ZERO)
}

fn set_cookie(headers: &HeaderMap, secret: &str, max_age: Duration) -> Response {
    let name = cookie_name(headers);
    let max_age_s = max_age.as_secs();
    let cookie = format!("{name}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={max_age_s}");
    let headers = [(SET_COOKIE, cookie), (CACHE_CONTROL, "no-store".to_owned())];
    (StatusCode::NO_CONTENT, headers).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_bounded_and_end() {
        let sessions = Sessions::default();
        let cookie = |secret: &str| {
            let mut headers = HeaderMap::new();
            let value = format!("other=1; colonnade_session_7878={secret}");
            headers.insert(COOKIE, value.parse().unwrap());
            headers.insert(HOST, "localhost:7878".parse().unwrap());
            headers
        };
        let first = sessions.begin();
        assert_eq!(first.len(), 64);
        assert!(sessions.contains(&cookie(&first)) && !sessions.contains(&cookie("")));
        sessions.end(&cookie(&first));
        assert!(!sessions.contains(&cookie(&first)));

        let oldest = sessions.begin();
        for _ in 0..MAX_SESSIONS {
            sessions.begin();
        }
        assert!(!sessions.contains(&cookie(&oldest)));
        assert_eq!(lock(&sessions.expiries).len(), MAX_SESSIONS);
    }

    #[test]
    fn wrong_tokens_are_counted_by_address() {
        let sessions = Sessions::default();
        let [bad, good] = [1, 2].map(|n| IpAddr::V4(Ipv4Addr::new(10, 0, 0, n)));
        for _ in 0..MAX_FAILURES {
            assert!(sessions.check_failures(bad).is_ok());
            sessions.record_failure(bad);
        }
        assert!(sessions.check_failures(bad).is_err());
        assert!(sessions.check_failures(good).is_ok());
    }
}
