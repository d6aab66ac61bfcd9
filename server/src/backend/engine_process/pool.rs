//! The engine processes of a server, and their shares of its memory.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use super::process::EngineProcess;
use crate::backend::Admission;
use crate::byte_pool::ledger::{self, Grant};
use crate::error::{ErrorKind, QueryError};
use crate::slots::{Slot, Slots};

/// The memory that every statement gets, if there is enough for four.
const MIN_STATEMENT_BYTES: u64 = 32 << 20;

/// The parts of all memory and of all disk that are divided equally among as many statements as may have a process.
const RESERVED_FRACTION: u64 = 4;
const RESERVED_SPILL_FRACTION: u64 = 4;

/// The memory that every sort of a table gets in addition, if there is enough for one: it reads and merges with it,
/// however large the table is.
const MIN_SORT_BYTES: u64 = 40 << 20;

/// The part of all memory that statements leave to the server, besides what it holds.
const SERVER_FRACTION: u64 = 8;

/// The part of what is not reserved that is divided equally among as many sorts as run at the same time.
const SORTS_FRACTION: u64 = 4;

/// The most sorts of large tables at the same time. Each takes half of the disk that those before it left.
const MAX_SORTS: u64 = 3;

/// The most statements that work at the same time.
const MAX_WORKING: u64 = 32;

/// How many statements may have a process for each that works. Each process takes some 10 MB of its own.
const PROCESSES_PER_WORKING: u64 = 2;

/// How long a statement works before it gives way to one that waits.
const SLICE: Duration = Duration::from_secs(1);

/// The least that a share grows by, so that a statement seldom asks.
const GRANT_BYTES: u64 = 16 << 20;

/// How many times what is left a share may have: for memory that the statement cannot do without, and for memory that
/// saves it a spill file.
const REQUIRED_RATIO: u64 = 3;
const USEFUL_RATIO: u64 = 1;

/// Processes that wait for a statement.
const MAX_READY: usize = 2;

/// How long a statement waits for a process.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// How long the sort of a table waits for others.
const MAX_SORT_WAIT: Duration = Duration::from_secs(300);

/// How processes are started, and what all statements together may use.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// The program `colonnade`.
    pub program: PathBuf,
    /// Memory of the server and all statements.
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
/// Statements that work for long take turns.
#[derive(Debug)]
pub(super) struct EnginePool {
    config: PoolConfig,
    ready: Mutex<VecDeque<EngineProcess>>,
    is_refilling: AtomicBool,
    /// One for each statement that has a process.
    processes: Slots,
    /// One for each statement that works.
    turns: Slots,
    /// One for each sort of a large table, so that sorts leave memory to each other, and processes to statements.
    sorts: Slots,
    /// Memory that each of them gets besides its reserve.
    sort_bytes: u64,
    spare: Mutex<Spare>,
    _reserved: Grant,
}

/// What no statement has.
#[derive(Debug)]
struct Spare {
    memory_bytes: u64,
    /// Memory that is left to the server.
    server_bytes: u64,
    spill_bytes: u64,
}

impl Spare {
    /// Memory that neither a statement nor the server has.
    fn free_bytes(&self) -> u64 {
        let free_bytes = ledger::free_bytes().saturating_sub(self.server_bytes);
        self.memory_bytes.min(free_bytes)
    }
}

/// What each statement gets in any case.
#[derive(Debug)]
struct Reserve {
    memory_bytes: u64,
    spill_bytes: u64,
}

impl EnginePool {
    /// A pool, which starts its first process in the background.
    pub(super) fn start(config: PoolConfig) -> Arc<Self> {
        let reserved_bytes = config.memory_bytes / RESERVED_FRACTION;
        let spare_bytes = config.memory_bytes - reserved_bytes;
        let num_working = reserved_bytes / (MIN_STATEMENT_BYTES * PROCESSES_PER_WORKING);
        let num_working = num_working.clamp(2, MAX_WORKING);
        let num_processes = num_working * PROCESSES_PER_WORKING;
        let num_sorts = (spare_bytes / SORTS_FRACTION / MIN_SORT_BYTES).clamp(1, MAX_SORTS);
        let slots = |num_slots: u64, work, max_wait| {
            Slots::new(num_slots as usize, max_wait, work, "--memory")
        };
        let pool = Arc::new(Self {
            ready: Mutex::default(),
            is_refilling: AtomicBool::new(false),
            processes: slots(num_processes, "statements", MAX_WAIT),
            turns: slots(num_working, "statements", MAX_WAIT),
            sorts: slots(num_sorts, "sorts", MAX_SORT_WAIT),
            sort_bytes: spare_bytes / SORTS_FRACTION / num_sorts,
            spare: Mutex::new(Spare {
                memory_bytes: spare_bytes,
                server_bytes: config.memory_bytes / SERVER_FRACTION,
                spill_bytes: config.spill_bytes - config.spill_bytes / RESERVED_SPILL_FRACTION,
            }),
            _reserved: Grant::of(reserved_bytes),
            config,
        });
        pool.refill();
        pool
    }

    /// A place and a turn for one statement, or for the sort of a large table. Waits if others have all of them.
    ///
    /// # Errors
    /// `busy`: no other statement has ended in time.
    pub(super) async fn admit(&self, is_sort: bool) -> Result<Admission, QueryError> {
        let sort = match is_sort {
            true => Some(self.sorts.take().await?),
            false => None,
        };
        let process = self.processes.take().await?;
        let is_last = self.processes.num_taken() == self.processes.num_slots();
        Ok(Admission {
            process,
            is_last,
            sort,
            turn: self.turns.take().await?,
        })
    }

    /// A process for one statement, and its share.
    ///
    /// # Errors
    /// `engine_died`: the process cannot be started.
    pub(super) fn lease(self: &Arc<Self>, admission: Admission) -> Result<EngineLease, QueryError> {
        let process = self.take().map_err(|error| {
            QueryError::new(
                ErrorKind::EngineDied,
                format!("the process of the statement cannot be started: {error}"),
                "try again in a second",
            )
        })?;
        let Admission {
            process: slot,
            is_last,
            sort,
            turn,
        } = admission;
        let share = Arc::new(Share::of(Arc::clone(self), slot, sort));
        Ok(EngineLease {
            process,
            turn: Some(turn),
            turn_began: Instant::now(),
            worked: Duration::ZERO,
            is_last,
            share,
        })
    }

    fn reserve(&self) -> Reserve {
        let num_processes = self.processes.num_slots() as u64;
        Reserve {
            memory_bytes: self.config.memory_bytes / RESERVED_FRACTION / num_processes,
            spill_bytes: self.config.spill_bytes / RESERVED_SPILL_FRACTION / num_processes,
        }
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
        let spawned = thread::Builder::new().spawn(move || {
            let pool = pool.upgrade()?;
            let started = pool.start_process();
            pool.is_refilling.store(false, Ordering::SeqCst);
            pool.give_back(started.ok()?);
            Some(())
        });
        // Without a process that waits, the next statement starts one.
        if spawned.is_err() {
            self.is_refilling.store(false, Ordering::SeqCst);
        }
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
    /// Held while the process may work.
    turn: Option<Slot>,
    turn_began: Instant,
    /// The time of its turns before this one.
    worked: Duration,
    /// Whether it took the last process.
    is_last: bool,
    /// What the statement may use.
    pub(super) share: Arc<Share>,
}

impl EngineLease {
    /// Lets the process work, in turns with those of other statements, for `limit` at most in all its turns. Never
    /// returns without an error. If the future is dropped, the process may be stopped; the next call goes on.
    ///
    /// # Errors
    /// `busy`: the statement has had the last process for long, and others wait for one; `too_complex`: it has worked
    /// for longer than the limit.
    pub(super) async fn take_turns(&mut self, limit: Option<Duration>) -> QueryError {
        let EnginePool {
            processes, turns, ..
        } = &*Arc::clone(&self.share.pool);
        loop {
            let is_last = self.is_last;
            let others_wait = async {
                match is_last {
                    true => drop(processes.wanted().await),
                    false => std::future::pending().await,
                }
                too_many_take_long(processes.num_slots() - 1)
            };
            tokio::pin!(others_wait);
            if self.turn.is_none() {
                self.turn = Some(tokio::select! {
                    biased;
                    busy = &mut others_wait => return busy,
                    turn = turns.take_again() => turn,
                });
                self.turn_began = Instant::now();
                self.process.go_on();
            }
            let beyond_limit = async {
                match limit {
                    Some(limit) => {
                        let left = limit.saturating_sub(self.worked);
                        tokio::time::sleep_until(self.turn_began + left).await;
                        cannot_be_planned(limit)
                    }
                    None => std::future::pending().await,
                }
            };
            let slice = tokio::time::sleep_until(self.turn_began + SLICE);
            let wanted = async {
                slice.await;
                tokio::select! {
                    biased;
                    busy = &mut others_wait => Err(busy),
                    promise = turns.wanted() => Ok(promise),
                }
            };
            let promise = tokio::select! {
                error = beyond_limit => return error,
                wanted = wanted => match wanted {
                    Ok(promise) => promise,
                    Err(busy) => return busy,
                },
            };
            self.process.stop();
            self.worked += self.turn_began.elapsed();
            self.turn = None;
            drop(promise);
        }
    }

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
        // Its last message may have come while it was stopped.
        self.process.go_on();
        self.share.pool.give_back(self.process);
    }
}

/// What one statement may use. Dropping it gives everything back.
#[derive(Debug)]
pub(super) struct Share {
    pool: Arc<EnginePool>,
    /// Memory besides the reserve.
    extra: Mutex<Grant>,
    /// Disk besides the reserve.
    extra_spill_bytes: u64,
    _slot: Slot,
    sort_slot: Option<Slot>,
}

impl Share {
    /// The least memory and disk, and half of the disk that no statement has.
    fn of(pool: Arc<EnginePool>, slot: Slot, sort_slot: Option<Slot>) -> Self {
        let mut spare = lock(&pool.spare);
        let extra_bytes = match sort_slot {
            // Also if the server holds it: without it, a sort may fail.
            Some(_) => growth_bytes(spare.memory_bytes, 0, REQUIRED_RATIO).min(pool.sort_bytes),
            None => 0,
        };
        let extra_spill_bytes = spare.spill_bytes / 2;
        spare.memory_bytes -= extra_bytes;
        spare.spill_bytes -= extra_spill_bytes;
        drop(spare);
        Self {
            pool,
            extra: Mutex::new(Grant::of(extra_bytes)),
            extra_spill_bytes,
            _slot: slot,
            sort_slot,
        }
    }

    /// The kinds of slots of which the statement holds one each.
    pub(super) fn slots(&self) -> Vec<Slots> {
        let EnginePool {
            processes,
            turns,
            sorts,
            ..
        } = &*self.pool;
        let sorts = self.sort_slot.as_ref().map(|_| sorts.clone());
        let slots = [processes.clone(), turns.clone()];
        slots.into_iter().chain(sorts).collect()
    }

    /// The longest time that the planning of the statement may take.
    pub(super) fn planning_timeout(&self) -> Duration {
        self.pool.config.planning_timeout
    }

    /// Memory that the statement may take now.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.reserve().memory_bytes + lock(&self.extra).bytes()
    }

    /// Memory that the statement is planned for: a sort with what it has in any case, another statement with what it
    /// can get if no other one takes more.
    pub(super) fn expected_bytes(&self) -> u64 {
        if self.sort_slot.is_some() {
            return self.memory_bytes();
        }
        self.memory_bytes() + growth_bytes(lock(&self.pool.spare).free_bytes(), 0, REQUIRED_RATIO)
    }

    /// Disk that the statement may take.
    pub(super) fn spill_bytes(&self) -> u64 {
        self.reserve().spill_bytes + self.extra_spill_bytes
    }

    /// Lets the statement take `wanted_bytes` more memory, or nothing more if that leaves too little for
    /// others. If the memory is not required, more has to be left. Returns how much more it may take.
    pub(super) fn grow(&self, wanted_bytes: u64, is_required: bool) -> u64 {
        let ratio = if is_required {
            REQUIRED_RATIO
        } else {
            USEFUL_RATIO
        };
        let mut extra = lock(&self.extra);
        let mut spare = lock(&self.pool.spare);
        let free_bytes = growth_bytes(spare.free_bytes(), extra.bytes(), ratio);
        if wanted_bytes > free_bytes {
            return 0;
        }
        let granted_bytes = wanted_bytes.max(GRANT_BYTES.min(free_bytes));
        spare.memory_bytes -= granted_bytes;
        extra.grow(granted_bytes);
        granted_bytes
    }

    fn reserve(&self) -> Reserve {
        self.pool.reserve()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut spare = lock(&self.pool.spare);
        spare.memory_bytes += lock(&self.extra).bytes();
        spare.spill_bytes += self.extra_spill_bytes;
    }
}

fn cannot_be_planned(limit: Duration) -> QueryError {
    QueryError::new(
        ErrorKind::TooComplex,
        format!(
            "the statement cannot be planned within {} seconds",
            limit.as_secs()
        ),
        "write a smaller statement, or several",
    )
}

fn too_many_take_long(num_statements: usize) -> QueryError {
    QueryError::new(
        ErrorKind::Busy,
        format!(
            "{num_statements} statements that take long are in progress, the most at the same time"
        ),
        "try again later, or start the server with a larger --memory",
    )
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
