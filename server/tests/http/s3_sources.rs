//! Buckets of a real S3-compatible server, which the test starts, read by the program.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use datafusion::arrow::ipc::writer::FileWriter;

use crate::client;
use crate::served::{self, Running, get, refusal, serve};
use crate::support::*;
use crate::web_files::WebFiles;
use crate::web_sources::{csv, parquet};

struct Store {
    url: String,
    _process: Running,
}

impl Store {
    /// Starts it with `env`; prints a line and returns `None` if there is no such server.
    async fn start(env: &[(&str, &str)]) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let program = std::env::var("COLONNADE_MOTO_SERVER");
        let started = Command::new(program.unwrap_or_else(|_| "moto_server".to_owned()))
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .envs(env.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(process) = started else {
            eprintln!(
                "skipped: object stores; COLONNADE_MOTO_SERVER is not set, and moto_server is not installed"
            );
            return None;
        };
        let store = Self {
            url: format!("http://127.0.0.1:{port}"),
            _process: Running(process),
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while client::ask(&store.url, "GET", "/moto-api/", &[], b"")
            .await
            .is_err()
        {
            assert!(Instant::now() < deadline, "moto_server does not answer");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Some(store)
    }

    /// Puts an object. As S3 asks of its clients, it repeats a request that failed with an error of the server.
    async fn put(&self, path: &str, bytes: &[u8]) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let asked = client::ask(&self.url, "PUT", path, &[], bytes).await;
            let mut response = asked.unwrap();
            if response.status == 200 {
                return;
            }
            let is_over = response.status < 500 || Instant::now() > deadline;
            if is_over {
                let body = response.chunk().await;
                panic!("{path}: {}, {body:?}", response.status);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// The program with these sources at that endpoint.
fn program(endpoint: &str, sources: &[&str]) -> Command {
    let mut command = served::program(sources);
    command
        .env("AWS_ENDPOINT_URL", endpoint)
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_REGION", "eu-central-1")
        .env("AWS_ACCESS_KEY_ID", "someone")
        .env("AWS_SECRET_ACCESS_KEY", "hunter2");
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_folders_and_globs_of_a_bucket() {
    let Some(store) = Store::start(&[]).await else {
        return;
    };
    store.put("/lake", b"").await;
    let mut arrow = FileWriter::try_new(Vec::new(), &schema()).unwrap();
    for start in (0..100_000).step_by(5000) {
        arrow.write(&batch(start, 5000)).unwrap();
    }
    store.put("/lake/one/a.parquet", &parquet(0, 100_000)).await;
    store
        .put("/lake/one/b%20c.csv", csv(0, 100_000).as_bytes())
        .await;
    store
        .put("/lake/one/deep/d.arrow", &arrow.into_inner().unwrap())
        .await;
    store
        .put("/lake/one/.hidden.csv", csv(0, 1).as_bytes())
        .await;
    store.put("/lake/one/read.me", b"A title").await;
    let mut start = 0;
    for year in [2023, 2024] {
        for part in 0..3 {
            let path = format!("/lake/sales/year%3D{year}/part-{part}.parquet");
            store.put(&path, &parquet(start, 10_000)).await;
            start += 10_000;
        }
    }
    let sources = [
        "s3://lake/one",
        "s3://lake/sales/",
        "single=s3://lake/one/a.parquet",
        "globbed=s3://lake/sales/*/part-1.parquet",
    ];
    let (_program, address) = serve(program(&store.url, &sources));
    let tables = get(&address, "/v1/tables").await.body;
    let tables: serde_json::Value = serde_json::from_slice(&tables).unwrap();
    let names: Vec<_> = tables["tables"].as_array().unwrap().iter().collect();
    let names: Vec<_> = names
        .iter()
        .map(|table| table["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "b c", "deep.d", "globbed", "sales", "single"]);
    for name in ["a", "b c", "deep.d", "single"] {
        let rows = get(&address, &format!("/v1/tables/{name}/rows")).await;
        assert!(rows.has_numbers(0..100_000), "{name}");
        let some = format!("/v1/tables/{name}/rows?offset=99990&columns=n");
        assert!(
            get(&address, &some).await.has_numbers(99_990..100_000),
            "{name}"
        );
    }
    let sales = get(&address, "/v1/tables/sales/rows").await;
    assert!(sales.has_numbers(0..60_000));
    let years = get(
        &address,
        "/v1/tables/sales/rows?columns=year&offset=29999&limit=2",
    )
    .await;
    assert_eq!(years.numbers(), [2023, 2024]);
    let last = get(&address, "/v1/tables/sales/rows?filter=year%3D2024&limit=1").await;
    assert!(last.has_numbers(30_000..30_001));
    let globbed = get(&address, "/v1/tables/globbed/rows").await.numbers();
    assert!(
        globbed
            .into_iter()
            .eq((10_000..20_000).chain(40_000..50_000))
    );

    for (source, words) in [
        (
            "s3://lake/nothing",
            "there is no such object, and nothing below it",
        ),
        ("s3://lake/one/*.json", "no file matches"),
        ("s3://sea/a.csv", "there is no such bucket"),
        ("s3://lake/one/read.me", "unsupported file type"),
        ("s3://", "give one such as s3://bucket"),
    ] {
        let (code, text) = refusal(program(&store.url, &[source]));
        assert!(
            code == 2 && text.contains(words),
            "{source}: {code}, {text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_may_not_be_read_is_refused() {
    let env = [("INITIAL_NO_AUTH_ACTION_COUNT", "0")];
    let Some(store) = Store::start(&env).await else {
        return;
    };
    let (code, text) = refusal(program(&store.url, &["s3://lake/a.csv"]));
    assert!(
        code == 2 && text.contains("access is denied (403)"),
        "{code}, {text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_store_is_said_in_one_line() {
    let web = WebFiles::start().await;
    let (code, text) = refusal(program(&web.url, &["s3://elsewhere/a.csv"]));
    assert!(
        code == 2 && text.contains("set AWS_REGION"),
        "{code}, {text}"
    );
    let (code, text) = refusal(program("http://127.0.0.1:1", &["s3://lake/a.csv"]));
    assert!(
        code == 1 && text.contains("the host cannot be reached"),
        "{code}, {text}"
    );
    let mut plain = program(&web.url, &["s3://lake/a.csv"]);
    plain.env_remove("AWS_ALLOW_HTTP");
    let (code, text) = refusal(plain);
    assert!(
        code == 2 && text.contains("AWS_ALLOW_HTTP=true"),
        "{code}, {text}"
    );
    let mut nobody = program(&web.url, &["s3://lake/a.csv"]);
    nobody
        .env_remove("AWS_ACCESS_KEY_ID")
        .env_remove("AWS_SECRET_ACCESS_KEY");
    nobody.env("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1");
    let (code, text) = refusal(nobody);
    assert!(
        code == 2 && text.contains("there are no credentials"),
        "{code}, {text}"
    );
}
