//! Starts runs: plans a query and stitches its partitions.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::backend::request::Request;
use crate::backend::{Admission, PlannedQuery};
use crate::error::{ErrorKind, QueryError, source_changed};
use crate::order::{StitchPlan, Stitcher};
use crate::results::properties::ResultProperties;
use crate::results::reader::{Joined, ReadOptions, ReaderKind};
use crate::results::record::{ResultRecord, result_replaced, rows_gone};
use crate::results::run::{Run, RunHead, cancelled, timed_out};
use crate::results::run_driver::RunDriver;
use crate::results::{Results, cannot_plan};
use crate::slots::Slot;
use crate::source::Table;
use crate::spool::RunSpool;

/// Memory of a running partition, besides the messages that wait: pages, a batch, its encoded form. Measured
/// with TPC-H's lineitem: 10 MiB.
const PARTITION_WORKING_BYTES: u64 = 16 << 20;

/// The number of files in a record that the tables lack. The header says how many there are.
const MAX_LEFT_OUT: usize = 100;

/// The places of a new run: among all runs, and among those of its engine.
pub(super) struct Places {
    slot: Arc<Slot>,
    admission: Option<Admission>,
}

impl Results {
    /// Joins a new run of the wanted rows. If planning shows that another result has them, joins its run.
    pub(super) async fn start_run(
        self: &Arc<Self>,
        record: &Arc<ResultRecord>,
        options: &ReadOptions,
        Places { slot, admission }: Places,
    ) -> Result<Joined, QueryError> {
        let base_id = record.request.base()?;
        let base = base_id.map(|id| self.registry.get(id)).transpose()?;
        let planned = self
            .plan(record, options, Arc::clone(&slot), admission)
            .await?;
        let mut properties = properties_of(&planned);
        if let Some(base) = &base {
            let known = base.properties().cloned();
            properties = properties.over(known, base.rows_id());
        }
        let is_first = record.properties().is_none();
        let known = record.set_properties(properties.clone());
        if let Some(id) = base_id.filter(|_| known.base != properties.base) {
            return Err(result_replaced(id));
        }
        if known.sources != properties.sources {
            let name = planned.sources.first().map_or("", |table| &table.name);
            return Err(source_changed(name));
        }
        let first_row = options.range.first_row;
        if known.is_repeatable && !properties.is_repeatable {
            return Err(rows_gone(first_row));
        }
        if is_first {
            self.registry.save(record);
        }
        let _starting = self.shared_runs.starting();
        if let Some(joined) = self.find_run(record, options)? {
            return Ok(joined);
        }
        record.set_engine_progress(planned.progress);
        let connections = self.runtime.get_or_init(Handle::current);
        let keeps_all = !planned.is_seekable;
        let spool = RunSpool::new(Arc::clone(&self.spool_storage), first_row, keeps_all);
        let head = RunHead {
            codec: planned.codec,
            schema: planned.schema.clone(),
            empty: planned.empty,
            snapshot: match properties.is_repeatable {
                true => record.rows_id(),
                false => Uuid::new_v4().as_u64_pair().1,
            },
        };
        let run = Run::new(options.range, head, spool, keeps_all, connections.clone());
        let run = Arc::new(run);
        let plan = StitchPlan {
            schema: planned.schema,
            range: planned.range,
            num_parallel: self.num_parallel(),
            budget_bytes: self.budget_bytes(&planned.sources),
            batch_bytes: planned.batch_bytes,
            pool: Arc::clone(&self.pool),
        };
        let mut slots = planned.slots;
        if !matches!(options.reader, ReaderKind::Run(_)) {
            slots.push(self.run_slots.clone());
        }
        let driver = RunDriver {
            registry: Arc::clone(&self.registry),
            run: Arc::clone(&run),
            stitcher: Stitcher::start(
                planned.partitions,
                plan,
                self.first_threads.handle(),
                self.threads.handle(),
            ),
            slot,
            slots,
            is_repeatable: properties.is_repeatable,
            is_seekable: planned.is_seekable,
            sources: planned.sources,
            num_cores: self.config.num_threads,
            queue_timeout: self.config.queue_timeout,
            time_left: self.config.query_timeout,
        };
        // The run is new, so it accepts a reader and still has all its rows.
        let lease = run
            .lease(options.linger(&record.request), &record.deleted)
            .ok_or_else(cancelled)?;
        let position = run.spool.seek(first_row);
        let position = position.ok_or_else(|| rows_gone(first_row))?;
        record.add_run(&run);
        self.shared_runs.add(record, options.codec, &run);
        connections.spawn(driver.drive());
        Ok((lease, position))
    }

    /// The places for a new run.
    ///
    /// # Errors
    /// `busy`; those of [`Backend::admit`].
    pub(super) async fn places(
        &self,
        request: &Request,
        reader: &ReaderKind,
    ) -> Result<Places, QueryError> {
        let (slot, admission) = match reader {
            // Only a newcomer, who does not wait for ever, takes the place of its engine first: two that wait for each
            // other would never end.
            ReaderKind::Newcomer => {
                let admission = self.backend.admit(request).await?;
                let slot = match request.source.is_whole_table() {
                    true => self.run_slots.take_brief().await?,
                    false => self.run_slots.take().await?,
                };
                (Arc::new(slot), admission)
            }
            ReaderKind::Begun => (Arc::new(self.run_slots.take_again().await), None),
            ReaderKind::Run(slot) => (Arc::clone(slot), None),
        };
        Ok(Places { slot, admission })
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
        let num_runs = self.run_slots.num_taken() as u64;
        let memory_bytes = self
            .config
            .stream_memory_bytes
            .min(self.config.ahead_bytes / num_runs.max(1));
        (memory_bytes / PARTITION_WORKING_BYTES).clamp(1, self.config.num_threads as u64) as usize
    }

    async fn plan(
        self: &Arc<Self>,
        record: &ResultRecord,
        options: &ReadOptions,
        slot: Arc<Slot>,
        mut admission: Option<Admission>,
    ) -> Result<PlannedQuery, QueryError> {
        let request = Request {
            range: options.range,
            batch_bytes: record.request.batch_bytes.min(self.config.max_batch_bytes),
            ..record.request.clone()
        };
        let (backend, base) = match request.base()? {
            Some(id) => {
                // Boxed, because that result may in turn read the rows of another.
                let base = Box::pin(self.table(id, ReaderKind::Run(slot))).await?;
                (Arc::clone(&self.embedded), Some(base))
            }
            None => (Arc::clone(&self.backend), None),
        };
        let codec = options.codec;
        let is_patient = !matches!(options.reader, ReaderKind::Newcomer);
        let planning = async move {
            loop {
                let planned = backend
                    .plan(&request, base.clone(), codec, admission.take())
                    .await;
                let is_busy = planned
                    .as_ref()
                    .is_err_and(|error| error.kind == ErrorKind::Busy);
                if !is_busy || !is_patient {
                    return planned;
                }
            }
        };
        let planning = AbortOnDropHandle::new(self.first_threads.handle().spawn(planning));
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
    let left_out = || planned.sources.iter().flat_map(|table| table.left_out());
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
        base: None,
        left_out: left_out().take(MAX_LEFT_OUT).collect(),
        num_left_out: left_out().count() as u64,
    }
}
