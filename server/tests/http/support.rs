//! A server in this process and its client.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use colonnade_server::source::{Table, open_all, open_with_schemas};
use colonnade_server::{App, AppConfig};
use datafusion::arrow::array::{Int64Array, RecordBatch};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::FileWriter;
use datafusion::parquet::arrow::ArrowWriter;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{self, Response};
pub(crate) use crate::scripted::*;

/// The end-of-stream marker.
pub(crate) const MARKER: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// How long a test waits for an event that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Polls until `is_done`; `problem` is the message if it takes too long.
pub(crate) async fn until(is_done: impl Fn() -> bool, problem: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !is_done() {
        assert!(Instant::now() < deadline, "{problem}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
}

/// The outcome of one stream.
pub(crate) struct Outcome {
    pub(crate) status: u16,
    pub(crate) headers: axum::http::HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Whether the body has the end that HTTP requires.
    pub(crate) is_whole: bool,
}

impl Server {
    pub(crate) async fn start(config: &AppConfig, tables: Vec<Table>) -> Self {
        Self::of_app(App::try_new(config, tables).unwrap()).await
    }

    pub(crate) async fn of_app(app: App) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(async move {
            app.run(&listener, async { stopped.await.unwrap_or_default() })
                .await;
        });
        Self {
            url,
            stop: Some(stop),
            running: Some(running),
        }
    }

    pub(crate) async fn of_files(sources: &[String]) -> Self {
        Self::start(&config(), open_all(sources).unwrap()).await
    }

    /// A server that notices new files of its sources.
    pub(crate) async fn following(config: &AppConfig, sources: &[String]) -> Self {
        let (tables, folders) = open_with_schemas(sources, &[]).unwrap();
        let app = App::try_new(config, tables).unwrap();
        Self::of_app(app.following(Some(folders))).await
    }

    pub(crate) async fn of(tables: Vec<Table>) -> Self {
        Self::start(&config(), tables).await
    }

    /// A server of one table `t` that follows scripts.
    pub(crate) async fn of_scripts(scripts: Vec<Vec<Step>>) -> (Self, Arc<Counts>) {
        Self::start_scripts(&config(), scripts).await
    }

    /// The same with another configuration.
    pub(crate) async fn start_scripts(
        config: &AppConfig,
        scripts: Vec<Vec<Step>>,
    ) -> (Self, Arc<Counts>) {
        let (table, counts) = scripted("t", scripts);
        (Self::start(config, vec![table]).await, counts)
    }

    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Stops the server, and waits until all its work has ended.
    pub(crate) async fn stop_and_wait(&mut self) {
        self.stop();
        if let Some(running) = self.running.take() {
            running.await.unwrap();
        }
    }

    pub(crate) async fn open(&self, path: &str) -> Response {
        self.ask("GET", path, &[], b"").await
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let response = client::ask(&self.url, method, path, headers, body).await;
        response.unwrap().recorded([method, path], headers, body)
    }

    pub(crate) async fn get(&self, path: &str) -> Outcome {
        read(self.open(path).await).await
    }

    pub(crate) async fn post(&self, body: &Value) -> Outcome {
        self.post_text(&body.to_string()).await
    }

    /// Posts a query as a JSON text.
    pub(crate) async fn post_text(&self, body: &str) -> Outcome {
        let json = [("content-type", "application/json")];
        read(self.ask("POST", "/v1/query", &json, body.as_bytes()).await).await
    }

    pub(crate) async fn sql(&self, sql: &str) -> Outcome {
        self.post(&serde_json::json!({ "sql": sql })).await
    }

    pub(crate) async fn json(&self, path: &str) -> Value {
        let outcome = self.get(path).await;
        assert_eq!(outcome.status, 200, "{path}");
        serde_json::from_slice(&outcome.body).unwrap()
    }

    /// Polls a query's record until it has this state.
    pub(crate) async fn until_state(&self, id: &str, state: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let record = self.json(&format!("/v1/query/{id}")).await;
            if record["state"] == state {
                return record;
            }
            assert!(Instant::now() < deadline, "waited for {state}: {record}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Reads until the body ends or breaks.
pub(crate) async fn read(mut response: Response) -> Outcome {
    let mut body = Vec::new();
    let is_whole = loop {
        match response.chunk().await {
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    Outcome {
        status: response.status,
        headers: response.headers.clone(),
        body,
        is_whole,
    }
}

impl Outcome {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.is_whole && self.body.ends_with(&MARKER)
    }

    /// The rows of a complete stream.
    pub(crate) fn rows(&self) -> RecordBatch {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        assert!(self.is_complete(), "the stream is not complete");
        read_stream(&self.body)
    }

    /// Column 0 as numbers.
    pub(crate) fn numbers(&self) -> Vec<i64> {
        numbers(&self.rows(), 0)
    }

    /// Whether column 0 is just these numbers.
    pub(crate) fn has_numbers(&self, numbers: Range<i64>) -> bool {
        self.numbers().into_iter().eq(numbers)
    }

    pub(crate) fn assert_refused(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code().as_str()), (status, code));
    }

    pub(crate) fn problem(&self) -> Value {
        assert!(self.status >= 400, "{} is no failure", self.status);
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem: Value = serde_json::from_slice(&self.body).unwrap();
        for key in ["type", "title", "code", "detail", "hint"] {
            let text = problem[key]
                .as_str()
                .unwrap_or_else(|| panic!("{key} in {problem}"));
            assert!(!text.contains('\n'), "{problem}");
        }
        assert_eq!(problem["status"], self.status);
        problem
    }

    pub(crate) fn code(&self) -> String {
        self.problem()["code"].as_str().unwrap().to_owned()
    }
}

/// The rows of a stream.
pub(crate) fn read_stream(stream: &[u8]) -> RecordBatch {
    let reader = StreamReader::try_new(stream, None).unwrap();
    let schema = reader.schema();
    let batches: Vec<_> = reader.map(|batch| batch.unwrap()).collect();
    concat_batches(&schema, &batches).unwrap()
}

/// Column 0 of the rows that can be read from a stream, even if it is truncated.
pub(crate) fn readable(body: &[u8]) -> Vec<i64> {
    let Ok(reader) = StreamReader::try_new(body, None) else {
        return Vec::new();
    };
    let batches = reader.map_while(Result::ok);
    batches.flat_map(|batch| numbers(&batch, 0)).collect()
}

pub(crate) fn numbers(batch: &RecordBatch, column: usize) -> Vec<i64> {
    batch
        .column(column)
        .as_any()
        .downcast_ref::<Int64Array>()
        .unwrap()
        .values()
        .to_vec()
}

pub(crate) fn config() -> AppConfig {
    AppConfig {
        memory_bytes: 256 << 20,
        num_threads: 4,
        grace: Duration::from_millis(200),
        engine_program: Some(env!("CARGO_BIN_EXE_colonnade").into()),
        ..AppConfig::default()
    }
}

pub(crate) fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

/// Writes the rows as an Arrow file; returns its path.
pub(crate) fn write_arrow(folder: &Path, name: &str, rows: &RecordBatch) -> String {
    let path = path(folder, name);
    let mut writer = FileWriter::try_new(File::create(&path).unwrap(), &rows.schema()).unwrap();
    writer.write(rows).unwrap();
    writer.finish().unwrap();
    path
}

/// Writes the rows as a Parquet file; returns its path.
pub(crate) fn write_parquet(folder: &Path, name: &str, rows: &RecordBatch) -> String {
    let path = path(folder, name);
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    path
}

/// Operators of SQL, those of predicates, and whether they hold for a value that is less, equal and greater.
pub(crate) const OPERATORS: [(&str, &str, [bool; 3]); 6] = [
    ("=", "eq", [false, true, false]),
    ("<>", "ne", [true, false, true]),
    ("<", "lt", [true, false, false]),
    ("<=", "le", [true, true, false]),
    (">", "gt", [false, false, true]),
    (">=", "ge", [false, true, true]),
];

/// A query id from a number.
pub(crate) fn id(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// The number that an environment variable holds.
pub(crate) fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Pseudo-random numbers (xorshift64), the same for the same seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
