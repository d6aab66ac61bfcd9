//! The program of an engine process: `colonnade engine`.

mod connection;
mod sandbox;
mod server_tables;
mod statement_pool;

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;
use futures::StreamExt;
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::time::TimeValLike;
use tokio::runtime::{Builder, Runtime};
use tokio_util::task::AbortOnDropHandle;

use self::connection::ServerConnection;
use self::server_tables::ServerTables;
use self::statement_pool::StatementPool;
use super::protocol::{Frame, FromEngine, Planned, StatementRequest};
use crate::allocator;
use crate::backend::embedded::{Engine, EngineConfig, PlannedStatement};
use crate::backend::progress::MAX_SHORT_MS;
use crate::backend::request::{CommonParameters, Source};
use crate::backend::{PlannedQuery, Usage};
use crate::byte_pool::BytePool;
use crate::error::{ErrorKind, QueryError};
use crate::order::{HeldBytes, StitchPlan, Stitcher};
use crate::source::catalog::Catalog;
use crate::source::{Table, bytes_to_scan, scanned_bytes};

/// Stack size of each thread of a statement. Only pages that are used take memory.
const STACK_BYTES: usize = 16 << 20;

/// Threads of a statement that may block on files, besides those that compute.
const MAX_BLOCKING_THREADS: usize = 16;

/// Memory that the counting allocator does not see: free blocks, and what libraries in C allocate.
const UNCOUNTED_BYTES: u64 = 128 << 20;

/// Memory that a partition of a plan needs: with little memory, a plan has few of them.
const PARTITION_BYTES: u64 = 32 << 20;

/// Of a statement's memory, the part that messages may take that wait for others before them.
const AHEAD_FRACTION: u64 = 8;

/// Memory of a running partition, besides the messages that wait.
const PARTITION_WORKING_BYTES: u64 = 8 << 20;

/// How long the threads of a statement may take to end after it.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(300);

/// How often a statement reports what it has read.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

const WARM_UP_BYTES: u64 = 64 << 20;
const WARM_UP_SQL: &str = "select column1, count(*), max(column2) from (values (1, 'a'), (2, 'b')) \
    where column1 > 0 group by column1 order by 2 desc, 1";

/// The niceness of a statement, and of one that has taken more than [`MAX_SHORT_MS`].
const NICENESS: i32 = 5;
const LONG_NICENESS: i32 = 15;

/// Runs the statements that arrive on standard input, which is a socket, until it is closed.
///
/// # Errors
/// One line: what could not be set up.
pub fn run(spill_folder: &Path, num_threads: usize) -> Result<(), String> {
    sandbox::close_inherited();
    allocator::count();
    let failed = |error: io::Error| format!("the engine process cannot start: {error}");
    let socket = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let program = EngineProgram {
        spill_folder: spill_folder.to_owned(),
        num_threads,
        tables: HashMap::new(),
    };
    warm_up(&program.config(WARM_UP_BYTES, 0))?;
    sandbox::enter(spill_folder).map_err(failed)?;
    sandbox::set_niceness(NICENESS);
    let (server, statements) = ServerConnection::start(UnixStream::from(socket)).map_err(failed)?;
    program.run(&server, &statements).map_err(failed)
}

/// Runs a small statement while nobody waits for it, so that its code is in memory for the first real one. Starts
/// no thread.
fn warm_up(config: &EngineConfig) -> Result<(), String> {
    let engine = Engine::try_new(config, Vec::new()).map_err(|error| error.to_string())?;
    let request = CommonParameters::default().request(Source::Sql(WARM_UP_SQL.to_owned()));
    let run = async {
        for partition in engine.plan(&request?, None, None).await?.partitions {
            let mut messages = partition(HeldBytes::default());
            while messages.next().await.transpose()?.is_some() {}
        }
        Ok::<_, QueryError>(())
    };
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(run).map_err(|error| error.to_string())
}

struct EngineProgram {
    spill_folder: PathBuf,
    num_threads: usize,
    /// Tables of earlier statements, by name.
    tables: HashMap<String, Table>,
}

impl EngineProgram {
    fn config(&self, memory_bytes: u64, spill_bytes: u64) -> EngineConfig {
        EngineConfig {
            memory_bytes: statement_pool::spilling_bytes(memory_bytes),
            spill_bytes,
            spill_folder: self.spill_folder.clone(),
            num_threads: (memory_bytes / PARTITION_BYTES).clamp(1, self.num_threads as u64)
                as usize,
            plans_sql: true,
        }
    }

    fn run(
        mut self,
        server: &Arc<ServerConnection>,
        statements: &mpsc::Receiver<Box<StatementRequest>>,
    ) -> io::Result<()> {
        server.send(FromEngine::Ready);
        while let Ok(statement) = statements.recv() {
            let meter = UsageMeter::start();
            self.limit(statement.memory_bytes)?;
            let threads = Arc::new(AtomicUsize::new(0));
            let runtime = self.runtime(&threads)?;
            let timer = PriorityTimer::start()?;
            let end = self.execute(server, *statement, &runtime, &meter);
            drop(timer);
            let permits_reuse = meter.usage(None).permits_reuse();
            server.send(end);
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
            allocator::lift_limit();
            allocator::give_back();
            if threads.load(Ordering::SeqCst) > 0 || !permits_reuse {
                server.close();
            }
            server.send(FromEngine::Ready);
        }
        Ok(())
    }

    fn limit(&self, memory_bytes: u64) -> io::Result<()> {
        allocator::limit(memory_bytes);
        let num_threads = (self.num_threads + MAX_BLOCKING_THREADS) as u64;
        let stack_bytes = num_threads * STACK_BYTES as u64;
        let (_, hard) = getrlimit(Resource::RLIMIT_DATA)?;
        let data_bytes = memory_bytes + stack_bytes + UNCOUNTED_BYTES;
        setrlimit(Resource::RLIMIT_DATA, data_bytes.min(hard), hard)?;
        Ok(())
    }

    /// The threads of one statement, counted in `threads`.
    fn runtime(&self, threads: &Arc<AtomicUsize>) -> io::Result<Runtime> {
        let (started, stopped) = (Arc::clone(threads), Arc::clone(threads));
        Builder::new_multi_thread()
            .worker_threads(self.num_threads)
            .max_blocking_threads(MAX_BLOCKING_THREADS)
            .thread_stack_size(STACK_BYTES)
            .on_thread_start(move || {
                started.fetch_add(1, Ordering::SeqCst);
            })
            .on_thread_stop(move || {
                allocator::report();
                stopped.fetch_sub(1, Ordering::SeqCst);
            })
            .enable_all()
            .build()
    }

    /// Plans and runs a statement, and sends its rows. Returns the last frame.
    fn execute(
        &mut self,
        server: &Arc<ServerConnection>,
        statement: StatementRequest,
        runtime: &Runtime,
        meter: &UsageMeter,
    ) -> FromEngine {
        let expected_bytes = statement.expected_bytes;
        let (sent, plan) = match self.plan(server, statement, runtime) {
            Err(error) => (Err(error), None),
            Ok(PlannedStatement::Scan(scan)) => return FromEngine::Scan(scan),
            Ok(PlannedStatement::Query(planned, plan)) => {
                let num_parallel = (expected_bytes / 2 / PARTITION_WORKING_BYTES) as usize;
                let num_parallel = num_parallel.clamp(1, self.num_threads);
                let ahead_bytes = expected_bytes / AHEAD_FRACTION;
                let sending = send_rows(
                    server,
                    *planned,
                    Arc::clone(&plan),
                    *meter,
                    num_parallel,
                    ahead_bytes,
                    runtime,
                );
                (runtime.block_on(sending), Some(plan))
            }
        };
        let usage = meter.usage(plan.as_deref());
        match sent {
            Ok(()) => FromEngine::End(usage),
            Err(error) => FromEngine::Failed(as_statement_error(error), usage),
        }
    }

    fn plan(
        &mut self,
        server: &Arc<ServerConnection>,
        statement: StatementRequest,
        runtime: &Runtime,
    ) -> Result<PlannedStatement, QueryError> {
        let catalog = Arc::new(self.catalog(server, &statement));
        let config = self.config(statement.expected_bytes, statement.spill_bytes);
        let used = Arc::clone(&catalog);
        // On a thread with a large stack, because planning recurses.
        let planning = runtime.spawn(async move { plan(&config, catalog, statement).await });
        let planned = runtime.block_on(planning);
        self.keep_tables(&used);
        planned.unwrap_or_else(|_| Err(stopped("planned")))
    }

    /// The tables of a statement. Those that are known in their current version are loaded.
    fn catalog(&mut self, server: &Arc<ServerConnection>, statement: &StatementRequest) -> Catalog {
        let tables: HashMap<_, _> = statement.tables.iter().cloned().collect();
        self.tables
            .retain(|name, table| tables.get(name) == Some(&table.version) && !table.has_changed());
        let loader = ServerTables {
            server: Arc::clone(server),
            names: statement
                .tables
                .iter()
                .map(|(name, _)| name.clone())
                .collect(),
        };
        let known = self.tables.values().cloned().collect();
        Catalog::of_loader(Arc::new(loader), known)
    }

    fn keep_tables(&mut self, catalog: &Catalog) {
        for entry in catalog.entries().iter() {
            let table = entry.table.as_ref();
            if table.is_cacheable() && !self.tables.contains_key(&table.name) {
                self.tables.insert(table.name.clone(), table.clone());
            }
        }
    }
}

async fn plan(
    config: &EngineConfig,
    catalog: Arc<Catalog>,
    statement: StatementRequest,
) -> Result<PlannedStatement, QueryError> {
    let base = match &statement.request.source {
        Source::Query(query) => catalog.find(&query.table)?,
        _ => None,
    };
    let base = base.map(|entry| entry.table.as_ref().clone());
    let engine = Engine::of_catalog(config, catalog, Arc::<StatementPool>::default())
        .map_err(|error| QueryError::new(ErrorKind::Internal, error.to_string(), ""))?;
    engine
        .plan_statement(&statement.request, base, statement.codec)
        .await
}

/// Sends how a statement is planned, and then its rows in order.
async fn send_rows(
    server: &Arc<ServerConnection>,
    planned: PlannedQuery,
    physical: Arc<dyn ExecutionPlan>,
    meter: UsageMeter,
    num_parallel: usize,
    ahead_bytes: u64,
    runtime: &Runtime,
) -> Result<(), QueryError> {
    let header = FromEngine::Planned(Planned {
        order: planned.order,
        is_repeatable: planned.is_repeatable,
        sources: planned
            .sources
            .iter()
            .map(|table| table.name.clone())
            .collect(),
    });
    server.send_frame(Frame {
        metadata: planned.schema.metadata.clone(),
        ..Frame::of(header)
    });
    let plan = StitchPlan {
        schema: planned.schema,
        range: planned.range,
        num_parallel,
        budget_bytes: ahead_bytes,
        batch_bytes: planned.batch_bytes,
        pool: BytePool::new(u64::MAX),
    };
    let threads = runtime.handle();
    let mut stitcher = Stitcher::start(planned.partitions, plan, threads, threads);
    let reporting = report(
        Arc::clone(server),
        Arc::clone(&physical),
        planned.sources.clone(),
        meter,
    );
    let _reporting = AbortOnDropHandle::new(runtime.spawn(reporting));
    while let Some(message) = stitcher.next().await {
        server.send_message(message?).await;
    }
    // A short statement has ended before its first report.
    if !planned.sources.is_empty() {
        let bytes_total = bytes_to_scan(physical.as_ref(), &planned.sources);
        let usage = meter.usage(Some(physical.as_ref()));
        server.send(FromEngine::Progress(usage, bytes_total));
    }
    Ok(())
}

/// Reports what a statement has read and used, as long as that grows.
async fn report(
    server: Arc<ServerConnection>,
    plan: Arc<dyn ExecutionPlan>,
    tables: Vec<Arc<Table>>,
    meter: UsageMeter,
) {
    let (mut bytes_total, mut last) = (None, None);
    loop {
        tokio::time::sleep(REPORT_INTERVAL).await;
        bytes_total = bytes_total.or_else(|| bytes_to_scan(plan.as_ref(), &tables));
        let usage = meter.usage(Some(plan.as_ref()));
        if last.replace(usage) != Some(usage) {
            server.send(FromEngine::Progress(usage, bytes_total));
        }
    }
}

/// Measures what a statement uses: what this process had used when the statement began.
#[derive(Clone, Copy)]
struct UsageMeter {
    cpu_ms: u64,
    scanned_bytes: u64,
}

impl UsageMeter {
    fn start() -> Self {
        Self {
            cpu_ms: cpu_ms(),
            scanned_bytes: scanned_bytes(),
        }
    }

    fn usage(&self, plan: Option<&dyn ExecutionPlan>) -> Usage {
        let (_, peak_memory_bytes) = allocator::counted_bytes();
        Usage {
            cpu_ms: cpu_ms().saturating_sub(self.cpu_ms),
            peak_memory_bytes,
            scanned_bytes: scanned_bytes() - self.scanned_bytes,
            spilled_bytes: plan.map_or(0, spilled_bytes),
        }
    }
}

fn spilled_bytes(plan: &dyn ExecutionPlan) -> u64 {
    let own = plan.metrics().and_then(|metrics| metrics.spilled_bytes());
    let below = plan.children().into_iter();
    let below: u64 = below.map(|child| spilled_bytes(child.as_ref())).sum();
    own.unwrap_or(0) as u64 + below
}

/// Processor time of this process.
fn cpu_ms() -> u64 {
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| {
        let time = usage.user_time() + usage.system_time();
        time.num_milliseconds().max(0) as u64
    })
}

/// Lets a long statement yield to others. Ends when it is dropped.
struct PriorityTimer {
    _end: mpsc::Sender<()>,
}

impl PriorityTimer {
    fn start() -> io::Result<Self> {
        let (end, ended) = mpsc::channel::<()>();
        let begun_ms = cpu_ms();
        thread::Builder::new().spawn(move || {
            let pause = Duration::from_millis(MAX_SHORT_MS / 4);
            while ended.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
                if cpu_ms() - begun_ms > MAX_SHORT_MS {
                    sandbox::set_niceness(LONG_NICENESS);
                    return;
                }
            }
        })?;
        Ok(Self { _end: end })
    }
}

/// A panic of the engine is an error of the statement, and not of the server.
fn as_statement_error(error: QueryError) -> QueryError {
    if error.kind != ErrorKind::Internal {
        return error;
    }
    QueryError::new(
        ErrorKind::EngineDied,
        format!("the engine cannot execute the statement: {}", error.message),
        "rewrite the statement",
    )
}

fn stopped(what: &str) -> QueryError {
    QueryError::new(
        ErrorKind::EngineDied,
        format!("the engine stopped while the statement was {what}"),
        "rewrite the statement",
    )
}
