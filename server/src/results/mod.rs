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
mod start_run;
mod status;
pub mod stream;
pub mod summary;

pub use properties::ResultProperties;
pub use reader::{ReadOptions, Reader};
pub use record::ResultRecord;
pub use registry::Registry;
pub use run::{Run, timed_out};
pub use status::ResultStatus;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::StreamExt;
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::backend::Backend;
use crate::backend::request::{Request, Source, parse_id};
use crate::byte_pool::BytePool;
use crate::encode::Codec;
use crate::error::{ErrorKind, QueryError, source_changed};
use crate::metrics::Metrics;
use crate::order::RowRange;
use crate::source::catalog::Catalog;
use crate::spool::{Position, SpoolStorage};

use run::cancelled;
use saved_records::SavedRecords;
use stream::ResultStream;

/// The budgets of the results.
#[derive(Debug, Clone)]
pub struct ResultsConfig {
    /// Memory of one stream.
    pub stream_memory_bytes: u64,
    /// Memory for rows that all streams together read ahead.
    pub ahead_bytes: u64,
    /// Memory of all spools.
    pub spool_memory_bytes: u64,
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
    pub fn new(
        catalog: Arc<Catalog>,
        backend: Arc<dyn Backend>,
        embedded: Arc<dyn Backend>,
        metrics: Arc<Metrics>,
        config: ResultsConfig,
    ) -> Arc<Self> {
        let saved = SavedRecords::new(config.queries_folder.clone());
        Arc::new(Self {
            registry: Arc::new(Registry::new(saved, config.keep)),
            spool_storage: SpoolStorage::new(
                config.spool_folder.clone(),
                config.spool_memory_bytes,
                config.spool_bytes,
            ),
            pool: BytePool::new(config.ahead_bytes),
            catalog,
            backend,
            embedded,
            metrics,
            config,
            runtime: OnceLock::new(),
        })
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
        if let Source::Query(query) = &request.source {
            // Checked before the new result has an id, so that no result can wait for its own rows.
            self.registry.get(parse_id(&query.table)?)?;
        }
        let (record, is_new) = self.registry.begin(&request, &self.metrics)?;
        let _pending = is_new.then(|| PendingOpen(&record));
        let options = ReadOptions {
            range: request.range,
            codec,
            linger: Some(request.linger),
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

    /// Rows of a known result as uncompressed messages.
    ///
    /// # Errors
    /// As [`Results::reopen`].
    pub async fn stream(
        self: &Arc<Self>,
        record: &ResultRecord,
        range: RowRange,
    ) -> Result<ResultStream, QueryError> {
        let options = ReadOptions {
            range,
            codec: None,
            linger: None,
        };
        let reader = self.reopen(record.id, options).await?;
        let schema = reader.run().schema.clone();
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
        self.stream(record, record.request.range).await
    }

    /// The longest time of execution.
    pub fn query_timeout(&self) -> Option<Duration> {
        self.config.query_timeout
    }

    /// Threads of one run, and of one export.
    pub fn num_threads(&self) -> usize {
        self.config.num_threads
    }

    async fn read(
        self: &Arc<Self>,
        record: &Arc<ResultRecord>,
        options: ReadOptions,
    ) -> Result<Reader, QueryError> {
        let (run, id, position) = self.join(record, options).await?;
        Reader::open(
            Arc::clone(self),
            Arc::clone(record),
            run,
            id,
            position,
            options,
        )
        .await
    }

    /// Joins the run that has the first row, or starts one.
    async fn join(
        self: &Arc<Self>,
        record: &Arc<ResultRecord>,
        options: ReadOptions,
    ) -> Result<(Arc<Run>, u64, Position), QueryError> {
        let opening = tokio::select! {
            () = record.deleted.cancelled() => return Err(cancelled()),
            opening = record.opening.lock() => opening,
        };
        for run in record.runs() {
            if let Some(joined) = join_run(record, &run, options) {
                let (id, position) = joined?;
                if run.is_running() {
                    self.compare_sources(record)
                        .await
                        .inspect_err(|_| run.leave(id))?;
                }
                return Ok((run, id, position));
            }
        }
        if let Some(failure) = record.failure() {
            return Err(failure);
        }
        let first_row = options.range.first_row;
        if let Some(properties) = record.properties() {
            if record.is_expired() || !properties.is_repeatable {
                return Err(record.rows_expired(first_row, 0));
            }
            self.compare_sources(record).await?;
        }
        let run = self.start_run(record, options).await?;
        drop(opening);
        // The run is new, so it accepts a reader and still has all its rows.
        let id = run
            .join(options.linger(&record.request))
            .ok_or_else(cancelled)?;
        let position = run.spool.seek(first_row);
        let position =
            position.ok_or_else(|| record.rows_expired(first_row, run.spool.rows().start))?;
        Ok((run, id, position))
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
        let tables = tokio::task::spawn_blocking(move || catalog.refreshed());
        let tables = tables.await.map_err(|_| cannot_plan())?;
        for (name, version) in &properties.sources {
            let is_same = tables.iter().any(|entry| {
                &entry.table.name == name
                    && &entry.table.version == version
                    && entry.broken.is_none()
            });
            if !is_same {
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

/// Joins a run that has the rows. `None` if the run does not produce them, an error if it no longer has them.
fn join_run(
    record: &ResultRecord,
    run: &Arc<Run>,
    options: ReadOptions,
) -> Option<Result<(u64, Position), QueryError>> {
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
        return None;
    }
    let id = run.join(options.linger(&record.request))?;
    match run.spool.seek(first_row) {
        Some(position) => Some(Ok((id, position))),
        None => {
            run.leave(id);
            (!record.is_seekable()).then(|| Err(record.rows_expired(first_row, kept.start)))
        }
    }
}

fn cannot_plan() -> QueryError {
    QueryError::new(
        ErrorKind::Internal,
        "the query could not be planned",
        "rewrite the query",
    )
}
