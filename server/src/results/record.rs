//! The record of one result, with its runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use colonnade_core::wire::integrity::xxh3_64;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::backend::EngineProgress;
use crate::backend::request::Request;
use crate::error::{ErrorKind, QueryError};
use crate::order::Order;
use crate::results::export::ExportProgress;
use crate::results::observer::ResultObserver;
use crate::results::properties::ResultProperties;
use crate::results::request_to_json::request_to_json;
use crate::results::run::{Run, RunOwner};
use crate::results::status::{ResultProgress, ResultStatus};

/// The error for row `row`, which is no longer kept, of a result whose query could give other rows now.
pub(super) fn rows_gone(row: u64) -> QueryError {
    QueryError::new(
        ErrorKind::NotRepeatable,
        format!("row {row} of the result is no longer kept, and another run could give other rows"),
        "run the query with a new id",
    )
}

/// The error for a query over the result `id`, if that id has other rows now.
pub(super) fn result_replaced(id: Uuid) -> QueryError {
    QueryError::new(
        ErrorKind::SourceChanged,
        format!("query {id}, whose rows this query reads, was replaced by another"),
        "run the query with a new id",
    )
}

/// The state of a result.
#[derive(Debug, Clone)]
enum State {
    /// It is being planned, runs, or waits for a reader.
    Running,
    /// All its rows were produced.
    Done,
    /// It failed.
    Failed(QueryError),
    /// Its last reader left before the last row, or the server was stopped.
    Cancelled,
}

impl State {
    /// The state after an error.
    fn of(error: &QueryError) -> Self {
        match error.kind {
            ErrorKind::Cancelled => Self::Cancelled,
            _ => Self::Failed(error.clone()),
        }
    }
}

#[derive(Debug)]
struct Progress {
    state: State,
    /// Total number of rows, once known.
    rows: Option<u64>,
    rows_ready: u64,
    rows_sent: u64,
    batches_sent: u64,
    bytes_sent: u64,
    ended: Option<Instant>,
    last_used: Instant,
}

/// One result, from its first request until it is forgotten.
#[derive(Debug)]
pub struct ResultRecord {
    /// Its id.
    pub id: Uuid,
    /// The first request for it.
    pub request: Request,
    /// Cancelled when the result is deleted.
    pub deleted: CancellationToken,
    /// Held while a run is started, so that two runs are not started for the same rows.
    pub(super) opening: tokio::sync::Mutex<()>,
    /// Readers that wait without a run.
    num_paused: AtomicUsize,
    /// A random number, which identifies its rows if another run could give others.
    number: u64,
    started: Instant,
    properties: OnceLock<ResultProperties>,
    runs: Mutex<Vec<Arc<Run>>>,
    progress: Mutex<Progress>,
    observer: Option<ResultObserver>,
    export: Mutex<Option<Arc<ExportProgress>>>,
    engine_progress: Mutex<Option<Arc<EngineProgress>>>,
}

impl ResultRecord {
    /// The record of a new request.
    pub(super) fn new(request: Request, observer: Option<ResultObserver>) -> Self {
        let now = Instant::now();
        Self {
            id: request.id,
            request,
            deleted: CancellationToken::new(),
            opening: tokio::sync::Mutex::new(()),
            num_paused: AtomicUsize::new(0),
            number: Uuid::new_v4().as_u64_pair().1,
            started: now,
            properties: OnceLock::new(),
            runs: Mutex::default(),
            progress: Mutex::new(Progress {
                state: State::Running,
                rows: None,
                rows_ready: 0,
                rows_sent: 0,
                batches_sent: 0,
                bytes_sent: 0,
                ended: None,
                last_used: now,
            }),
            observer,
            export: Mutex::default(),
            engine_progress: Mutex::default(),
        }
    }

    /// A result of an earlier process, whose rows are no longer there.
    pub(super) fn restored(request: Request, properties: ResultProperties) -> Self {
        let record = Self::new(request, None);
        record.end(State::Cancelled);
        // The record is new, so the cell is empty.
        let _ = record.properties.set(properties);
        record
    }

    /// When it was first requested.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// The properties that planning found; `None` before it.
    pub fn properties(&self) -> Option<&ResultProperties> {
        self.properties.get()
    }

    pub(super) fn set_properties(&self, properties: ResultProperties) -> &ResultProperties {
        self.properties.get_or_init(|| properties)
    }

    /// Whether its rows can be read from their source again, starting at any row.
    pub fn is_seekable(&self) -> bool {
        self.properties()
            .is_some_and(|properties| properties.is_seekable)
    }

    /// Whether running the query again over the same sources gives the same rows in the same order.
    pub(super) fn is_repeatable(&self) -> bool {
        self.properties()
            .is_some_and(|properties| properties.is_repeatable)
    }

    /// Identifies its rows: the same for all results of repeatable queries with the same rows, in any process.
    pub(super) fn rows_id(&self) -> u64 {
        let known = self.properties().filter(|known| known.is_repeatable);
        known
            .and_then(|known| {
                serde_json::to_vec(&(&self.request.source, &known.sources, known.base)).ok()
            })
            .map_or(self.number, |content| xxh3_64(&content))
    }

    /// Records a message that was given to a connection.
    pub fn sent(&self, num_rows: u64, num_bytes: u64, is_batch: bool) {
        let mut progress = self.lock();
        progress.rows_sent += num_rows;
        progress.bytes_sent += num_bytes;
        progress.batches_sent += u64::from(is_batch);
        drop(progress);
        if let Some(observer) = &self.observer {
            observer.sent(num_rows, num_bytes, is_batch);
        }
    }

    /// Records an export that has started.
    pub fn set_export(&self, export: Arc<ExportProgress>) {
        *self.lock_export() = Some(export);
    }

    fn lock_export(&self) -> MutexGuard<'_, Option<Arc<ExportProgress>>> {
        self.export.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the progress of its latest run in the engine.
    pub(super) fn set_engine_progress(&self, progress: Option<Arc<EngineProgress>>) {
        *self.lock_engine_progress() = progress;
    }

    fn lock_engine_progress(&self) -> MutexGuard<'_, Option<Arc<EngineProgress>>> {
        let lock = self.engine_progress.lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the time of a request for it.
    pub fn touch(&self) {
        self.lock().last_used = Instant::now();
    }

    /// Time since its last request.
    pub(super) fn unused_for(&self) -> Duration {
        self.lock().last_used.elapsed()
    }

    /// Records that it could not be started.
    pub(super) fn fail(&self, error: &QueryError) {
        self.end(State::of(error));
    }

    /// Adds a run of its rows, which may be another result's too.
    pub(super) fn add_run(self: &Arc<Self>, run: &Arc<Run>) {
        let mut runs = self.lock_runs();
        if runs.iter().any(|other| Arc::ptr_eq(other, run)) {
            return;
        }
        // A run that has ended is useful only if its rows are kept.
        runs.retain(|run| run.is_running() || run.has_readers() || self.keeps(run));
        runs.push(Arc::clone(run));
        drop(runs);
        self.go_on();
        run.attach(self);
        if self.deleted.is_cancelled() {
            // It was deleted before it had a run to leave.
            self.release_runs();
        }
    }

    /// Runs again, if it had been cancelled or had failed.
    fn go_on(&self) {
        let mut progress = self.lock();
        if !matches!(progress.state, State::Cancelled | State::Failed(_)) {
            return;
        }
        progress.state = State::Running;
        progress.ended = None;
        drop(progress);
        if let Some(observer) = &self.observer {
            observer.goes_on();
        }
    }

    fn keeps(&self, run: &Run) -> bool {
        !self.is_seekable() && matches!(run.spool.end(), Some(Ok(())))
    }

    /// Records its end, if it has no run besides `ended` and no reader that waits without one.
    fn end_if_left(&self, ended: Option<&Run>, state: State) {
        let is_other = |run: &Run| ended.is_none_or(|ended| !std::ptr::eq(run, ended));
        let goes_on = |run: &Arc<Run>| is_other(run) && run.is_running();
        let has_runs = self.lock_runs().iter().any(goes_on);
        if !has_runs && self.num_paused.load(Ordering::SeqCst) == 0 {
            self.end(state);
        }
    }

    /// Whether a run that ended without an error reached the last row of the result.
    fn reached_end(&self, run: &Run) -> bool {
        let (end_row, wanted) = (run.spool.rows().end, self.request.range.end());
        let ended_early = run.range.end().is_none_or(|end| end_row < end);
        ended_early || wanted.is_some_and(|wanted| wanted <= end_row)
    }

    /// Records that all its rows were produced: those before `end_row`, if that is known.
    pub(super) fn done(&self, end_row: Option<u64>) {
        let limit = self.request.range.end().unwrap_or(u64::MAX);
        let mut progress = self.lock();
        progress.rows = progress.rows.max(end_row.map(|end_row| end_row.min(limit)));
        drop(progress);
        self.end(State::Done);
    }

    /// The error that every later reader gets too; `None` if it has not failed, or another try may succeed.
    pub(super) fn failure(&self) -> Option<QueryError> {
        let may_try_again = self.properties().is_none_or(|known| known.is_repeatable);
        match &self.lock().state {
            State::Failed(error) if error.kind.is_transient() && may_try_again => None,
            State::Failed(error) => Some(error.clone()),
            _ => None,
        }
    }

    /// Its runs.
    pub(super) fn runs(&self) -> Vec<Arc<Run>> {
        self.lock_runs().clone()
    }

    /// Whether it is being planned, is running or has readers.
    pub fn is_active(&self) -> bool {
        let is_planned = self.opening.try_lock().is_err();
        is_planned
            || self.num_paused.load(Ordering::SeqCst) > 0
            || self
                .lock_runs()
                .iter()
                .any(|run| run.is_running() || run.has_readers())
    }

    /// Drops the kept rows; the record stays.
    pub(super) fn drop_rows(&self) {
        for run in std::mem::take(&mut *self.lock_runs()) {
            run.detach(self);
            run.spool.clear();
        }
    }

    /// Whether rows are on disk.
    pub(super) fn has_disk(&self) -> bool {
        self.lock_runs().iter().any(|run| run.spool.has_disk())
    }

    /// Whether rows are kept.
    pub(super) fn has_rows(&self) -> bool {
        self.lock_runs()
            .iter()
            .any(|run| !run.spool.rows().is_empty())
    }

    /// Cancels all its runs, also for other results.
    pub(super) fn cancel_runs(&self) {
        for run in self.runs() {
            run.cancel.cancel();
        }
    }

    /// Leaves its runs to the other results that have them.
    pub(super) fn release_runs(&self) {
        let runs = std::mem::take(&mut *self.lock_runs());
        for run in runs {
            run.detach(self);
        }
    }

    /// The status to show.
    pub fn status(&self) -> ResultStatus {
        let first_row = self.first_row();
        let runs = self.runs();
        let kept = runs.iter().map(|run| run.spool.kept_bytes());
        let (memory_bytes, disk_bytes) =
            kept.fold((0, 0), |sum, kept| (sum.0 + kept.0, sum.1 + kept.1));
        let limit = self.request.range.end().unwrap_or(u64::MAX);
        let rows_ready = runs.iter().map(|run| run.rows_ready().min(limit)).max();
        let progress = self.lock();
        let (state, error) = match &progress.state {
            State::Running => ("running", None),
            State::Done => ("done", None),
            State::Failed(error) => ("failed", Some(error.summary())),
            State::Cancelled => ("cancelled", None),
        };
        let until = progress.ended.unwrap_or_else(Instant::now);
        let properties = self.properties();
        let engine = self.lock_engine_progress().clone();
        let rows_ready = progress.rows_ready.max(rows_ready.unwrap_or(0));
        let num_rows = progress.rows.or(self.rows_by_metadata());
        ResultStatus {
            id: self.id,
            request: request_to_json(&self.request),
            state,
            order: properties.map(|properties| properties.order.name()),
            way: properties.map(ResultProperties::way),
            rows: num_rows,
            first_row,
            rows_ready,
            rows_sent: progress.rows_sent,
            batches_sent: progress.batches_sent,
            bytes_sent: progress.bytes_sent,
            elapsed_ms: until.duration_since(self.started).as_millis() as u64,
            memory_bytes,
            disk_bytes,
            left_out: properties.map_or_else(Vec::new, |properties| properties.left_out.clone()),
            progress: ResultProgress::new(
                rows_ready,
                num_rows,
                engine.as_ref().and_then(|engine| engine.read()),
                engine.as_ref().and_then(|engine| engine.status()),
            ),
            engine: engine.as_ref().and_then(|engine| engine.status()),
            usage: engine
                .filter(|_| progress.ended.is_some())
                .and_then(|engine| engine.usage()),
            error,
            export: self.lock_export().as_ref().map(|export| export.status()),
        }
    }

    /// What its statement has read of its sources, as JSON; `None` if that is not known.
    pub fn progress_json(&self) -> Option<String> {
        let read = self.lock_engine_progress().as_ref()?.read()?;
        let rows = self.runs().iter().map(|run| run.rows_ready()).max()?;
        let progress = ResultProgress::new(rows, self.rows_by_metadata(), Some(read), None);
        serde_json::to_string(&progress).ok()
    }

    /// The order of its rows; `None` before it is planned.
    pub fn order(&self) -> Option<Order> {
        self.properties().map(|properties| properties.order)
    }

    fn rows_by_metadata(&self) -> Option<u64> {
        let num_rows = self.properties()?.num_rows?;
        Some(num_rows.min(self.request.range.end().unwrap_or(u64::MAX)))
    }

    fn first_row(&self) -> u64 {
        if self.is_seekable() {
            return 0;
        }
        let firsts = self.runs().into_iter().map(|run| run.spool.rows().start);
        firsts.min().unwrap_or(self.request.range.first_row)
    }

    fn end(&self, state: State) {
        let mut progress = self.lock();
        if !matches!(progress.state, State::Running) {
            return;
        }
        progress.state = state;
        progress.ended = Some(Instant::now());
        drop(progress);
        if let Some(observer) = &self.observer {
            observer.ended(&self.status());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_runs(&self) -> MutexGuard<'_, Vec<Arc<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunOwner for ResultRecord {
    fn run_ended(&self, run: &Run, end: &Result<(), QueryError>) {
        let mut progress = self.lock();
        let limit = self.request.range.end().unwrap_or(u64::MAX);
        progress.rows_ready = progress.rows_ready.max(run.rows_ready().min(limit));
        drop(progress);
        match end {
            Ok(()) if self.reached_end(run) => {
                let end_row = run.spool.rows().end;
                let has_rows = end_row > run.range.first_row || run.range.first_row == 0;
                self.done(has_rows.then_some(end_row));
            }
            Err(error) if error.kind != ErrorKind::Cancelled => {
                self.end(State::Failed(error.clone()));
            }
            // The run was cancelled, or is complete only up to the end of its own range.
            _ => self.end_if_left(Some(run), State::Cancelled),
        }
    }
}

/// A reader that waits without a run. Dropping it ends the wait, and the result if nothing else goes on with it.
#[derive(Debug)]
pub(super) struct Paused {
    record: Arc<ResultRecord>,
    /// How the result ends then.
    end: State,
}

impl Paused {
    /// A reader of `record` that waits.
    pub(super) fn new(record: &Arc<ResultRecord>) -> Self {
        record.num_paused.fetch_add(1, Ordering::SeqCst);
        Self {
            record: Arc::clone(record),
            end: State::Cancelled,
        }
    }

    /// Records why the reader cannot go on.
    pub(super) fn fail(&mut self, error: &QueryError) {
        self.end = State::of(error);
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        self.record.num_paused.fetch_sub(1, Ordering::SeqCst);
        self.record.end_if_left(None, self.end.clone());
    }
}
