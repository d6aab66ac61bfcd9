//! Results by id: the record of each, the runs that produce its rows, and their readers.

pub mod export;
pub mod find;
mod observer;
mod properties;
mod reader;
mod record;
mod registry;
mod request_to_json;
mod result_table;
mod run;
mod run_driver;
mod saved_records;
mod shared_runs;
mod start_run;
mod status;
pub mod stream;
pub mod summary;

pub use properties::ResultProperties;
pub use reader::{ReadOptions, Reader, ReaderKind};
pub use record::ResultRecord;
pub use registry::Registry;
pub use run::{Run, RunHead, timed_out};
pub use status::ResultStatus;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::StreamExt;
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::backend::Backend;
use crate::backend::request::Request;
use crate::backend::runtime::QueryRuntime;
use crate::byte_pool::{BytePool, BytesLease};
use crate::encode::Codec;
use crate::error::{ErrorKind, QueryError, source_changed};
use crate::metrics::Metrics;
use crate::order::RowRange;
use crate::slots::Slots;
use crate::source::catalog::{self, Catalog, Entry};
use crate::spool::SpoolStorage;

use reader::Joined;
use record::rows_gone;
use run::cancelled;
use saved_records::SavedRecords;
use shared_runs::SharedRuns;
use stream::ResultStream;

/// Some batches take a second to decode, and queries that begin do not wait for them: the system shares the cores.
const FIRST_THREADS_PER_CORE: usize = 2;

/// The share of the runs that is reserved for readers of tables that begin, and the most such runs.
const RESERVE_FRACTION: usize = 5;
const MAX_RESERVE: usize = 8;

/// The budgets of the results.
#[derive(Debug, Clone)]
pub struct ResultsConfig {
    /// Memory of one stream.
    pub stream_memory_bytes: u64,
    /// Memory for rows that all streams together read ahead.
    pub ahead_bytes: u64,
    /// Memory of all spools, and of messages that wait for a client to take them.
    pub spool_memory_bytes: u64,
    /// The largest target for one message; requests may want less.
    pub max_batch_bytes: usize,
    /// Disk of all spools.
    pub spool_bytes: u64,
    /// The folder of the spool files.
    pub spool_folder: PathBuf,
    /// The folder where records are saved for a later process.
    pub queries_folder: PathBuf,
    /// How long a result is kept after its last request.
    pub keep: Duration,
    /// Runs that the memory permits at the same time.
    pub max_runs: usize,
    /// How long a query waits for its turn.
    pub queue_timeout: Duration,
    /// The longest time of execution.
    pub query_timeout: Option<Duration>,
    /// Threads of one run, and partitions that run at the same time.
    pub num_threads: usize,
}

/// All results, with the resources for their runs.
pub struct Results {
    /// The results by id.
    pub registry: Arc<Registry>,
    /// The storage of produced rows.
    pub spool_storage: Arc<SpoolStorage>,
    /// The budget for rows that streams read ahead.
    pub pool: Arc<BytePool>,
    /// One slot for each run that works.
    pub(crate) run_slots: Slots,
    shared_runs: SharedRuns,
    /// The threads of planning, and of each run while it begins.
    first_threads: QueryRuntime,
    /// The threads of everything else that runs do.
    threads: QueryRuntime,
    /// The tables of the embedded engine.
    catalog: Arc<Catalog>,
    /// Answers requests for SQL and tables.
    backend: Arc<dyn Backend>,
    /// Answers requests for the rows of other results, even if another backend produced them.
    embedded: Arc<dyn Backend>,
    metrics: Arc<Metrics>,
    config: ResultsConfig,
    /// The runtime of the connections. It also drives the runs, because one query may read another's rows,
    /// and those must not end with the threads of the first query.
    runtime: OnceLock<Handle>,
}

impl Results {
    /// Creates the results, with those that an earlier process saved. Blocks on the file system.
    ///
    /// # Errors
    /// The system cannot create the threads.
    pub fn try_new(
        catalog: Arc<Catalog>,
        backend: Arc<dyn Backend>,
        embedded: Arc<dyn Backend>,
        metrics: Arc<Metrics>,
        config: ResultsConfig,
    ) -> io::Result<Arc<Self>> {
        let saved = SavedRecords::new(config.queries_folder.clone());
        Ok(Arc::new(Self {
            registry: Arc::new(Registry::new(saved, config.keep)),
            spool_storage: SpoolStorage::new(
                config.spool_folder.clone(),
                config.spool_memory_bytes,
                config.spool_bytes,
            ),
            pool: BytePool::of_memory(config.ahead_bytes),
            run_slots: Slots::new(config.max_runs, config.queue_timeout, "queries", "--memory")
                .with_reserve((config.max_runs / RESERVE_FRACTION).clamp(1, MAX_RESERVE)),
            shared_runs: SharedRuns::default(),
            first_threads: QueryRuntime::start(config.num_threads * FIRST_THREADS_PER_CORE)?,
            threads: QueryRuntime::start(config.num_threads)?,
            catalog,
            backend,
            embedded,
            metrics,
            config,
            runtime: OnceLock::new(),
        }))
    }

    /// A reader of a request's rows, from a new result or from the one with that id.
    ///
    /// # Errors
    /// An error of the request, or of the query before its first row.
    pub async fn open(
        self: &Arc<Self>,
        request: Request,
        codec: Option<Codec>,
    ) -> Result<Reader, QueryError> {
        self.runtime.get_or_init(Handle::current);
        let (record, is_new) = self.registry.begin(&request, &self.metrics)?;
        let _pending = is_new.then(|| PendingOpen(&record));
        let options = ReadOptions {
            range: request.range,
            codec,
            linger: Some(request.linger),
            reader: ReaderKind::Newcomer,
        };
        let opened = self.read(&record, options).await;
        if let Err(error) = &opened
            && is_new
        {
            record.fail(error);
        }
        opened
    }

    /// A reader of rows of a known result.
    ///
    /// # Errors
    /// `unknown_query`, `rows_expired`, `source_changed`, or the error with which the query failed.
    pub async fn reopen(
        self: &Arc<Self>,
        id: Uuid,
        options: ReadOptions,
    ) -> Result<Reader, QueryError> {
        self.runtime.get_or_init(Handle::current);
        let record = self.registry.get_rows(id)?;
        let all = RowRange {
            first_row: 0,
            limit: record.request.range.end(),
        };
        let options = ReadOptions {
            range: options.range.within(all),
            ..options
        };
        self.read(&record, options).await
    }

    /// Rows of a known result as uncompressed messages. `linger` is how long the run waits for the next reader; by
    /// default as long as the request says.
    ///
    /// # Errors
    /// As [`Results::reopen`].
    pub async fn stream(
        self: &Arc<Self>,
        record: &ResultRecord,
        range: RowRange,
        linger: Option<Duration>,
    ) -> Result<ResultStream, QueryError> {
        let options = ReadOptions {
            range,
            codec: None,
            linger,
            reader: ReaderKind::Newcomer,
        };
        let reader = self.reopen(record.id, options).await?;
        let schema = reader.head().schema.clone();
        let first_row = reader.next_row();
        Ok(ResultStream {
            schema,
            // Fused, because it may be polled again after its end.
            messages: reader.into_messages().fuse().boxed(),
            first_row,
        })
    }

    /// All rows of a result.
    ///
    /// # Errors
    /// As [`Results::reopen`].
    pub async fn whole(
        self: &Arc<Self>,
        record: &ResultRecord,
    ) -> Result<ResultStream, QueryError> {
        self.stream(record, record.request.range, None).await
    }

    /// Memory for bytes of a message that wait for a client to take them. Kept rows that can be read again make room.
    /// `None` if it is used up.
    pub fn lease_memory(&self, bytes: u64) -> Option<BytesLease> {
        let memory = self.spool_storage.memory();
        self.registry.free_memory(memory, bytes);
        memory.lease(bytes)
    }

    /// The longest time of execution.
    pub fn query_timeout(&self) -> Option<Duration> {
        self.config.query_timeout
    }

    /// Threads of one export.
    pub fn num_threads(&self) -> usize {
        self.config.num_threads
    }

    /// The threads of runs that go on, and of work like theirs.
    pub fn threads(&self) -> &QueryRuntime {
        &self.threads
    }

    async fn read(
        self: &Arc<Self>,
        record: &Arc<ResultRecord>,
        options: ReadOptions,
    ) -> Result<Reader, QueryError> {
        let joined = self.find_or_start_run(record, &options).await?;
        Reader::open(Arc::clone(self), Arc::clone(record), joined, options).await
    }

    /// A place at a run that has the first row, which is started if there is none.
    async fn find_or_start_run(
        self: &Arc<Self>,
        record: &Arc<ResultRecord>,
        options: &ReadOptions,
    ) -> Result<Joined, QueryError> {
        if let Some(joined) = self.find_current_run(record, options).await? {
            return Ok(joined);
        }
        let start = async {
            let places = self.places(&record.request, &options.reader).await?;
            Ok((places, record.opening.lock().await))
        };
        let (places, _opening) = tokio::select! {
            () = record.deleted.cancelled() => return Err(cancelled()),
            start = start => match start {
                Ok(start) => start,
                // Another request may have started the run meanwhile.
                Err(error) => return self.find_current_run(record, options).await?.ok_or(error),
            },
        };
        if let Some(joined) = self.find_current_run(record, options).await? {
            return Ok(joined);
        }
        if let Some(failure) = record.failure() {
            return Err(failure);
        }
        if record.properties().is_some() {
            if !record.is_repeatable() {
                return Err(rows_gone(options.range.first_row));
            }
            self.compare_sources(record).await?;
        }
        self.start_run(record, options, places).await
    }

    /// A place at a run that has the first row, if there is one and the sources are unchanged.
    async fn find_current_run(
        &self,
        record: &Arc<ResultRecord>,
        options: &ReadOptions,
    ) -> Result<Option<Joined>, QueryError> {
        let joined = self.find_run(record, options)?;
        if joined
            .as_ref()
            .is_some_and(|(lease, _)| lease.run().is_running())
        {
            self.compare_sources(record).await?;
        }
        Ok(joined)
    }

    /// A place at a run that has the first row, if there is one: of this result, or of another with the same rows.
    ///
    /// # Errors
    /// `not_repeatable`: the row is no longer kept.
    fn find_run(
        &self,
        record: &Arc<ResultRecord>,
        options: &ReadOptions,
    ) -> Result<Option<Joined>, QueryError> {
        let may_try_again = record.is_repeatable() && record.failure().is_none();
        for run in record.runs() {
            if may_try_again && matches!(run.spool.end(), Some(Err(_))) {
                continue;
            }
            if let Some(joined) = lease_of(record, &run, options)? {
                return Ok(Some(joined));
            }
        }
        for run in self.shared_runs.of(record, options.codec) {
            if let Some(joined) = lease_of(record, &run, options)? {
                record.add_run(&run);
                return Ok(Some(joined));
            }
        }
        Ok(None)
    }

    /// Checks that the tables of a result still have the versions with which it started.
    ///
    /// # Errors
    /// `source_changed`.
    pub(crate) async fn compare_sources(&self, record: &ResultRecord) -> Result<(), QueryError> {
        let Some(properties) = record.properties() else {
            return Ok(());
        };
        let catalog = Arc::clone(&self.catalog);
        let names = properties.sources.iter().map(|(name, _)| name.clone());
        let names = names.collect();
        let tables = tokio::task::spawn_blocking(move || catalog.refreshed(&names));
        let tables = tables.await.map_err(|_| cannot_plan())?;
        for (name, version) in &properties.sources {
            let is_same = |entry: &Entry| &entry.table.version == version && entry.broken.is_none();
            if !catalog::find(&tables, name).is_some_and(is_same) {
                return Err(source_changed(name));
            }
        }
        Ok(())
    }
}

/// A request that waits for its first row. If the client leaves before that, the query is cancelled unless
/// another reader has started it.
struct PendingOpen<'a>(&'a ResultRecord);

impl Drop for PendingOpen<'_> {
    fn drop(&mut self) {
        if self.0.properties().is_none() {
            self.0.fail(&cancelled());
        }
    }
}

/// A place at this run, if it has the rows. `None` if it does not produce them.
///
/// # Errors
/// `not_repeatable`: it no longer has them.
fn lease_of(
    record: &ResultRecord,
    run: &Arc<Run>,
    options: &ReadOptions,
) -> Result<Option<Joined>, QueryError> {
    let kept = run.spool.rows();
    let first_row = options.range.first_row;
    let ends_early = match (run.range.end(), options.range.end()) {
        (None, _) => false,
        (Some(end), Some(wanted)) => wanted > end,
        (Some(_), None) => true,
    };
    let starts_before = first_row < run.range.first_row;
    // Rows that can be read from their source need not wait for the rows before them.
    let is_ahead = first_row > kept.end && record.is_seekable();
    if ends_early || starts_before || is_ahead {
        return Ok(None);
    }
    let Some(lease) = run.lease(options.linger(&record.request), &record.deleted) else {
        return Ok(None);
    };
    match run.spool.seek(first_row) {
        Some(position) => Ok(Some((lease, position))),
        None if record.is_repeatable() => Ok(None),
        None => Err(rows_gone(first_row)),
    }
}

fn cannot_plan() -> QueryError {
    QueryError::new(
        ErrorKind::Internal,
        "the query could not be planned",
        "rewrite the query",
    )
}
