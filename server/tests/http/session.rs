//! The token, the session for it, and pages of several origins.

use colonnade_server::AppConfig;
use colonnade_server::http::GuardConfig;

use crate::client::Response;
use crate::support::*;

const TOKEN: &str = "0123456789abcdef";

async fn server() -> Server {
    let (table, _) = scripted("t", vec![vec![Step::rows(0, 5)]]);
    let guard = GuardConfig {
        token: Some(TOKEN.into()),
        origins: vec!["https://listed.example".into()],
        hosts: vec!["data.example".into()],
        ..GuardConfig::default()
    };
    Server::start(&AppConfig { guard, ..config() }, vec![table]).await
}

async fn sign_in(server: &Server, content_type: &str, body: &str) -> Response {
    let headers = [("content-type", content_type)];
    server
        .ask("POST", "/v1/session", &headers, body.as_bytes())
        .await
}

/// `name=value` of the cookie.
fn cookie(response: &Response) -> String {
    let cookie = response.headers["set-cookie"].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_stands_in_for_the_token_until_it_is_ended() {
    let server = server().await;
    for (content_type, body) in [
        ("application/json", format!(r#"{{"token":"{TOKEN}"}}"#)),
        ("text/plain", format!("{TOKEN}\n")),
    ] {
        let response = sign_in(&server, content_type, &body).await;
        assert_eq!(response.status, 204);
        let whole = response.headers["set-cookie"].to_str().unwrap();
        for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
            assert!(whole.contains(part), "{whole}");
        }
        assert!(!whole.contains(TOKEN));
        let cookie = cookie(&response);
        let with_cookie = [("cookie", cookie.as_str())];
        let rows = server
            .ask("GET", "/v1/tables/t/rows", &with_cookie, b"")
            .await;
        assert_eq!(rows.status, 200);
        let metrics = server.ask("GET", "/metrics", &with_cookie, b"").await;
        assert_eq!(metrics.status, 200);
        let ended = server.ask("DELETE", "/v1/session", &with_cookie, b"").await;
        assert_eq!(ended.status, 204);
        let rows = server
            .ask("GET", "/v1/tables/t/rows", &with_cookie, b"")
            .await;
        assert_eq!(rows.status, 401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_get_nothing_and_then_have_to_wait() {
    let server = server().await;
    let response = sign_in(&server, "application/json", "[]").await;
    assert_eq!(read(response).await.code(), "bad_json");
    let response = sign_in(&server, "text/plain", "0123456789abcdeg").await;
    assert!(!response.headers.contains_key("set-cookie"));
    let outcome = read(response).await;
    assert_eq!(
        (outcome.status, outcome.code()),
        (401, "unauthorized".into())
    );
    for _ in 0..99 {
        sign_in(&server, "text/plain", "wrong").await;
    }
    let response = sign_in(&server, "text/plain", TOKEN).await;
    assert_eq!(response.status, 429);
    assert_eq!(response.headers["retry-after"], "60");
    assert_eq!(read(response).await.code(), "too_many_attempts");
    assert_eq!(server.get("/healthz").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_no_token() {
    let server = server().await;
    for (path, status) in [
        ("/", 200),
        ("/healthz", 200),
        ("/metrics", 401),
        ("/v1/tables", 401),
        ("/v1/session/x", 401),
        ("/v1/session", 405),
    ] {
        assert_eq!(
            server.ask("GET", path, &[], b"").await.status,
            status,
            "{path}"
        );
    }
}

/// Host, Origin, Sec-Fetch-Site and the resulting status, all with the cookie of a session.
#[tokio::test(flavor = "multi_thread")]
async fn hosts_origins_and_sites() {
    let server = server().await;
    let own = server.url.strip_prefix("http://").unwrap().to_owned();
    let (_, port) = own.rsplit_once(':').unwrap();
    let signed_in = sign_in(&server, "text/plain", TOKEN).await;
    let cookie = cookie(&signed_in);
    let origin = |host: &str| Some(format!("http://{host}"));
    let local = format!("localhost:{port}");
    let data = format!("data.example:{port}");
    let cases: Vec<(&str, Option<String>, Option<&str>, u16)> = vec![
        (&own, None, None, 200),
        (&own, origin(&own), None, 200),
        (&own, origin(&own), Some("same-origin"), 200),
        (&own, None, Some("same-origin"), 200),
        (&own, None, Some("none"), 200),
        (&local, origin(&local), Some("same-origin"), 200),
        (&data, origin(&data), None, 200),
        (&own, None, Some("cross-site"), 403),
        (&own, None, Some("same-site"), 403),
        (&own, Some("null".into()), None, 403),
        (&own, Some(String::new()), None, 403),
        (&own, origin("evil.example"), None, 403),
        (&own, origin("evil.example"), Some("same-origin"), 403),
        (&own, origin(&format!("evil.example:{port}")), None, 403),
        (&own, origin(&format!("{own}.evil.example")), None, 403),
        (&own, origin(&format!("evil@{own}")), None, 403),
        (&own, origin(&local), None, 403),
        (&own, origin("127.0.0.1:1"), None, 403),
        (&own, origin("127.0.0.1"), None, 403),
        (&own, Some("file://".into()), None, 403),
        (&own, Some("https://listed.example.evil".into()), None, 403),
        (&own, Some("http://listed.example".into()), None, 403),
        // A listed origin must send the token, because the cookie is not for its pages.
        (&own, Some("https://listed.example".into()), None, 401),
        ("evil.example", None, None, 403),
        ("evil.example", origin("evil.example"), None, 403),
        (
            "evil.example",
            origin("evil.example"),
            Some("same-origin"),
            403,
        ),
        ("127.0.0.1.evil.example", None, None, 403),
        ("10.0.0.1", None, None, 403),
        ("169.254.169.254", None, None, 403),
        ("", None, None, 403),
    ];
    assert!(cases.len() >= 20);
    for (host, origin, site, status) in cases {
        let mut headers = vec![("host", host), ("cookie", cookie.as_str())];
        headers.extend(origin.as_deref().map(|origin| ("origin", origin)));
        headers.extend(site.map(|site| ("sec-fetch-site", site)));
        for (method, path) in [("GET", "/v1/tables/t"), ("DELETE", "/v1/tables/t")] {
            let response = server.ask(method, path, &headers, b"").await;
            // Uploads are not permitted, so a DELETE that passes access control gets 403.
            let expected = if method == "DELETE" && status == 200 {
                403
            } else {
                status
            };
            assert_eq!(response.status, expected, "{method} {headers:?}");
            let code = read(response).await;
            if method == "DELETE" && status == 200 {
                assert_eq!(code.code(), "not_writable");
            }
            assert!(
                !code
                    .headers
                    .contains_key("access-control-allow-credentials")
            );
            assert!(code.header("vary").contains("origin"));
        }
    }
}
