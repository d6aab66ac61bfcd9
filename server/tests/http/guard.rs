//! Access control.

use colonnade_server::AppConfig;
use colonnade_server::http::GuardConfig;

use crate::support::*;

async fn server(guard: GuardConfig) -> Server {
    let config = AppConfig { guard, ..config() };
    Server::start_scripts(&config, vec![vec![Step::rows(0, 5)]])
        .await
        .0
}

#[tokio::test(flavor = "multi_thread")]
async fn another_host_is_refused() {
    let server = server(GuardConfig::default()).await;
    for path in ["/", "/healthz", "/v1/tables", "/v1/tables/t/rows"] {
        let response = server
            .ask("GET", path, &[("host", "rebound.example:80")], b"")
            .await;
        assert_eq!(response.status, 403, "{path}");
    }
    assert_eq!(
        server
            .ask("GET", "/healthz", &[("host", "localhost:1")], b"")
            .await
            .status,
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn another_origin_is_refused_unless_listed() {
    let guard = GuardConfig {
        origins: vec!["https://listed.example".into()],
        ..GuardConfig::default()
    };
    let server = server(guard).await;
    let own = server.url.clone();
    for headers in [
        vec![("origin", "https://other.example")],
        vec![("origin", "null")],
        vec![("origin", "http://127.0.0.1:1")],
        vec![("sec-fetch-site", "cross-site")],
    ] {
        let response = server.ask("GET", "/v1/tables/t/rows", &headers, b"").await;
        assert_eq!(response.status, 403, "{headers:?}");
        assert!(!response.headers.contains_key("access-control-allow-origin"));
    }
    for headers in [
        vec![("origin", own.as_str())],
        vec![("sec-fetch-site", "same-origin")],
        vec![("sec-fetch-site", "none")],
    ] {
        let response = server.ask("GET", "/v1/tables/t/rows", &headers, b"").await;
        assert_eq!(response.status, 200, "{headers:?}");
        assert!(!response.headers.contains_key("access-control-allow-origin"));
        assert!(
            response.headers["vary"]
                .to_str()
                .unwrap()
                .contains("origin")
        );
    }
    let listed = [
        ("origin", "https://listed.example"),
        ("sec-fetch-site", "cross-site"),
    ];
    let response = server
        .ask("GET", "/v1/tables/nope/rows", &listed, b"")
        .await;
    assert_eq!(response.status, 404, "failures can be read too");
    assert_eq!(
        response.headers["access-control-allow-origin"],
        "https://listed.example"
    );
    assert_eq!(
        response.headers["access-control-expose-headers"],
        "X-Query-Id, X-Result-Order, X-Left-Out, Retry-After"
    );
    let preflight = [listed[0], ("access-control-request-method", "POST")];
    let response = server.ask("OPTIONS", "/v1/query", &preflight, b"").await;
    assert_eq!(response.status, 204);
    assert_eq!(
        response.headers["access-control-allow-headers"],
        "accept, authorization, content-type, prefer"
    );
    assert!(
        response.headers["access-control-allow-methods"]
            .to_str()
            .unwrap()
            .contains("DELETE")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_is_required() {
    let guard = GuardConfig {
        token: Some("0123456789abcdef".into()),
        ..GuardConfig::default()
    };
    let server = server(guard).await;
    for path in ["/v1/tables", "/v1/tables/t/rows", "/v1/query", "/v1/nope"] {
        for headers in [
            vec![],
            vec![("authorization", "Bearer 0123456789abcdeg")],
            vec![("authorization", "Basic 0123456789abcdef")],
        ] {
            let response = server.ask("GET", path, &headers, b"").await;
            assert_eq!(response.status, 401, "{path} {headers:?}");
            assert_eq!(response.headers["www-authenticate"], "Bearer");
        }
    }
    let right = [("authorization", "Bearer 0123456789abcdef")];
    assert_eq!(
        server
            .ask("GET", "/v1/tables/t/rows", &right, b"")
            .await
            .status,
        200
    );
    for path in ["/", "/healthz"] {
        assert_eq!(
            server.ask("GET", path, &[], b"").await.status,
            200,
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_and_methods_that_do_not_exist() {
    let server = server(GuardConfig::default()).await;
    for (method, path, status, code) in [
        ("GET", "/nope", 404, "not_found"),
        ("GET", "/v1", 404, "not_found"),
        ("GET", "/v1/tables/t/columns", 404, "not_found"),
        ("GET", "/../../etc/passwd", 404, "not_found"),
        ("PUT", "/v1/query", 405, "method_not_allowed"),
        ("POST", "/v1/tables", 405, "method_not_allowed"),
    ] {
        let response = server.ask(method, path, &[], b"").await;
        assert_eq!(response.status, status, "{path}");
        assert_eq!(response.headers["content-type"], "application/problem+json");
        assert_eq!(response.headers.contains_key("allow"), status == 405);
        assert_eq!(read(response).await.code(), code);
    }
    let page = server.ask("GET", "/", &[], b"").await;
    assert!(
        page.headers["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/html")
    );
    assert!(
        page.headers["content-security-policy"]
            .to_str()
            .unwrap()
            .starts_with("default-src 'self'")
    );
    assert_eq!(page.headers["x-content-type-options"], "nosniff");
    assert_eq!(page.headers["referrer-policy"], "no-referrer");
    assert_eq!(page.headers["cross-origin-resource-policy"], "same-origin");
    let ready = server.get("/readyz").await;
    assert_eq!((ready.status, ready.body.as_slice()), (200, &b"ok\n"[..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_host_headers_are_refused() {
    let server = Server::of_files(&[]).await;
    let hosts = [("host", "localhost"), ("host", "evil.example")];
    for hosts in [hosts, [hosts[1], hosts[0]], [hosts[0]; 2]] {
        let response = server.ask("GET", "/v1/tables/t/rows", &hosts, b"").await;
        assert_eq!(response.status, 400, "{hosts:?}");
        assert_eq!(read(response).await.code(), "bad_parameter");
    }
}
