//! A server in this process, its client, and tables that behave as a test wants.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use colonnade_server::source::{Table, open_all};
use colonnade_server::{App, AppConfig};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::Stream;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{self, Response};

/// The end-of-stream marker.
pub(crate) const MARKER: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// How long a test waits for what must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Server {
    pub(crate) url: String,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
}

/// What came of one stream.
pub(crate) struct Outcome {
    pub(crate) status: u16,
    pub(crate) headers: axum::http::HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Whether the body ended as HTTP wants it.
    pub(crate) is_whole: bool,
}

impl Server {
    pub(crate) async fn start(config: &AppConfig, tables: Vec<Table>) -> Self {
        let app = App::try_new(config, tables).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(async move {
            app.run(listener, async { stopped.await.unwrap_or_default() })
                .await
                .unwrap();
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

    pub(crate) async fn of(tables: Vec<Table>) -> Self {
        Self::start(&config(), tables).await
    }

    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Stops, and waits until everything of it is gone.
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
        client::ask(&self.url, method, path, headers, body)
            .await
            .unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Outcome {
        read(self.open(path).await).await
    }

    pub(crate) async fn post(&self, body: &Value) -> Outcome {
        let json = [("content-type", "application/json")];
        let body = body.to_string();
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

    /// Polls a query's record until it is in that state.
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

/// Reads to the end of the body, whatever end that is.
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
        let reader = StreamReader::try_new(self.body.as_slice(), None).unwrap();
        let schema = reader.schema();
        let batches: Vec<_> = reader.map(|batch| batch.unwrap()).collect();
        concat_batches(&schema, &batches).unwrap()
    }

    /// Column 0 as numbers.
    pub(crate) fn numbers(&self) -> Vec<i64> {
        numbers(&self.rows(), 0)
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
        ..AppConfig::default()
    }
}

pub(crate) fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

/// A query id from a number.
pub(crate) fn id(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// Rows `[start, start + num_rows)`: the number and a text of it.
pub(crate) fn batch(start: i64, num_rows: i64) -> RecordBatch {
    let text = StringArray::from_iter_values((start..start + num_rows).map(|k| format!("row {k}")));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(start..start + num_rows)),
        Arc::new(text),
    ];
    RecordBatch::try_new(schema(), columns).unwrap()
}

pub(crate) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("t", DataType::Utf8, true),
    ]))
}

/// What a scripted partition does, one step after the other.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Yields these rows.
    Rows { start: i64, num_rows: i64 },
    /// Yields this.
    Batch(RecordBatch),
    /// Takes its time.
    Delay(Duration),
    /// Fails.
    Fail,
    /// Panics.
    Panic,
    /// Yields rows without end.
    Forever,
    /// Yields nothing more and does not end.
    Silence,
}

/// What scripted partitions count.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Streams that exist now.
    pub(crate) running: AtomicUsize,
    /// Streams that were ever begun.
    pub(crate) begun: AtomicUsize,
    /// Rows that were ever yielded.
    pub(crate) num_rows: AtomicI64,
}

impl Counts {
    /// Polls until no stream exists any more.
    pub(crate) async fn until_idle(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.running.load(Ordering::SeqCst) > 0 {
            assert!(Instant::now() < deadline, "work goes on");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Polls until rows no longer come, and returns how many did.
    pub(crate) async fn until_still(&self) -> i64 {
        let deadline = Instant::now() + PATIENCE;
        let (mut seen, mut since) = (-1, Instant::now());
        loop {
            let now = self.num_rows.load(Ordering::SeqCst);
            if now != seen {
                (seen, since) = (now, Instant::now());
            } else if since.elapsed() > Duration::from_millis(300) && now > 0 {
                return now;
            }
            assert!(Instant::now() < deadline, "rows come without end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A table whose partitions follow scripts.
pub(crate) fn scripted(name: &str, scripts: Vec<Vec<Step>>) -> (Table, Arc<Counts>) {
    scripted_as(name, &schema(), scripts)
}

/// The same with other columns than [`schema`]'s.
pub(crate) fn scripted_as(
    name: &str,
    schema: &SchemaRef,
    scripts: Vec<Vec<Step>>,
) -> (Table, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    let partitions = scripts
        .into_iter()
        .map(|steps| {
            Arc::new(Scripted {
                schema: Arc::clone(schema),
                steps,
                counts: Arc::clone(&counts),
            }) as Arc<dyn PartitionStream>
        })
        .collect();
    let provider = StreamingTable::try_new(Arc::clone(schema), partitions).unwrap();
    (Table::from_provider(name, Arc::new(provider)), counts)
}

#[derive(Debug)]
struct Scripted {
    schema: SchemaRef,
    steps: Vec<Step>,
    counts: Arc<Counts>,
}

impl PartitionStream for Scripted {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        self.counts.running.fetch_add(1, Ordering::SeqCst);
        self.counts.begun.fetch_add(1, Ordering::SeqCst);
        let stream = ScriptedStream {
            steps: self.steps.clone().into(),
            counts: Arc::clone(&self.counts),
            sleep: None,
            next_row: 0,
        };
        Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            stream,
        ))
    }
}

struct ScriptedStream {
    steps: std::collections::VecDeque<Step>,
    counts: Arc<Counts>,
    sleep: Option<Pin<Box<tokio::time::Sleep>>>,
    next_row: i64,
}

impl Stream for ScriptedStream {
    type Item = Result<RecordBatch, DataFusionError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                if sleep.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                self.sleep = None;
            }
            let rows = |stream: &mut Self, start, num_rows| {
                stream.counts.num_rows.fetch_add(num_rows, Ordering::SeqCst);
                Poll::Ready(Some(Ok(batch(start, num_rows))))
            };
            match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Rows { start, num_rows }) => return rows(&mut self, start, num_rows),
                Some(Step::Batch(batch)) => return Poll::Ready(Some(Ok(batch))),
                Some(Step::Delay(delay)) => self.sleep = Some(Box::pin(tokio::time::sleep(delay))),
                Some(Step::Fail) => {
                    return Poll::Ready(Some(Err(DataFusionError::Execution(
                        "told to fail".into(),
                    ))));
                }
                Some(Step::Panic) => panic!("told to panic"),
                Some(Step::Forever) => {
                    self.steps.push_front(Step::Forever);
                    let start = self.next_row;
                    self.next_row += 1000;
                    return rows(&mut self, start, 1000);
                }
                Some(Step::Silence) => {
                    self.steps.push_front(Step::Silence);
                    return Poll::Pending;
                }
            }
        }
    }
}

impl Drop for ScriptedStream {
    fn drop(&mut self) {
        self.counts.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Numbers that look random and are the same for the same seed; xorshift64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
