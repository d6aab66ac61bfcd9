//! Connections that send nothing, too much, or two requests at once.

use std::time::{Duration, Instant};

use colonnade_server::AppConfig;
use colonnade_server::http::GuardConfig;
use tokio::net::TcpStream;

use crate::support::*;

async fn server(config: AppConfig) -> Server {
    Server::start_scripts(&config, vec![vec![Step::rows(0, 5)]])
        .await
        .0
}

/// A connection for bytes that an HTTP client would not send.
struct Raw(TcpStream);

impl Raw {
    async fn open(server: &Server) -> Self {
        let address = server.url.strip_prefix("http://").unwrap();
        Self(TcpStream::connect(address).await.unwrap())
    }

    async fn write(&self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.0.writable().await.unwrap();
            match self.0.try_write(bytes) {
                Ok(num_bytes) => bytes = &bytes[num_bytes..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                // The server has already closed the connection.
                Err(_) => return,
            }
        }
    }

    /// The bytes until the server closes; fails if it does not.
    async fn read_to_close(&self) -> String {
        let mut text = Vec::new();
        let closed = async {
            let mut piece = [0; 4096];
            loop {
                self.0.readable().await.unwrap();
                match self.0.try_read(&mut piece) {
                    Ok(num_bytes) if num_bytes > 0 => text.extend_from_slice(&piece[..num_bytes]),
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    _ => return,
                }
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, closed).await;
        assert!(in_time.is_ok(), "the server leaves the connection open");
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn hasty() -> AppConfig {
    AppConfig {
        header_timeout: Duration::from_millis(300),
        body_timeout: Duration::from_millis(300),
        ..config()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_slow_connections_hold_up_nobody() {
    let server = server(AppConfig {
        header_timeout: Duration::from_secs(4),
        ..config()
    })
    .await;
    let mut slow = Vec::new();
    for index in 0..1000 {
        let raw = Raw::open(&server).await;
        if index % 2 == 0 {
            raw.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ")
                .await;
        }
        slow.push(raw);
    }
    let began = Instant::now();
    let outcome = server.get("/v1/tables/t/rows").await;
    assert_eq!(outcome.numbers().len(), 5);
    println!(
        "answered in {:?} with 1000 other connections",
        began.elapsed()
    );
    for raw in &slow {
        raw.read_to_close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_is_closed() {
    let server = server(hasty()).await;
    let raw = Raw::open(&server).await;
    raw.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await;
    assert!(raw.read_to_close().await.ends_with("ok\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_come_is_refused() {
    let server = server(hasty()).await;
    let raw = Raw::open(&server).await;
    raw.write(b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{")
        .await;
    let text = raw.read_to_close().await;
    assert!(text.starts_with("HTTP/1.1 408"), "{text}");
    assert!(text.contains("request_timeout"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_pauses_is_refused() {
    let server = server(AppConfig {
        writable: true,
        ..hasty()
    })
    .await;
    let raw = Raw::open(&server).await;
    raw.write(b"PUT /v1/tables/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\na,b\n")
        .await;
    let text = raw.read_to_close().await;
    assert!(text.starts_with("HTTP/1.1 408"), "{text}");
    assert_eq!(server.get("/v1/tables/x").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_too_many_is_told_so() {
    let server = server(AppConfig {
        max_connections: 2,
        max_streams: 1,
        ..config()
    })
    .await;
    let held = [
        Raw::open(&server).await,
        Raw::open(&server).await,
        Raw::open(&server).await,
    ];
    for raw in &held {
        raw.write(b"GET /healthz HTTP/1.1\r\n").await;
    }
    // The three are accepted in the order in which they connect, before this one.
    let response = server.ask("GET", "/healthz", &[], b"").await;
    assert_eq!(response.status, 503);
    assert_eq!(response.headers["retry-after"], "1");
    assert_eq!(read(response).await.code(), "too_many_connections");
    drop(held);
    let deadline = Instant::now() + PATIENCE;
    while server.ask("GET", "/healthz", &[], b"").await.status != 200 {
        assert!(Instant::now() < deadline, "the slots are not released");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Each is one request, or none, by the rules of RFC 9112; a lenient parser sees a second one in it.
#[tokio::test(flavor = "multi_thread")]
async fn no_request_hides_in_another() {
    let server = server(AppConfig {
        guard: GuardConfig::default(),
        ..hasty()
    })
    .await;
    let hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let n = hidden.len();
    let heads = [
        // Both lengths.
        format!("Content-Length: {n}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {n}\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n{hidden}"),
        // Two lengths.
        format!("Content-Length: 0\r\nContent-Length: {n}\r\n\r\n{hidden}"),
        format!("Content-Length: {n}\r\nContent-Length: 0\r\n\r\n{hidden}"),
        format!("Content-Length: 0, {n}\r\n\r\n{hidden}"),
        format!("Content-Length: {n}, {n}\r\n\r\n{hidden}"),
        format!("Content-Length: +{n}\r\n\r\n{hidden}"),
        format!("Content-Length: -1\r\n\r\n{hidden}"),
        format!("Content-Length: 0x{n:x}\r\n\r\n{hidden}"),
        format!("Content-Length: {n} 0\r\n\r\n{hidden}"),
        format!("Content-Length: 99999999999999999999\r\n\r\n{hidden}"),
        // Transfer encodings other than chunked, alone or with it.
        format!("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding:\u{b}chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("X: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        // Folded lines and lines without CR.
        format!("Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("X: a\r\n Content-Length: 0\r\nContent-Length: {n}\r\n\r\n{hidden}"),
        format!("Content-Length: {n}\n\n{hidden}"),
        format!("Transfer-Encoding: chunked\n\n0\n\n{hidden}"),
        // Chunks.
        format!("Transfer-Encoding: chunked\r\n\r\n0;a=b\nx\r\n\r\n{hidden}"),
        format!(
            "Transfer-Encoding: chunked\r\n\r\n0;{}\r\n\r\n{hidden}",
            "x".repeat(20_000)
        ),
        format!("Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\n\r\n-0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n{hidden}\r\n0\r\n\r\n"),
        format!("Transfer-Encoding: chunked\r\n\r\n1\r\nAA0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\n\r\n 0\r\n\r\n{hidden}"),
    ];
    assert!(heads.len() >= 30);
    for version in ["HTTP/1.1", "HTTP/1.0"] {
        for head in &heads {
            let raw = Raw::open(&server).await;
            let request = format!("POST /v1/tables {version}\r\nHost: localhost\r\n{head}");
            raw.write(request.as_bytes()).await;
            let text = raw.read_to_close().await;
            let num_responses = text.matches("HTTP/1.").count();
            // A valid length makes the hidden request the body.
            assert!(num_responses <= 1, "{request:?} gave {text:?}");
            assert!(!text.contains("\r\n\r\nok\n"), "{request:?} gave {text:?}");
        }
    }
    assert_eq!(server.get("/healthz").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_nesting_is_refused_without_a_fall() {
    let server = server(config()).await;
    let deep = 10_000;
    let sql = format!("select {}1{}", "(".repeat(deep), ")".repeat(deep));
    assert!(server.sql(&sql).await.status >= 400);
    let sql = format!("select {}true", "not ".repeat(60_000));
    assert!(server.sql(&sql).await.status >= 400);
    let json = [("content-type", "application/json")];
    for body in [
        "[".repeat(500_000),
        format!(
            r#"{{"table":"t","filter":{}{{}}{}}}"#,
            r#"{"not":"#.repeat(deep),
            "}".repeat(deep)
        ),
    ] {
        let response = server
            .ask("POST", "/v1/query", &json, body.as_bytes())
            .await;
        assert_eq!(response.status, 400);
    }
    assert_eq!(server.get("/v1/tables/t/rows").await.numbers().len(), 5);
}
