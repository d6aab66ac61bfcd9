//! Engines over TLS, with certificates that the system trusts or not.

use std::path::Path;

use crate::client;
use crate::fake_flight::{FakeFlight, Script, Sent};
use crate::fake_spark::{Answer, FakeSpark};
use crate::played::Certificate;
use crate::served::{program, refusal, serve};
use crate::support::*;

/// Checks that rows come from the engine at `url` if its certificate is trusted, and none if not.
async fn holds(url: &str, certificate: &Path) {
    let mut trusting = program(&[url]);
    trusting.env("SSL_CERT_FILE", certificate);
    let (_program, address) = serve(trusting);
    let headers = [("content-type", "application/json")];
    let sql = br#"{"sql": "select 1"}"#;
    let response = client::ask(&address, "POST", "/v1/query", &headers, sql).await;
    assert!(read(response.unwrap()).await.has_numbers(0..1000), "{url}");

    let (code, text) = refusal(program(&[url]));
    assert!(
        code == 1 && text.contains("certificate"),
        "{url}: {code}, {text}"
    );
    let (code, text) = refusal(program(&[&url.replace("127.0.0.1", "localhost")]));
    assert!(code == 1, "{url}: {code}, {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_is_asked_over_tls_where_its_certificate_is_trusted() {
    let Some(certificate) = Certificate::make() else {
        return;
    };
    let rows = Sent::Rows {
        start: 0,
        num_rows: 1000,
    };
    let flight = FakeFlight::start(Script {
        endpoints: vec![vec![rows]],
        ordered: true,
        tls: Some(certificate.acceptor()),
        ..Script::default()
    })
    .await;
    holds(&flight.url, &certificate.path()).await;

    let rows = Answer::Rows {
        start: 0,
        num_rows: 1000,
    };
    let answers = vec![rows, Answer::Complete];
    let spark = FakeSpark::start_with_tls(answers, certificate.acceptor()).await;
    holds(&spark.url, &certificate.path()).await;
}
