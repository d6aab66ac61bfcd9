//! The application: builds engine, results and routes from a configuration, runs and stops them.

use std::future::Future;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::backend::Backend;
use crate::backend::embedded::{Engine, EngineConfig};
#[cfg(unix)]
use crate::backend::engine_process::{IsolatedEngine, PoolConfig};
use crate::backend::request::DEFAULT_BATCH_BYTES;
use crate::data_dir::DataDir;
use crate::error::StartError;
use crate::http::connections::{ConnectionLimits, Connections};
use crate::http::{AppState, GuardConfig, Sessions, router};
use crate::machine_memory::default_memory_bytes;
use crate::metrics::Metrics;
use crate::results::{Results, ResultsConfig};
use crate::slots::Slots;
use crate::source::{Folders, Table};
use crate::uploads::{UploadLimits, Uploads};

/// The least memory of a run: to decode, to encode and to buffer for its reader. Measured with 64
/// streams of TPC-H's lineitem within 512 MiB: 42 MB each.
const RUN_BYTES: u64 = 40 << 20;

/// Of the memory, the part that one message may have: each run works on several.
const BATCH_FRACTION: u64 = 256;

/// Rows that all streams together read ahead, for each thread. More would not make them faster.
const AHEAD_BYTES: u64 = 64 << 20;

/// Runs that are permitted at the same time, however small the memory is.
const MIN_RUNS: u64 = 4;

/// How often results without a recent request are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

/// How long connections may take to end after their queries are cancelled.
const ABORT_GRACE: Duration = Duration::from_secs(1);

/// The budgets and permissions of a server.
#[derive(Debug, Clone)]
pub struct AppConfig {
    /// Memory of all queries together.
    pub memory_bytes: u64,
    /// Memory that one stream may hold while its reader is slow.
    pub stream_memory_bytes: u64,
    /// The longest time that a query may execute; waiting for readers is not counted.
    pub query_timeout: Option<Duration>,
    /// The most streams at the same time.
    pub max_streams: usize,
    /// How long a request waits for its turn before it is refused.
    pub queue_timeout: Duration,
    /// How long a client may read nothing before its stream gives back its slot.
    pub stall_timeout: Duration,
    /// How long running streams may continue after shutdown begins.
    pub grace: Duration,
    /// Threads of one query.
    pub num_threads: usize,
    /// The folder for uploads, results and spilled sorts; `None`: a temporary folder.
    pub data_dir: Option<PathBuf>,
    /// Disk for results that wait for a reader, and as much for sorts that exceed the memory.
    pub spool_bytes: u64,
    /// Whether tables may be uploaded.
    pub writable: bool,
    /// The largest upload.
    pub max_upload_bytes: u64,
    /// Disk for all uploaded tables.
    pub upload_quota_bytes: u64,
    /// The most connections at the same time, in addition to those of streams.
    pub max_connections: usize,
    /// From the start of a connection, or the end of a response, to the end of the next request's
    /// headers.
    pub header_timeout: Duration,
    /// How long a small body may take, or an upload may pause.
    pub body_timeout: Duration,
    /// How long a result is kept after its last request.
    pub keep_results: Duration,
    /// The longest time that the planning of a statement may take.
    pub planning_timeout: Duration,
    /// The program `colonnade`, which runs SQL in processes of its own; `None`: SQL runs in this process.
    pub engine_program: Option<PathBuf>,
    /// Which hosts, origins and tokens are accepted.
    pub guard: GuardConfig,
}

impl Default for AppConfig {
    fn default() -> Self {
        Self {
            memory_bytes: default_memory_bytes(),
            stream_memory_bytes: 64 << 20,
            query_timeout: Some(Duration::from_secs(3600)),
            max_streams: 64,
            queue_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(2),
            grace: Duration::from_secs(5),
            num_threads: std::thread::available_parallelism().map_or(2, NonZero::get),
            data_dir: None,
            spool_bytes: 16 << 30,
            writable: false,
            max_upload_bytes: 10 << 30,
            upload_quota_bytes: 64 << 30,
            max_connections: 1024,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            keep_results: Duration::from_secs(600),
            planning_timeout: Duration::from_secs(30),
            engine_program: None,
            guard: GuardConfig::default(),
        }
    }
}

/// A server that is ready to listen.
pub struct App {
    state: AppState,
    grace: Duration,
    limits: ConnectionLimits,
}

impl App {
    /// A server of these tables.
    ///
    /// # Errors
    /// The data folder cannot be used, or the engine cannot be built.
    pub fn try_new(config: &AppConfig, tables: Vec<Table>) -> Result<Self, StartError> {
        Self::build(config, tables, None)
    }

    /// The same, with the tables of files that these folders will get.
    #[must_use]
    pub fn following(self, folders: Option<Folders>) -> Self {
        if let Some(folders) = folders {
            self.state.engine.catalog().follow(folders);
        }
        self
    }

    /// A server of a remote engine.
    ///
    /// # Errors
    /// As [`App::try_new`], or uploads are permitted: only the embedded engine reads them.
    pub fn of_backend(config: &AppConfig, backend: Arc<dyn Backend>) -> Result<Self, StartError> {
        if config.writable {
            return Err(StartError::BadArgument(
                "--writable cannot be used with an engine; serve files, or write the tables in the engine"
                    .to_owned(),
            ));
        }
        Self::build(config, Vec::new(), Some(backend))
    }

    fn build(
        config: &AppConfig,
        mut tables: Vec<Table>,
        backend: Option<Arc<dyn Backend>>,
    ) -> Result<Self, StartError> {
        let data_dir = Arc::new(DataDir::open(config.data_dir.as_deref())?);
        let metrics = Arc::new(Metrics::new());
        let limits = UploadLimits {
            writable: config.writable,
            max_upload_bytes: config.max_upload_bytes,
            quota_bytes: config.upload_quota_bytes,
        };
        let (uploads, uploaded) =
            Uploads::open(data_dir.uploads(), limits, &tables, Arc::clone(&metrics))?;
        tables.extend(uploaded);
        let has_processes = cfg!(unix) && config.engine_program.is_some();
        let engine_config = EngineConfig {
            memory_bytes: config.memory_bytes / if has_processes { 8 } else { 2 },
            spill_bytes: config.spool_bytes,
            spill_folder: data_dir.spill(),
            num_threads: config.num_threads,
            plans_sql: !has_processes,
        };
        let engine = Arc::new(Engine::try_new(&engine_config, tables)?);
        let results_config = ResultsConfig {
            stream_memory_bytes: config.stream_memory_bytes,
            ahead_bytes: (config.memory_bytes / 8).min(AHEAD_BYTES * config.num_threads as u64),
            spool_memory_bytes: config.memory_bytes / 8,
            max_batch_bytes: ((config.memory_bytes / BATCH_FRACTION) as usize)
                .max(DEFAULT_BATCH_BYTES),
            spool_bytes: config.spool_bytes,
            queue_timeout: config.queue_timeout,
            max_runs: (config.memory_bytes / RUN_BYTES).max(MIN_RUNS) as usize,
            spool_folder: data_dir.spool(),
            queries_folder: data_dir.queries(),
            keep: config.keep_results,
            query_timeout: config.query_timeout,
            num_threads: config.num_threads,
        };
        let embedded = isolated(config, &engine, data_dir.spill());
        let backend = backend.unwrap_or_else(|| Arc::clone(&embedded));
        let results = Results::try_new(
            Arc::clone(engine.catalog()),
            Arc::clone(&backend),
            embedded,
            Arc::clone(&metrics),
            results_config,
        )
        .map_err(|error| StartError::Failed(format!("cannot start threads: {error}")))?;
        let state = AppState {
            results,
            engine,
            backend,
            streams: Slots::new(
                config.max_streams,
                config.queue_timeout,
                "streams, exports, searches and summaries",
                "--max-streams",
            ),
            stall_timeout: config.stall_timeout,
            guard: Arc::new(config.guard.clone()),
            sessions: Arc::new(Sessions::default()),
            metrics,
            uploads: Arc::new(uploads),
            body_timeout: config.body_timeout,
            data_dir,
        };
        Ok(Self {
            state,
            grace: config.grace,
            limits: ConnectionLimits {
                max_connections: config.max_connections + config.max_streams,
                header_timeout: config.header_timeout,
            },
        })
    }

    /// All routes.
    pub fn router(&self) -> Router {
        router(self.state.clone())
    }

    /// The queries of this server.
    pub fn results(&self) -> &Results {
        &self.state.results
    }

    /// Serves until `shutdown` is ready. Running streams may then continue for `grace`, after
    /// which they are cancelled.
    pub async fn run(
        &self,
        listener: &TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) {
        let metrics = Arc::clone(&self.state.metrics);
        let connections = Connections::new(self.router(), metrics, self.limits);
        let results = Arc::clone(&self.state.results);
        let _sweeping = AbortOnDropHandle::new(tokio::spawn(async move {
            let mut tick = tokio::time::interval(SWEEP_INTERVAL);
            loop {
                tick.tick().await;
                results.registry.sweep();
            }
        }));
        connections.accept(listener, shutdown).await;
        if !connections.finish(self.grace).await {
            self.state.results.registry.cancel_all();
            // Gives the aborted bodies time to reach their readers.
            connections.finish(ABORT_GRACE).await;
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.state.results.registry.cancel_all();
        self.state.data_dir.close();
    }
}

/// The embedded engine, with statements in processes of their own where that is possible.
fn isolated(config: &AppConfig, engine: &Arc<Engine>, spill_folder: PathBuf) -> Arc<dyn Backend> {
    #[cfg(unix)]
    if let Some(program) = &config.engine_program {
        let pool = PoolConfig {
            program: program.clone(),
            memory_bytes: config.memory_bytes,
            spill_bytes: config.spool_bytes,
            spill_folder,
            num_threads: config.num_threads,
            planning_timeout: config.planning_timeout,
        };
        return Arc::new(IsolatedEngine::new(Arc::clone(engine), pool));
    }
    #[cfg(not(unix))]
    let _ = (config, spill_folder);
    Arc::clone(engine) as _
}
