//! Starts runs: plans a query and stitches its partitions.

use std::sync::Arc;

use colonnade_core::wire::integrity::xxh3_64;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::backend::PlannedQuery;
use crate::backend::request::{Request, Source, parse_id};
use crate::backend::runtime::QueryRuntime;
use crate::error::{ErrorKind, QueryError, source_changed};
use crate::order::{StitchPlan, Stitcher};
use crate::results::properties::ResultProperties;
use crate::results::reader::ReadOptions;
use crate::results::record::{ResultRecord, not_repeatable};
use crate::results::run::{NewRun, Run, cancelled, timed_out};
use crate::results::run_driver::RunDriver;
use crate::results::{Results, cannot_plan};
use crate::source::Table;
use crate::spool::RunSpool;

/// Memory of a running partition, besides the messages that wait: pages, a batch, its encoded form. Measured
/// with TPC-H's lineitem: 10 MiB.
const PARTITION_WORKING_BYTES: u64 = 16 << 20;

impl Results {
    /// Starts a run of the wanted rows.
    pub(super) async fn start_run(
        self: &Arc<Self>,
        record: &Arc<ResultRecord>,
        options: ReadOptions,
    ) -> Result<Arc<Run>, QueryError> {
        if self.registry.num_runs() >= self.config.max_runs {
            return Err(QueryError::new(
                ErrorKind::TooManyStreams,
                format!(
                    "{} queries are running, the most that the server's memory permits",
                    self.config.max_runs
                ),
                "try again in a second, or start the server with a larger --memory",
            ));
        }
        let runtime = QueryRuntime::start(self.config.num_threads).map_err(|error| {
            QueryError::new(
                ErrorKind::TooManyStreams,
                format!("cannot start the threads for one more query: {error}"),
                "try again in a second",
            )
        })?;
        let base = match &record.request.source {
            Source::Query(query) => Some(self.registry.get(parse_id(&query.table)?)?),
            _ => None,
        };
        let planned = self.plan(record, options, &runtime).await?;
        let mut properties = properties_of(&planned);
        if let Some(base) = base.as_deref().and_then(ResultRecord::properties) {
            properties.sources.clone_from(&base.sources);
        }
        let is_first = record.properties().is_none();
        let known = record.set_properties(properties.clone());
        if known.sources != properties.sources {
            let name = planned.sources.first().map_or("", |table| &table.name);
            return Err(source_changed(name));
        }
        if known.is_repeatable && !properties.is_repeatable {
            return Err(not_repeatable("the rows of the result are no longer kept"));
        }
        if is_first {
            self.registry.save(record);
        }
        record.set_engine_progress(planned.progress);
        let connections = self.runtime.get_or_init(Handle::current);
        let spool = RunSpool::new(
            Arc::clone(&self.spool_storage),
            options.range.first_row,
            !planned.is_seekable,
        );
        let run = Arc::new(Run::new(NewRun {
            range: options.range,
            codec: planned.codec,
            schema: planned.schema.clone(),
            empty: planned.empty,
            snapshot: snapshot_of(&record.request, &properties),
            spool,
            runtime: connections.clone(),
        }));
        let plan = StitchPlan {
            schema: planned.schema,
            range: planned.range,
            num_parallel: self.num_parallel(),
            budget_bytes: self.budget_bytes(&planned.sources),
            batch_bytes: planned.batch_bytes,
            pool: Arc::clone(&self.pool),
        };
        let driver = RunDriver {
            registry: Arc::clone(&self.registry),
            record: Arc::clone(record),
            run: Arc::clone(&run),
            stitcher: Stitcher::start(planned.partitions, plan, runtime.handle()),
            runtime,
            sources: planned.sources,
            time_left: self.config.query_timeout,
        };
        record.add_run(Arc::clone(&run));
        if record.deleted.is_cancelled() {
            // The result was deleted before it had a run to cancel.
            run.cancel.cancel();
            self.registry.forget(record.id);
        }
        connections.spawn(driver.drive());
        Ok(run)
    }

    /// Bytes that a run of these tables may read ahead. The row indexes of the tables are subtracted, because
    /// they take memory too; large tables have large indexes.
    fn budget_bytes(&self, sources: &[Arc<Table>]) -> u64 {
        let ahead_bytes = self.config.stream_memory_bytes / 8 * 3;
        let tables = sources.iter().filter_map(|table| table.file_table());
        let index_bytes: u64 = tables.map(|table| table.index_bytes()).sum();
        ahead_bytes - index_bytes.min(ahead_bytes / 2)
    }

    /// The number of partitions of a new run that may work at the same time. It is smaller when there are
    /// more runs.
    fn num_parallel(&self) -> usize {
        let num_runs = self.registry.num_runs() as u64 + 1;
        let memory_bytes = self
            .config
            .stream_memory_bytes
            .min(self.config.ahead_bytes / num_runs);
        (memory_bytes / PARTITION_WORKING_BYTES).clamp(1, self.config.num_threads as u64) as usize
    }

    async fn plan(
        self: &Arc<Self>,
        record: &ResultRecord,
        options: ReadOptions,
        runtime: &QueryRuntime,
    ) -> Result<PlannedQuery, QueryError> {
        let request = Request {
            range: options.range,
            ..record.request.clone()
        };
        let (backend, base) = match &request.source {
            Source::Query(query) => {
                // Boxed, because that result may in turn read the rows of another.
                let base = Box::pin(self.table(parse_id(&query.table)?)).await?;
                (Arc::clone(&self.embedded), Some(base))
            }
            _ => (Arc::clone(&self.backend), None),
        };
        let codec = options.codec;
        let planning = AbortOnDropHandle::new(
            runtime
                .handle()
                .spawn(async move { backend.plan(&request, base, codec).await }),
        );
        let timeout = async {
            match self.config.query_timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = record.deleted.cancelled() => Err(cancelled()),
            () = timeout => Err(timed_out()),
            planned = planning => planned.unwrap_or_else(|_| Err(cannot_plan())),
        }
    }
}

fn properties_of(planned: &PlannedQuery) -> ResultProperties {
    ResultProperties {
        order: planned.order,
        is_seekable: planned.is_seekable,
        is_repeatable: planned.is_repeatable,
        num_rows: planned.num_rows,
        sources: planned
            .sources
            .iter()
            .map(|table| (table.name.clone(), table.version.clone()))
            .collect(),
    }
}

/// A number that is equal for all runs with the same rows in the same order, in any process. It is random if
/// the query is not repeatable.
fn snapshot_of(request: &Request, properties: &ResultProperties) -> u64 {
    let written = serde_json::to_vec(&(&request.source, &properties.sources));
    match written {
        Ok(written) if properties.is_repeatable => xxh3_64(&written),
        _ => Uuid::new_v4().as_u64_pair().1,
    }
}
