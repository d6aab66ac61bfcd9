//! The engine processes of a server, and their shares of its memory.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::process::EngineProcess;
use crate::error::{ErrorKind, QueryError};
use crate::system_limits::max_threads;

/// The memory that every statement gets, if there is enough for two.
const MIN_STATEMENT_BYTES: u64 = 32 << 20;

/// The part of all memory and disk that is divided equally among the statements that may run at the same time.
const RESERVED_FRACTION: u64 = 4;

/// The most statements at the same time. Each has a process, which takes some 10 MB of its own.
const MAX_STATEMENTS: u64 = 32;

/// Threads of a process, of which all together may have half of those that the system permits.
const THREADS_PER_STATEMENT: u64 = 16;

/// The least that a share grows by, so that a statement seldom asks.
const GRANT_BYTES: u64 = 16 << 20;

/// How many times what is left a share may have: for memory that the statement cannot do without, and for memory that
/// saves it a spill file.
const REQUIRED_RATIO: u64 = 3;
const USEFUL_RATIO: u64 = 1;

/// Processes that wait for a statement.
const MAX_READY: usize = 2;

/// How long a statement waits for others to end.
const MAX_SLOT_WAIT: Duration = Duration::from_secs(10);

/// How processes are started, and what all statements together may use.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// The program `colonnade`.
    pub program: PathBuf,
    /// Memory of all statements.
    pub memory_bytes: u64,
    /// Disk of all statements.
    pub spill_bytes: u64,
    /// The folder of their spill files.
    pub spill_folder: PathBuf,
    /// Threads of one statement.
    pub num_threads: usize,
    /// The longest time that the planning of a statement may take.
    pub planning_timeout: Duration,
}

/// The engine processes. Each statement has one for itself. At least one more is started before it is needed.
#[derive(Debug)]
pub(super) struct EnginePool {
    config: PoolConfig,
    ready: Mutex<VecDeque<EngineProcess>>,
    is_refilling: AtomicBool,
    slots: Arc<Semaphore>,
    num_slots: u64,
    spare: Mutex<Spare>,
}

/// What no statement has, besides what is reserved for the statements that may still begin.
#[derive(Debug)]
struct Spare {
    memory_bytes: u64,
    spill_bytes: u64,
}

impl EnginePool {
    /// A pool, which starts its first process in the background.
    pub(super) fn start(config: PoolConfig) -> Arc<Self> {
        let reserved_bytes = config.memory_bytes / RESERVED_FRACTION;
        let num_slots = reserved_bytes / MIN_STATEMENT_BYTES;
        let permitted = max_threads().unwrap_or(u64::MAX) / (2 * THREADS_PER_STATEMENT);
        let num_slots = num_slots.min(permitted).clamp(2, MAX_STATEMENTS);
        let pool = Arc::new(Self {
            ready: Mutex::default(),
            is_refilling: AtomicBool::new(false),
            slots: Arc::new(Semaphore::new(num_slots as usize)),
            num_slots,
            spare: Mutex::new(Spare {
                memory_bytes: config.memory_bytes - reserved_bytes,
                spill_bytes: config.spill_bytes - config.spill_bytes / RESERVED_FRACTION,
            }),
            config,
        });
        pool.refill();
        pool
    }

    /// A process for one statement, and its share. Waits its turn if all slots are in use.
    ///
    /// # Errors
    /// `busy`: no other statement has ended in time; `engine_died`: the process cannot be started.
    pub(super) async fn lease(self: &Arc<Self>) -> Result<EngineLease, QueryError> {
        let slot = Arc::clone(&self.slots).acquire_owned();
        let slot = tokio::time::timeout(MAX_SLOT_WAIT, slot).await;
        let Ok(Ok(slot)) = slot else {
            return Err(QueryError::new(
                ErrorKind::Busy,
                format!(
                    "{} statements are running, and none has ended",
                    self.num_slots
                ),
                "try again in a second, or start the server with a larger --memory",
            ));
        };
        let process = self.take().map_err(|error| {
            QueryError::new(
                ErrorKind::EngineDied,
                format!("the process of the statement cannot be started: {error}"),
                "try again in a second",
            )
        })?;
        let share = Arc::new(Share::of(Arc::clone(self), slot));
        Ok(EngineLease { process, share })
    }

    /// How the pool was configured.
    pub(super) fn config(&self) -> &PoolConfig {
        &self.config
    }

    fn take(self: &Arc<Self>) -> io::Result<EngineProcess> {
        let ready = lock(&self.ready).pop_front();
        let taken = ready.map_or_else(|| self.start_process(), Ok);
        self.refill();
        taken
    }

    fn start_process(&self) -> io::Result<EngineProcess> {
        let config = &self.config;
        EngineProcess::start(&config.program, &config.spill_folder, config.num_threads)
    }

    /// Starts a process in the background if none waits.
    fn refill(self: &Arc<Self>) {
        if !lock(&self.ready).is_empty() || self.is_refilling.swap(true, Ordering::SeqCst) {
            return;
        }
        let pool = Arc::downgrade(self);
        // Without a process that waits, the next statement starts one.
        let _ = thread::Builder::new().spawn(move || {
            let pool = pool.upgrade()?;
            let started = pool.start_process();
            pool.is_refilling.store(false, Ordering::SeqCst);
            pool.give_back(started.ok()?);
            Some(())
        });
    }

    fn give_back(&self, process: EngineProcess) {
        let mut ready = lock(&self.ready);
        if ready.len() < MAX_READY {
            ready.push_back(process);
        }
    }
}

/// A process for one statement. Dropping it ends the process.
#[derive(Debug)]
pub(super) struct EngineLease {
    /// The process.
    pub(super) process: EngineProcess,
    /// What the statement may use.
    pub(super) share: Arc<Share>,
}

impl EngineLease {
    /// Takes another process, because this one has ended.
    ///
    /// # Errors
    /// The system cannot start one.
    pub(super) fn replace_process(&mut self) -> io::Result<()> {
        self.process = self.share.pool.start_process()?;
        Ok(())
    }

    /// Keeps the process, which has ended its statement, for another.
    pub(super) fn give_back(mut self) {
        self.process.is_used = true;
        self.share.pool.give_back(self.process);
    }
}

/// What one statement may use. Dropping it gives everything back.
#[derive(Debug)]
pub(super) struct Share {
    pool: Arc<EnginePool>,
    /// Memory besides the statement's least.
    extra_bytes: Mutex<u64>,
    /// Disk besides the statement's least.
    extra_spill_bytes: u64,
    _slot: OwnedSemaphorePermit,
}

impl Share {
    /// The least memory, and half of the disk that no statement has.
    fn of(pool: Arc<EnginePool>, slot: OwnedSemaphorePermit) -> Self {
        let mut spare = lock(&pool.spare);
        let extra_spill_bytes = spare.spill_bytes / 2;
        spare.spill_bytes -= extra_spill_bytes;
        drop(spare);
        Self {
            pool,
            extra_bytes: Mutex::new(0),
            extra_spill_bytes,
            _slot: slot,
        }
    }

    /// Memory that the statement may take now.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.least_bytes() + *lock(&self.extra_bytes)
    }

    /// Memory that the statement can get, if no other one takes more.
    pub(super) fn expected_bytes(&self) -> u64 {
        self.memory_bytes() + growth_bytes(lock(&self.pool.spare).memory_bytes, 0, REQUIRED_RATIO)
    }

    /// Disk that the statement may take.
    pub(super) fn spill_bytes(&self) -> u64 {
        let reserved_bytes = self.pool.config.spill_bytes / RESERVED_FRACTION;
        reserved_bytes / self.pool.num_slots + self.extra_spill_bytes
    }

    /// Lets the statement take `wanted_bytes` more memory, or nothing more if that leaves too little for
    /// others. If the memory is not required, more has to be left. Returns how much more it may take.
    pub(super) fn grow(&self, wanted_bytes: u64, is_required: bool) -> u64 {
        let ratio = if is_required {
            REQUIRED_RATIO
        } else {
            USEFUL_RATIO
        };
        let mut extra_bytes = lock(&self.extra_bytes);
        let mut spare = lock(&self.pool.spare);
        let free_bytes = growth_bytes(spare.memory_bytes, *extra_bytes, ratio);
        if wanted_bytes > free_bytes {
            return 0;
        }
        let granted_bytes = wanted_bytes.max(GRANT_BYTES.min(free_bytes));
        spare.memory_bytes -= granted_bytes;
        *extra_bytes += granted_bytes;
        granted_bytes
    }

    fn least_bytes(&self) -> u64 {
        self.pool.config.memory_bytes / RESERVED_FRACTION / self.pool.num_slots
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut spare = lock(&self.pool.spare);
        spare.memory_bytes += *lock(&self.extra_bytes);
        spare.spill_bytes += self.extra_spill_bytes;
    }
}

/// How much a share may grow: until it has `ratio` times what is left for all other statements. With 3, one
/// statement alone gets three quarters, each of two gets three sevenths, and there is always some left for the next
/// one (dynamic queue thresholds, Choudhury and Hahne 1998).
fn growth_bytes(spare_bytes: u64, extra_bytes: u64, ratio: u64) -> u64 {
    (ratio * spare_bytes).saturating_sub(extra_bytes) / (ratio + 1)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{REQUIRED_RATIO, USEFUL_RATIO, growth_bytes};

    /// Shares of statements that take all they can get, each in turn.
    fn shares(num_statements: usize, total_bytes: u64, ratio: u64) -> Vec<u64> {
        let mut spare_bytes = total_bytes;
        let mut shares = vec![0; num_statements];
        for _ in 0..10_000 {
            for extra_bytes in &mut shares {
                let granted_bytes = growth_bytes(spare_bytes, *extra_bytes, ratio).min(1);
                spare_bytes -= granted_bytes;
                *extra_bytes += granted_bytes;
            }
        }
        shares
    }

    #[test]
    fn shares_of_equal_statements_are_equal_and_leave_some_for_the_next() {
        assert_eq!(shares(1, 4000, REQUIRED_RATIO), [3000]);
        assert_eq!(shares(2, 7000, REQUIRED_RATIO), [3000, 3000]);
        assert_eq!(shares(4, 1300, REQUIRED_RATIO), [300; 4]);
        assert_eq!(shares(1, 4000, USEFUL_RATIO), [2000]);
        assert_eq!(shares(4, 1000, USEFUL_RATIO), [200; 4]);
    }
}
