//! Begins queries and finds the rows of those that are known.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use colonnade_core::wire::integrity::xxh3_64;
use futures::StreamExt;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::backend::embedded::engine::Engine;
use crate::backend::request::{Request, Source, parse_id};
use crate::backend::runtime::QueryRuntime;
use crate::backend::{Backend, Started};
use crate::error::{ErrorKind, QueryError, source_changed};
use crate::metrics::Metrics;
use crate::order::{Pool, RowRange, StitchPlan, Stitcher};
use crate::results::reader::{Wish, rows_expired};
use crate::results::run::{Pump, RunParts, cancelled, timed_out};
use crate::results::saved::Saved;
use crate::results::stream::ResultStream;
use crate::results::{Facts, Query, Reader, Registry, Run};
use crate::source::Table;
use crate::spool::{Log, Position, Spool};

/// What a part needs while it runs, beside the messages that wait: pages, a batch, its encoded
/// form. Measured with TPC-H's lineitem: 10 MiB.
const PART_WORKING_BYTES: u64 = 16 << 20;

/// The budgets of the results.
#[derive(Debug, Clone)]
pub struct ResultsConfig {
    /// Memory of one stream.
    pub stream_memory_bytes: u64,
    /// Memory of what all streams have read ahead.
    pub ahead_bytes: u64,
    /// Memory of all logs.
    pub log_memory_bytes: u64,
    /// Disk of all logs.
    pub spool_bytes: u64,
    /// Where that disk is.
    pub spool_folder: PathBuf,
    /// Where queries are remembered for a later process.
    pub queries_folder: PathBuf,
    /// How long a query is kept after its last request.
    pub keep: Duration,
    /// Runs that the memory permits at the same time.
    pub max_runs: usize,
    /// The longest time of execution.
    pub query_timeout: Option<Duration>,
    /// Threads of one run, and parts that run at the same time.
    pub num_threads: usize,
}

/// All queries, with what they need to run.
pub struct Results {
    /// The queries by id.
    pub registry: Registry,
    /// Where rows are kept.
    pub spool: Arc<Spool>,
    /// What streams have read ahead.
    pub pool: Arc<Pool>,
    engine: Arc<Engine>,
    /// Who answers for SQL and tables; kept rows are always the embedded engine's.
    backend: Arc<dyn Backend>,
    metrics: Arc<Metrics>,
    config: ResultsConfig,
    num_ended: AtomicU64,
    /// The runtime of the connections. One query may read another's rows; what drives those must
    /// not end with the threads of the first.
    runtime: OnceLock<Handle>,
}

impl Results {
    /// No queries yet, but those that an earlier process saved. Blocks on the file system.
    pub fn new(
        engine: Arc<Engine>,
        backend: Arc<dyn Backend>,
        metrics: Arc<Metrics>,
        config: ResultsConfig,
    ) -> Arc<Self> {
        Arc::new(Self {
            registry: Registry::new(Saved::new(config.queries_folder.clone()), config.keep),
            spool: Spool::new(
                config.spool_folder.clone(),
                config.log_memory_bytes,
                config.spool_bytes,
            ),
            pool: Pool::new(config.ahead_bytes),
            engine,
            backend,
            metrics,
            config,
            num_ended: AtomicU64::new(0),
            runtime: OnceLock::new(),
        })
    }

    /// A reader of a request's rows: of a new query, or of the one with that id.
    ///
    /// # Errors
    /// Whatever is wrong with the request.
    pub async fn open(
        self: &Arc<Self>,
        request: Request,
        wish: Wish,
    ) -> Result<Reader, QueryError> {
        self.runtime.get_or_init(Handle::current);
        if let Source::Query(kept) = &request.source {
            // Before the query itself is known, so that none can wait for its own rows.
            self.registry.get(parse_id(&kept.table)?)?;
        }
        let (query, is_new) = self.registry.begin(&request, &self.metrics)?;
        let _opening = is_new.then(|| Opening(&query));
        let opened = self.read(&query, wish).await;
        if let Err(error) = &opened
            && is_new
        {
            query.fail(error);
        }
        opened
    }

    /// A reader of the rows of a query that is known.
    ///
    /// # Errors
    /// `unknown_query`, `rows_expired`, `source_changed`, or why the query failed.
    pub async fn reopen(
        self: &Arc<Self>,
        id: Uuid,
        range: RowRange,
        wish: impl FnOnce(&Request) -> Wish,
    ) -> Result<Reader, QueryError> {
        self.runtime.get_or_init(Handle::current);
        let query = self.registry.get_rows(id)?;
        let within = range.within(RowRange {
            offset: 0,
            limit: query.request.range.end(),
        });
        let wish = Wish {
            row: within.offset,
            end_row: within.end(),
            ..wish(&query.request)
        };
        self.read(&query, wish).await
    }

    /// Rows of a query that is known as their messages, uncompressed.
    ///
    /// # Errors
    /// As [`Results::reopen`].
    pub async fn stream(
        self: &Arc<Self>,
        query: &Arc<Query>,
        range: RowRange,
    ) -> Result<ResultStream, QueryError> {
        let wish = |request: &Request| Wish {
            row: 0,
            end_row: None,
            codec: None,
            linger: request.linger,
        };
        let reader = self.reopen(query.id, range, wish).await?;
        let schema = reader.run().schema.clone();
        let first_row = reader.row();
        Ok(ResultStream {
            schema,
            // Whoever looks for the first message may ask again after the end.
            messages: reader.into_messages().fuse().boxed(),
            first_row,
        })
    }

    /// All rows that a query asked for.
    ///
    /// # Errors
    /// As [`Results::reopen`].
    pub async fn whole(self: &Arc<Self>, query: &Arc<Query>) -> Result<ResultStream, QueryError> {
        self.stream(query, query.request.range).await
    }

    /// How many runs have ended.
    pub fn num_ended(&self) -> u64 {
        self.num_ended.load(Ordering::Relaxed)
    }

    pub(super) fn note_end(&self) {
        self.num_ended.fetch_add(1, Ordering::Relaxed);
    }

    /// The longest time of execution.
    pub fn query_timeout(&self) -> Option<Duration> {
        self.config.query_timeout
    }

    /// Threads of one run, and of one export.
    pub fn num_threads(&self) -> usize {
        self.config.num_threads
    }

    async fn read(self: &Arc<Self>, query: &Arc<Query>, wish: Wish) -> Result<Reader, QueryError> {
        let (run, id, position) = self.join(query, wish).await?;
        Reader::open(Arc::clone(self), Arc::clone(query), run, id, position, wish).await
    }

    /// Finds the run that has the row, or begins one.
    pub(super) async fn join(
        self: &Arc<Self>,
        query: &Arc<Query>,
        wish: Wish,
    ) -> Result<(Arc<Run>, u64, Position), QueryError> {
        let opening = tokio::select! {
            () = query.deleted.cancelled() => return Err(cancelled()),
            opening = query.opening.lock() => opening,
        };
        for run in query.runs() {
            if let Some(found) = find_in(query, &run, wish) {
                let (id, position) = found?;
                if run.is_running() {
                    self.compare_sources(query)
                        .await
                        .inspect_err(|_| run.leave(id))?;
                }
                return Ok((run, id, position));
            }
        }
        if let Some(failure) = query.failure() {
            return Err(failure);
        }
        if let Some(facts) = query.facts() {
            if query.is_expired() || !facts.is_repeatable {
                return Err(rows_expired(wish.row, 0));
            }
            self.compare_sources(query).await?;
        }
        let run = self.begin_run(query, wish).await?;
        drop(opening);
        // New, so that it has a place for its first reader and all its rows.
        let id = run.join(wish.linger).ok_or_else(cancelled)?;
        let position = run.log.seek(wish.row);
        let position = position.ok_or_else(|| rows_expired(wish.row, run.log.rows().start))?;
        Ok((run, id, position))
    }

    /// The tables that a query reads must be those that it began with.
    ///
    /// # Errors
    /// `source_changed`.
    pub(crate) async fn compare_sources(&self, query: &Query) -> Result<(), QueryError> {
        let Some(facts) = query.facts() else {
            return Ok(());
        };
        let engine = Arc::clone(&self.engine);
        let tables = tokio::task::spawn_blocking(move || engine.tables());
        let tables = tables.await.map_err(|_| cannot_plan())?;
        for (name, version) in &facts.sources {
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

    async fn begin_run(
        self: &Arc<Self>,
        query: &Arc<Query>,
        wish: Wish,
    ) -> Result<Arc<Run>, QueryError> {
        if self.registry.num_runs() >= self.config.max_runs {
            return Err(QueryError::new(
                ErrorKind::TooManyStreams,
                format!(
                    "{} queries run, as many as the server's memory permits",
                    self.config.max_runs
                ),
                "try again in a second, or start the server with a larger --memory",
            ));
        }
        let runtime = QueryRuntime::start(self.config.num_threads).map_err(|error| {
            QueryError::new(
                ErrorKind::TooManyStreams,
                format!("the machine has no threads for one more query: {error}"),
                "try again in a second",
            )
        })?;
        let base = match &query.request.source {
            Source::Query(kept) => Some(self.registry.get(parse_id(&kept.table)?)?),
            _ => None,
        };
        let started = self.plan(query, wish, &runtime).await?;
        let mut facts = facts_of(&started);
        if let Some(base) = base.as_deref().and_then(Query::facts) {
            facts.sources.clone_from(&base.sources);
        }
        let is_first = query.facts().is_none();
        let known = query.set_facts(facts.clone());
        if known.sources != facts.sources {
            let names = started.sources.first().map_or("", |table| &table.name);
            return Err(source_changed(names));
        }
        if is_first {
            self.registry.save(query);
        }
        query.set_engine_progress(started.progress);
        let connections = self.runtime.get_or_init(Handle::current);
        let log = Log::new(Arc::clone(&self.spool), wish.row, !started.is_seekable);
        let run = Arc::new(Run::new(RunParts {
            start_row: wish.row,
            end_row: wish.end_row,
            codec: started.codec,
            schema: started.schema.clone(),
            empty: started.empty,
            snapshot: snapshot_of(&query.request, &facts),
            log,
            runtime: connections.clone(),
        }));
        let plan = StitchPlan {
            schema: started.schema,
            range: started.range,
            num_parallel: self.num_parallel(),
            budget_bytes: self.budget_bytes(&started.sources),
            batch_bytes: started.batch_bytes,
            pool: Arc::clone(&self.pool),
        };
        let pump = Pump {
            results: Arc::clone(self),
            query: Arc::clone(query),
            run: Arc::clone(&run),
            stitcher: Stitcher::start(started.parts, plan, runtime.handle()),
            runtime,
            sources: started.sources,
            time_left: self.config.query_timeout,
        };
        query.add_run(Arc::clone(&run));
        if query.deleted.is_cancelled() {
            // It was deleted when it had no run to cancel yet.
            run.cancel.cancel();
            self.registry.forget(query.id);
        }
        connections.spawn(pump.drive());
        Ok(run)
    }

    /// How far a run of these tables may read ahead: what finds their rows takes memory too, and the
    /// more the larger a table is.
    fn budget_bytes(&self, sources: &[Arc<Table>]) -> u64 {
        let ahead_bytes = self.config.stream_memory_bytes / 8 * 3;
        let tables = sources.iter().filter_map(|table| table.file_table());
        let index_bytes: u64 = tables.map(|table| table.index_bytes()).sum();
        ahead_bytes - index_bytes.min(ahead_bytes / 2)
    }

    /// How many parts of a new run may work at the same time: the fewer, the more runs there are.
    fn num_parallel(&self) -> usize {
        let num_runs = self.registry.num_runs() as u64 + 1;
        let memory_bytes = self
            .config
            .stream_memory_bytes
            .min(self.config.ahead_bytes / num_runs);
        (memory_bytes / PART_WORKING_BYTES).clamp(1, self.config.num_threads as u64) as usize
    }

    async fn plan(
        self: &Arc<Self>,
        query: &Query,
        wish: Wish,
        runtime: &QueryRuntime,
    ) -> Result<Started, QueryError> {
        let request = Request {
            range: RowRange {
                offset: wish.row,
                limit: wish.end_row.map(|end| end.saturating_sub(wish.row)),
            },
            ..query.request.clone()
        };
        let kept = match &query.request.source {
            // Boxed, because that query may read a third one's rows.
            Source::Query(kept) => Some(Box::pin(self.table(parse_id(&kept.table)?)).await?),
            _ => None,
        };
        let (engine, backend) = (Arc::clone(&self.engine), Arc::clone(&self.backend));
        let planning = AbortOnDropHandle::new(runtime.handle().spawn(async move {
            match kept {
                Some(_) => engine.start(&request, kept, wish.codec).await,
                None => backend.start(&request, wish.codec).await,
            }
        }));
        let timeout = async {
            match self.config.query_timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = query.deleted.cancelled() => Err(cancelled()),
            () = timeout => Err(timed_out()),
            planned = planning => planned.unwrap_or_else(|_| Err(cannot_plan())),
        }
    }
}

/// A request for rows until they begin. Dropped earlier, because its client has left, it takes with
/// it a query that nobody else has begun.
struct Opening<'a>(&'a Query);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        if self.0.facts().is_none() {
            self.0.fail(&cancelled());
        }
    }
}

/// The place of a wish in a run: `None` where the run does not have it, an error where it had it.
fn find_in(
    query: &Query,
    run: &Arc<Run>,
    wish: Wish,
) -> Option<Result<(u64, Position), QueryError>> {
    let rows = run.log.rows();
    let ends_early = match (run.end_row, wish.end_row) {
        (None, _) => false,
        (Some(end), Some(wanted)) => wanted > end,
        (Some(_), None) => true,
    };
    let starts_before = wish.row < run.start_row;
    // Where rows can be read from their source there is no need to wait for those before them.
    let is_ahead = wish.row > rows.end && query.is_seekable();
    if ends_early || starts_before || is_ahead {
        return None;
    }
    let id = run.join(wish.linger)?;
    match run.log.seek(wish.row) {
        Some(position) => Some(Ok((id, position))),
        None => {
            run.leave(id);
            (!query.is_seekable()).then(|| Err(rows_expired(wish.row, rows.start)))
        }
    }
}

fn facts_of(started: &Started) -> Facts {
    Facts {
        order: started.order,
        is_seekable: started.is_seekable,
        is_repeatable: started.is_repeatable,
        num_rows: started.num_rows,
        sources: started
            .sources
            .iter()
            .map(|table| (table.name.clone(), table.version.clone()))
            .collect(),
    }
}

/// The same for all runs that give the same rows in the same order, whichever process runs them.
fn snapshot_of(request: &Request, facts: &Facts) -> u64 {
    let written = serde_json::to_vec(&(&request.source, &facts.sources));
    match written {
        Ok(written) if facts.is_repeatable => xxh3_64(&written),
        _ => Uuid::new_v4().as_u64_pair().1,
    }
}

fn cannot_plan() -> QueryError {
    QueryError::new(
        ErrorKind::Internal,
        "the query could not be planned",
        "write it another way",
    )
}
