//! One execution of a query over a range of rows, its readers, and the results that have it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::encode::{Codec, EmptyBatch};
use crate::error::{ErrorKind, QueryError};
use crate::message::IpcMessage;
use crate::order::RowRange;
use crate::spool::RunSpool;

/// What every response of a run begins with.
#[derive(Debug)]
pub struct RunHead {
    /// How its messages are compressed.
    pub codec: Option<Codec>,
    /// Its schema message.
    pub schema: IpcMessage,
    /// A batch of no rows.
    pub empty: EmptyBatch,
    /// Identifies the rows: two responses with the same value may be joined.
    pub snapshot: u64,
}

/// One execution over a range of rows. It works only while a reader wants rows that are not yet produced. Results
/// with the same rows share it. It is cancelled when its last reader has been gone for longer than the linger
/// time, or when no result has it any more. While nobody reads it, it gives way to others.
#[derive(Debug)]
pub struct Run {
    /// The rows that it produces.
    pub range: RowRange,
    /// What its responses begin with.
    pub head: Arc<RunHead>,
    /// Its messages.
    pub spool: RunSpool,
    /// Cancels the run.
    pub cancel: CancellationToken,
    /// Whether it waits for the next reader. One whose rows can be read from their source again does not.
    lingers: bool,
    readers: Mutex<Readers>,
    owners: Mutex<Owners>,
    demand: Notify,
    /// The runtime of its timers.
    runtime: Handle,
}

/// A result that has a run.
pub(super) trait RunOwner: std::fmt::Debug + Send + Sync {
    /// Records the end of a run.
    fn run_ended(&self, run: &Run, end: &Result<(), QueryError>);
}

/// The place of a reader at a run. Dropping it leaves the run.
#[derive(Debug)]
pub(super) struct RunLease {
    run: Arc<Run>,
    reader: u64,
}

#[derive(Debug, Default)]
struct Readers {
    next_id: u64,
    list: HashMap<u64, RunReader>,
    linger: Duration,
    /// Counts joins and leaves, so that a timer can detect that it is outdated.
    changes: u64,
    /// Whether the run ended early because others wanted what it held. Its readers join another run.
    gave_way: bool,
}

#[derive(Debug)]
struct RunReader {
    /// The row that it waits for.
    wanted: Option<u64>,
    /// Cancelled when its result is deleted. It learns that only when its client reads on.
    deleted: CancellationToken,
}

/// The results that have a run.
#[derive(Debug, Default)]
struct Owners {
    list: Vec<Weak<dyn RunOwner>>,
    /// How the run ended, as they were told.
    end: Option<Result<(), QueryError>>,
}

impl Readers {
    /// Whether there is a reader whose result was not deleted.
    fn goes_on(&self) -> bool {
        let mut readers = self.list.values();
        readers.any(|reader| !reader.deleted.is_cancelled())
    }

    /// The last row that a reader waits for.
    fn last_wanted(&self) -> Option<u64> {
        self.list.values().filter_map(|reader| reader.wanted).max()
    }
}

impl Run {
    /// A run that has not started.
    pub(super) fn new(
        range: RowRange,
        head: RunHead,
        spool: RunSpool,
        lingers: bool,
        runtime: Handle,
    ) -> Self {
        Self {
            range,
            head: Arc::new(head),
            spool,
            cancel: CancellationToken::new(),
            lingers,
            readers: Mutex::default(),
            owners: Mutex::default(),
            demand: Notify::new(),
            runtime,
        }
    }

    /// Adds a reader of a result, which `deleted` tells of its end; `None` if the run was cancelled or gave way before it
    /// completed.
    pub(super) fn lease(
        self: &Arc<Self>,
        linger: Duration,
        deleted: &CancellationToken,
    ) -> Option<RunLease> {
        let mut readers = lock(&self.readers);
        let is_cancelled = self.cancel.is_cancelled() || readers.gave_way;
        if is_cancelled && !matches!(self.spool.end(), Some(Ok(()))) {
            return None;
        }
        let reader = readers.next_id;
        readers.next_id += 1;
        readers.changes += 1;
        if self.lingers {
            readers.linger = readers.linger.max(linger);
        }
        let added = RunReader {
            wanted: None,
            deleted: deleted.clone(),
        };
        readers.list.insert(reader, added);
        Some(RunLease {
            run: Arc::clone(self),
            reader,
        })
    }

    /// Removes a reader. After the last one has left, the run is held, idle, for the linger time, and then
    /// cancelled.
    fn leave(self: &Arc<Self>, reader: u64) {
        let mut readers = lock(&self.readers);
        readers.list.remove(&reader);
        readers.changes += 1;
        if readers.goes_on() {
            return;
        }
        if readers.gave_way {
            drop(readers);
            return self.abandoned();
        }
        if lock(&self.owners).list.is_empty() {
            drop(readers);
            return self.drop_if_unused();
        }
        if self.spool.end().is_some() {
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
                    let readers = lock(&run.readers);
                    if readers.changes == changes {
                        run.cancel.cancel();
                    }
                }
            }
        });
    }

    /// Adds a result that has this run. If the run has ended, the result is told so at once.
    pub(super) fn attach(&self, owner: &Arc<impl RunOwner + 'static>) {
        let weak: Weak<dyn RunOwner> = Arc::downgrade(owner) as _;
        let mut owners = lock(&self.owners);
        owners.list.push(weak);
        let end = owners.end.clone();
        drop(owners);
        if let Some(end) = end {
            owner.run_ended(self, &end);
        }
    }

    /// Removes a result. If no other has the run and nobody reads it, it is cancelled and its rows are dropped.
    pub(super) fn detach(&self, owner: &dyn RunOwner) {
        let mut owners = lock(&self.owners);
        owners
            .list
            .retain(|other| other.strong_count() > 0 && !std::ptr::addr_eq(other.as_ptr(), owner));
        drop(owners);
        self.drop_if_unused();
    }

    /// Ends the run although it could go on, because others want what it holds. Its readers keep its messages, and then
    /// join another run.
    pub(super) fn give_way(&self) {
        let mut readers = lock(&self.readers);
        readers.gave_way = true;
        let is_read = readers.goes_on();
        drop(readers);
        self.spool.finish(Err(cancelled()));
        if !is_read {
            self.abandoned();
        }
    }

    /// Whether [`Run::give_way`] ended it.
    pub(super) fn gave_way(&self) -> bool {
        lock(&self.readers).gave_way
    }

    /// It gave way, and its last reader has left.
    fn abandoned(&self) {
        self.spool.clear();
        self.end(&Err(cancelled()));
    }

    /// Ends the run: tells the results that have it, and then its readers, so that a reader that sees the end of the
    /// rows also sees it in the record. Only the first call has an effect.
    pub(super) fn end(&self, end: &Result<(), QueryError>) {
        let mut owners = lock(&self.owners);
        if owners.end.is_some() {
            return;
        }
        owners.end = Some(end.clone());
        let list: Vec<_> = owners.list.iter().filter_map(Weak::upgrade).collect();
        drop(owners);
        for owner in list {
            owner.run_ended(self, end);
        }
        self.spool.finish(end.clone());
        if self.cancel.is_cancelled() {
            self.drop_if_unused();
        }
    }

    /// Cancels the run and drops its rows, unless a result has it or somebody reads it. A reader whose result was
    /// deleted may hold it for as long as its client reads nothing.
    fn drop_if_unused(&self) {
        let readers = lock(&self.readers);
        if readers.goes_on() || !lock(&self.owners).list.is_empty() {
            return;
        }
        self.cancel.cancel();
        if self.spool.end().is_some() {
            self.spool.clear();
        }
    }

    /// Whether it has readers.
    pub fn has_readers(&self) -> bool {
        lock(&self.readers).goes_on()
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        self.spool.end().is_none()
    }

    /// The row after the last one that it has produced; 0 before the first one.
    pub(super) fn rows_ready(&self) -> u64 {
        let end_row = self.spool.rows().end;
        if end_row > self.range.first_row {
            end_row
        } else {
            0
        }
    }

    /// Waits until a reader wants a row that is not yet produced.
    pub(super) async fn demanded(&self) {
        loop {
            let wanted = lock(&self.readers).last_wanted();
            if wanted.is_some_and(|row| row >= self.spool.rows().end) {
                return;
            }
            self.demand.notified().await;
        }
    }
}

impl RunLease {
    /// The run.
    pub(super) fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// Records the row that the reader waits for; `None` if it no longer waits.
    pub(super) fn want(&self, row: Option<u64>) {
        if let Some(reader) = lock(&self.run.readers).list.get_mut(&self.reader) {
            reader.wanted = row;
        }
        if row.is_some() {
            self.run.demand.notify_one();
        }
    }
}

impl Drop for RunLease {
    fn drop(&mut self) {
        self.run.leave(self.reader);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
