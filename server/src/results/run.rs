//! One execution of a query from some row on, and who reads it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::backend::runtime::QueryRuntime;
use crate::encode::{Codec, EmptyBatch};
use crate::error::{ErrorKind, QueryError, source_changed};
use crate::message::IpcMessage;
use crate::order::Stitcher;
use crate::results::{Query, Results};
use crate::source::Table;
use crate::spool::Log;

/// What a run is made of.
#[derive(Debug)]
pub(super) struct RunParts {
    pub(super) start_row: u64,
    pub(super) end_row: Option<u64>,
    pub(super) codec: Option<Codec>,
    pub(super) schema: IpcMessage,
    pub(super) empty: EmptyBatch,
    pub(super) snapshot: u64,
    pub(super) log: Log,
    /// Where its timers live.
    pub(super) runtime: Handle,
}

/// The rows of a query from `start_row` on, as they come. It works only while a reader wants rows
/// that are not there yet, and is cancelled when its last reader has left for longer than it lingers.
#[derive(Debug)]
pub struct Run {
    /// Its first row.
    pub start_row: u64,
    /// The row before which it stops; `None`: at the last row of the result.
    pub end_row: Option<u64>,
    /// How its messages are compressed.
    pub codec: Option<Codec>,
    /// Its schema message.
    pub schema: IpcMessage,
    /// A batch of no rows.
    pub empty: EmptyBatch,
    /// Tells whether two responses may be joined: both say the same.
    pub snapshot: u64,
    /// Its messages.
    pub log: Log,
    /// Stops it.
    pub cancel: CancellationToken,
    readers: Mutex<Readers>,
    demand: Notify,
    runtime: Handle,
}

#[derive(Debug, Default)]
struct Readers {
    next_id: u64,
    /// The row that each reader waits for.
    wanted: HashMap<u64, Option<u64>>,
    linger: Duration,
    /// Counts who comes and goes, so that an old timer knows that it is old.
    changes: u64,
}

impl Run {
    /// A run that has not begun.
    pub(super) fn new(parts: RunParts) -> Self {
        Self {
            start_row: parts.start_row,
            end_row: parts.end_row,
            codec: parts.codec,
            schema: parts.schema,
            empty: parts.empty,
            snapshot: parts.snapshot,
            log: parts.log,
            cancel: CancellationToken::new(),
            readers: Mutex::default(),
            demand: Notify::new(),
            runtime: parts.runtime,
        }
    }

    /// Takes a reader; `None` where the run was cancelled and has not ended well.
    pub(super) fn join(&self, linger: Duration) -> Option<u64> {
        let mut readers = self.lock();
        if self.cancel.is_cancelled() && !matches!(self.log.end(), Some(Ok(()))) {
            return None;
        }
        let id = readers.next_id;
        readers.next_id += 1;
        readers.changes += 1;
        readers.linger = readers.linger.max(linger);
        readers.wanted.insert(id, None);
        Some(id)
    }

    /// A reader waits for that row, or for none any more.
    pub(super) fn want(&self, reader: u64, row: Option<u64>) {
        if let Some(wanted) = self.lock().wanted.get_mut(&reader) {
            *wanted = row;
        }
        if row.is_some() {
            self.demand.notify_one();
        }
    }

    /// A reader leaves. After the last one the run is held, idle, for as long as it lingers.
    pub(super) fn leave(self: &Arc<Self>, reader: u64) {
        let mut readers = self.lock();
        readers.wanted.remove(&reader);
        readers.changes += 1;
        if !readers.wanted.is_empty() || self.log.end().is_some() {
            return;
        }
        if readers.linger.is_zero() {
            self.cancel.cancel();
            return;
        }
        let (linger, changes) = (readers.linger, readers.changes);
        drop(readers);
        let run = Arc::clone(self);
        self.runtime.spawn(async move {
            tokio::select! {
                () = run.cancel.cancelled() => {}
                () = tokio::time::sleep(linger) => {
                    let readers = run.lock();
                    if readers.changes == changes {
                        run.cancel.cancel();
                    }
                }
            }
        });
    }

    /// Whether anybody reads it.
    pub fn has_readers(&self) -> bool {
        !self.lock().wanted.is_empty()
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        self.log.end().is_none()
    }

    /// Waits until a reader wants a row that is not there yet.
    async fn demanded(&self) {
        loop {
            let wanted = self.lock().wanted.values().flatten().max().copied();
            if wanted.is_some_and(|row| row >= self.log.rows().end) {
                return;
            }
            self.demand.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What drives a run.
pub(super) struct Pump {
    pub(super) results: Arc<Results>,
    pub(super) query: Arc<Query>,
    pub(super) run: Arc<Run>,
    pub(super) stitcher: Stitcher,
    /// Its threads.
    pub(super) runtime: QueryRuntime,
    /// The tables that it reads, as they were when it was planned.
    pub(super) sources: Vec<Arc<Table>>,
    /// Time of execution that is left; the time in which readers are waited for is not counted.
    pub(super) time_left: Option<Duration>,
}

impl Pump {
    /// Runs to the end, whatever end that is.
    pub(super) async fn drive(mut self) {
        let end = loop {
            tokio::select! {
                biased;
                () = self.run.cancel.cancelled() => break Err(cancelled()),
                () = self.run.demanded() => {}
            }
            match self.next().await {
                Some(Ok(message)) => {
                    let registry = &self.results.registry;
                    self.run.log.append(message, || registry.free_disk()).await;
                    self.query.note_ready(self.run.log.rows().end);
                }
                Some(Err(error)) => break Err(error),
                None => break self.compare_sources().await,
            }
        };
        tracing::debug!(id = %self.query.id, peak_bytes = self.stitcher.peak_bytes(), "run ended");
        // In this order, so that whoever sees the end of the stream sees it in the record too.
        self.query.run_ended(&self.run, &end);
        self.run.log.finish(end);
        drop(self.stitcher);
        drop(self.runtime);
        self.results.note_end();
    }

    async fn next(&mut self) -> Option<Result<IpcMessage, QueryError>> {
        let asked = Instant::now();
        let time_left = self.time_left;
        let timeout = async {
            match time_left {
                Some(time_left) => tokio::time::sleep(time_left).await,
                None => std::future::pending().await,
            }
        };
        let next = tokio::select! {
            biased;
            () = self.run.cancel.cancelled() => Some(Err(cancelled())),
            next = self.stitcher.next() => next,
            () = timeout => Some(Err(timed_out())),
        };
        if let Some(time_left) = &mut self.time_left {
            *time_left = time_left.saturating_sub(asked.elapsed());
        }
        next
    }

    /// A source that has changed since the plan was made gives no complete result.
    async fn compare_sources(&self) -> Result<(), QueryError> {
        let sources = self.sources.clone();
        let changed = tokio::task::spawn_blocking(move || {
            sources
                .iter()
                .find(|table| table.has_changed())
                .map(|table| table.name.clone())
        });
        match changed.await {
            Ok(Some(name)) => Err(source_changed(&name)),
            _ => Ok(()),
        }
    }
}

pub(super) fn cancelled() -> QueryError {
    QueryError::new(
        ErrorKind::Cancelled,
        "the query was cancelled",
        "run it again",
    )
}

/// The failure of a query that runs too long.
pub fn timed_out() -> QueryError {
    QueryError::new(
        ErrorKind::QueryTimeout,
        "the query ran longer than the server permits",
        "ask for less, or start the server with a larger --query-timeout",
    )
}
