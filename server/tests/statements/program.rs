//! The program as a process of its own, and how a statement ends in it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;

use crate::client::{self, Response};

/// The end-of-stream marker.
const MARKER: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// A reader that keeps rows leaves after so many bytes.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// How long a record may take to show the end that a reader has seen.
const RECORD_PATIENCE: Duration = Duration::from_secs(5);

/// Codes of errors that are the statement's own.
const OWN_CODES: [&str; 10] = [
    "sql_error",
    "unknown_column",
    "unknown_table",
    "read_only",
    "arithmetic_overflow",
    "execution_error",
    "resources_exhausted",
    "out_of_memory",
    "too_complex",
    "query_timeout",
];

/// Whether the code is one of a statement's own, or one of `others`.
pub(crate) fn is_expected(code: &str, others: &[&str]) -> bool {
    OWN_CODES.contains(&code) || others.contains(&code)
}

/// How the client reads the rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reader {
    /// Reads and keeps all rows.
    Whole,
    /// The same with pauses.
    Slow,
    /// Reads all rows and keeps none.
    Discards,
    /// Closes the connection after this time.
    Leaves(Duration),
    /// Deletes the query after this time.
    Cancels(Duration),
}

/// How a statement ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The stream with all rows, unless the reader discards them.
    Rows(Vec<u8>),
    /// An error.
    Failed { code: String, message: String },
    /// The client left or cancelled, and the query is no longer running.
    Left,
}

pub(crate) struct Program {
    child: Child,
    pub(crate) url: String,
    log: NamedTempFile,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lets one test at a time use the machine, because the tests measure its memory and processor time.
pub(crate) async fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::const_new(());
    ALONE.lock().await
}

impl Program {
    /// Starts the program with these arguments. `cache` is the folder of its demo tables.
    pub(crate) fn start(cache: &Path, arguments: &[&str]) -> Self {
        let log = NamedTempFile::new().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_colonnade"))
            .arg("serve")
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .env("COLONNADE_CACHE_DIR", cache)
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::piped())
            .stderr(log.reopen().unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let url = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .to_owned();
        Self { child, url, log }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Why the program does not answer any more; `None` if it does.
    pub(crate) async fn death(&mut self) -> Option<String> {
        let answer = timeout(RECORD_PATIENCE, self.get("/healthz")).await;
        if let Ok(Ok((200, _))) = answer {
            return None;
        }
        let deadline = Instant::now() + RECORD_PATIENCE;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                let log = std::fs::read_to_string(self.log.path()).unwrap_or_default();
                let last: Vec<&str> = log.lines().rev().take(2).collect();
                return Some(format!("the server died: {status}; it wrote {last:?}"));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Some(format!("the server does not answer: {answer:?}"))
    }

    /// Runs a query, whose `id` must be given, and deletes its result.
    ///
    /// # Errors
    /// What is wrong with its end, or that it has none within `patience`.
    pub(crate) async fn run(
        &self,
        query: &Value,
        reader: Reader,
        patience: Duration,
    ) -> Result<Ending, String> {
        let path = format!("/v1/query/{}", query["id"].as_str().unwrap());
        let ended = timeout(patience, self.read(query, reader, &path)).await;
        let ended = ended.unwrap_or_else(|_| Err(format!("no end within {patience:?}")));
        let _ = timeout(RECORD_PATIENCE, self.delete(&path)).await;
        ended
    }

    /// The begin of the rows of a query.
    ///
    /// # Errors
    /// It does not begin.
    pub(crate) async fn begin(&self, query: &Value) -> Result<Response, String> {
        let body = query.to_string();
        let mut response = self.ask("POST", "/v1/query", body.as_bytes()).await?;
        let first = response.chunk().await;
        match (response.status, first) {
            (200, Ok(Some(_))) => Ok(response),
            (status, first) => Err(format!("{status}, {first:?}")),
        }
    }

    async fn read(&self, query: &Value, reader: Reader, path: &str) -> Result<Ending, String> {
        match reader {
            Reader::Leaves(after) => {
                if let Ok(ended) = timeout(after, self.read_all(query, reader, path)).await {
                    return ended;
                }
            }
            Reader::Cancels(after) => {
                let mut reading = Box::pin(self.read_all(query, reader, path));
                if let Ok(ended) = timeout(after, &mut reading).await {
                    return ended;
                }
                self.delete(path).await?;
                // The stream ends with an error, or completely if the query was faster.
                let _ = reading.await;
            }
            _ => return self.read_all(query, reader, path).await,
        }
        while self.state(path).await?["state"] == "running" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(Ending::Left)
    }

    async fn read_all(&self, query: &Value, reader: Reader, path: &str) -> Result<Ending, String> {
        let body = query.to_string();
        let mut response = self.ask("POST", "/v1/query", body.as_bytes()).await?;
        let is_kept = response.status != 200 || !matches!(reader, Reader::Discards);
        let (mut bytes, mut num_reads) = (Vec::new(), 0);
        let is_whole = loop {
            match response.chunk().await {
                Ok(Some(piece)) => bytes.extend_from_slice(&piece),
                Ok(None) => break true,
                Err(_) => break false,
            }
            if !is_kept {
                bytes.drain(..bytes.len().saturating_sub(MARKER.len()));
            } else if bytes.len() > MAX_KEPT_BYTES {
                response.reset();
                return Ok(Ending::Left);
            }
            num_reads += 1;
            if matches!(reader, Reader::Slow) && num_reads < 20 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if response.status != 200 {
            return problem(&response, &bytes);
        }
        if is_whole && bytes.ends_with(&MARKER) {
            return Ok(Ending::Rows(bytes));
        }
        let deadline = Instant::now() + RECORD_PATIENCE;
        loop {
            let record = self.state(path).await?;
            match record["state"].as_str() {
                Some("failed") => return failed(&record["error"], "message"),
                Some("running") if Instant::now() < deadline => {}
                _ => return Err(format!("the stream is cut, but its record is {record}")),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The record of a query; its state is `forgotten` if there is none.
    async fn state(&self, path: &str) -> Result<Value, String> {
        match self.get(path).await? {
            (200, record) => Ok(record),
            (404, _) => Ok(json!({ "state": "forgotten" })),
            (status, body) => Err(format!("the record cannot be read: {status} {body}")),
        }
    }

    /// Status and body, which is null if it is no JSON.
    pub(crate) async fn get(&self, path: &str) -> Result<(u16, Value), String> {
        let mut response = self.ask("GET", path, b"").await?;
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|e| format!("{path}: {e}"))? {
            body.extend_from_slice(&piece);
        }
        Ok((
            response.status,
            serde_json::from_slice(&body).unwrap_or_default(),
        ))
    }

    async fn delete(&self, path: &str) -> Result<(), String> {
        self.ask("DELETE", path, b"").await.map(drop)
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> Result<Response, String> {
        let headers: &[_] = if body.is_empty() {
            &[]
        } else {
            &[("content-type", "application/json")]
        };
        let response = client::ask(&self.url, method, path, headers, body).await;
        let response = response.map_err(|error| format!("no response to {method}: {error}"))?;
        Ok(response.recorded([method, path], headers, body))
    }
}

fn problem(response: &Response, body: &[u8]) -> Result<Ending, String> {
    let text = String::from_utf8_lossy(body);
    let is_problem = response
        .headers
        .get("content-type")
        .is_some_and(|name| name == "application/problem+json");
    match serde_json::from_slice(body) {
        Ok(problem) if is_problem => failed(&problem, "detail"),
        _ => Err(format!("{} without a problem: {text}", response.status)),
    }
}

fn failed(error: &Value, message: &str) -> Result<Ending, String> {
    match (error["code"].as_str(), error[message].as_str()) {
        (Some(code), Some(message)) => Ok(Ending::Failed {
            code: code.to_owned(),
            message: message.to_owned(),
        }),
        _ => Err(format!("no clear error: {error}")),
    }
}
