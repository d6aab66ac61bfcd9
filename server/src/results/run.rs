//! One execution of a query over a range of rows, and its readers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::encode::{Codec, EmptyBatch};
use crate::error::{ErrorKind, QueryError};
use crate::message::IpcMessage;
use crate::order::RowRange;
use crate::spool::RunSpool;

/// The parts of a new run.
#[derive(Debug)]
pub(super) struct NewRun {
    pub(super) range: RowRange,
    pub(super) codec: Option<Codec>,
    pub(super) schema: IpcMessage,
    pub(super) empty: EmptyBatch,
    pub(super) snapshot: u64,
    pub(super) spool: RunSpool,
    /// The runtime of its timers.
    pub(super) runtime: Handle,
}

/// One execution over a range of a result's rows. It works only while a reader wants rows that are not yet
/// produced. It is cancelled when its last reader has been gone for longer than the linger time.
#[derive(Debug)]
pub struct Run {
    /// The rows of the result that it produces.
    pub range: RowRange,
    /// How its messages are compressed.
    pub codec: Option<Codec>,
    /// Its schema message.
    pub schema: IpcMessage,
    /// A batch of no rows.
    pub empty: EmptyBatch,
    /// Identifies the rows: two responses with the same value may be joined.
    pub snapshot: u64,
    /// Its messages.
    pub spool: RunSpool,
    /// Cancels the run.
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
    /// Counts joins and leaves, so that a timer can detect that it is outdated.
    changes: u64,
}

impl Run {
    /// A run that has not started.
    pub(super) fn new(run: NewRun) -> Self {
        Self {
            range: run.range,
            codec: run.codec,
            schema: run.schema,
            empty: run.empty,
            snapshot: run.snapshot,
            spool: run.spool,
            cancel: CancellationToken::new(),
            readers: Mutex::default(),
            demand: Notify::new(),
            runtime: run.runtime,
        }
    }

    /// Adds a reader and returns its id; `None` if the run was cancelled and has not completed.
    pub(super) fn join(&self, linger: Duration) -> Option<u64> {
        let mut readers = self.lock();
        if self.cancel.is_cancelled() && !matches!(self.spool.end(), Some(Ok(()))) {
            return None;
        }
        let id = readers.next_id;
        readers.next_id += 1;
        readers.changes += 1;
        readers.linger = readers.linger.max(linger);
        readers.wanted.insert(id, None);
        Some(id)
    }

    /// Records the row that a reader waits for; `None` if it no longer waits.
    pub(super) fn want(&self, reader: u64, row: Option<u64>) {
        if let Some(wanted) = self.lock().wanted.get_mut(&reader) {
            *wanted = row;
        }
        if row.is_some() {
            self.demand.notify_one();
        }
    }

    /// Removes a reader. After the last one has left, the run is held, idle, for the linger time, and then
    /// cancelled.
    pub(super) fn leave(self: &Arc<Self>, reader: u64) {
        let mut readers = self.lock();
        readers.wanted.remove(&reader);
        readers.changes += 1;
        if !readers.wanted.is_empty() || self.spool.end().is_some() {
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

    /// Whether it has readers.
    pub fn has_readers(&self) -> bool {
        !self.lock().wanted.is_empty()
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        self.spool.end().is_none()
    }

    /// Waits until a reader wants a row that is not yet produced.
    pub(super) async fn demanded(&self) {
        loop {
            let wanted = self.lock().wanted.values().flatten().max().copied();
            if wanted.is_some_and(|row| row >= self.spool.rows().end) {
                return;
            }
            self.demand.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn cancelled() -> QueryError {
    QueryError::new(
        ErrorKind::Cancelled,
        "the query was cancelled",
        "run the query again",
    )
}

/// The error for a query that runs too long.
pub fn timed_out() -> QueryError {
    QueryError::new(
        ErrorKind::QueryTimeout,
        "the query ran longer than the server permits",
        "request fewer rows or columns, or start the server with a larger --query-timeout",
    )
}
