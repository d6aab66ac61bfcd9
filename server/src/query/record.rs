//! What is known about one query.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::error::{ErrorSummary, QueryError};
use crate::plan::Order;
use crate::query::QueryObserver;

/// The life of a query.
#[derive(Debug, Clone)]
enum State {
    /// It is planned, runs, or waits for its reader.
    Running,
    /// All rows were sent.
    Done,
    /// It failed.
    Failed(QueryError),
    /// It was deleted, or its reader left.
    Cancelled,
}

#[derive(Debug)]
struct Progress {
    state: State,
    order: Option<Order>,
    first_row: u64,
    rows_ready: u64,
    rows_sent: u64,
    batches_sent: u64,
    bytes_sent: u64,
    ended: Option<Instant>,
}

/// One query, from its first request until it is forgotten.
#[derive(Debug)]
pub struct QueryRecord {
    /// Its id.
    pub id: Uuid,
    /// Stops its work.
    pub cancel: CancellationToken,
    started: Instant,
    progress: Mutex<Progress>,
    observer: OnceLock<QueryObserver>,
}

/// The record as `GET /v1/query/{id}` shows it.
#[derive(Debug, Clone, Serialize)]
pub struct QueryStatus {
    /// The id.
    pub id: Uuid,
    /// `running`, `done`, `failed` or `cancelled`.
    pub state: &'static str,
    /// `total`, `partition`, `none`; null while the query is being planned.
    pub order: Option<&'static str>,
    /// Rows in all; null until known.
    pub rows: Option<u64>,
    /// The first row of the result that was asked for.
    pub first_row: u64,
    /// Rows that are ready to be read.
    pub rows_ready: u64,
    /// Rows that were given to the connection.
    pub rows_sent: u64,
    /// Record batches that were given to the connection.
    pub batches_sent: u64,
    /// Bytes that were given to the connection.
    pub bytes_sent: u64,
    /// Time from the request to the end, or to now.
    pub elapsed_ms: u64,
    /// Why it failed or was cancelled.
    pub error: Option<ErrorSummary>,
}

impl QueryRecord {
    /// A query that has just been asked for.
    pub fn new(id: Uuid, first_row: u64) -> Self {
        let progress = Progress {
            state: State::Running,
            order: None,
            first_row,
            rows_ready: 0,
            rows_sent: 0,
            batches_sent: 0,
            bytes_sent: 0,
            ended: None,
        };
        Self {
            id,
            cancel: CancellationToken::new(),
            started: Instant::now(),
            progress: Mutex::new(progress),
            observer: OnceLock::new(),
        }
    }

    /// Tells this observer of what is sent, and of the end.
    pub fn observe(&self, observer: QueryObserver) {
        // Only one is ever set.
        let _ = self.observer.set(observer);
    }

    /// When it was asked for.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Notes the order once it is planned.
    pub fn set_order(&self, order: Order) {
        self.lock().order = Some(order);
    }

    /// Notes a message that was given to the connection.
    pub fn sent(&self, num_rows: u64, num_bytes: u64, is_batch: bool) {
        let mut progress = self.lock();
        progress.rows_sent += num_rows;
        progress.rows_ready = progress.rows_ready.max(progress.rows_sent);
        progress.bytes_sent += num_bytes;
        progress.batches_sent += u64::from(is_batch);
        drop(progress);
        if let Some(observer) = self.observer.get() {
            observer.sent(num_rows, num_bytes, is_batch);
        }
    }

    /// The last row was sent. The first of `done`, `fail` and `cancelled` counts.
    pub fn done(&self) {
        self.end(State::Done);
    }

    /// It failed.
    pub fn fail(&self, error: QueryError) {
        self.end(State::Failed(error));
    }

    /// It was deleted, or its reader left. Stops the work.
    pub fn cancelled(&self) {
        self.end(State::Cancelled);
        self.cancel.cancel();
    }

    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        matches!(self.lock().state, State::Running)
    }

    /// How long ago it ended; `None` while it runs.
    pub fn ended_for(&self) -> Option<Duration> {
        self.lock().ended.map(|ended| ended.elapsed())
    }

    /// What to show.
    pub fn status(&self) -> QueryStatus {
        let progress = self.lock();
        let (state, rows, error) = match &progress.state {
            State::Running => ("running", None, None),
            State::Done => ("done", Some(progress.first_row + progress.rows_sent), None),
            State::Failed(error) => ("failed", None, Some(error.summary())),
            State::Cancelled => ("cancelled", None, None),
        };
        let until = progress.ended.unwrap_or_else(Instant::now);
        QueryStatus {
            id: self.id,
            state,
            order: progress.order.map(Order::name),
            rows,
            first_row: progress.first_row,
            rows_ready: progress.rows_ready,
            rows_sent: progress.rows_sent,
            batches_sent: progress.batches_sent,
            bytes_sent: progress.bytes_sent,
            elapsed_ms: until.duration_since(self.started).as_millis() as u64,
            error,
        }
    }

    fn end(&self, state: State) {
        let mut progress = self.lock();
        if matches!(progress.state, State::Running) {
            progress.state = state;
            progress.ended = Some(Instant::now());
            drop(progress);
            if let Some(observer) = self.observer.get() {
                observer.ended(&self.status());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by whoever runs a query for its reader: when it is dropped before the query has ended, the
/// query is cancelled.
#[derive(Debug)]
pub struct RunningQuery(Arc<QueryRecord>);

impl RunningQuery {
    /// Takes charge of a query.
    pub fn new(record: Arc<QueryRecord>) -> Self {
        Self(record)
    }
}

impl Deref for RunningQuery {
    type Target = QueryRecord;

    fn deref(&self) -> &QueryRecord {
        &self.0
    }
}

impl Drop for RunningQuery {
    fn drop(&mut self) {
        self.0.cancelled();
    }
}
