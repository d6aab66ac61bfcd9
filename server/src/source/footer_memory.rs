//! The memory of the footers of Parquet files.
//!
//! A footer is needed as a whole, so no part of it can wait on disk, and it has its memory whatever the ledger says. One
//! may take half of the memory that no other has: if a query reads a large one for hours, those of other files still
//! have room.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use datafusion::parquet::errors::{ParquetError, Result};
use datafusion::parquet::file::metadata::ParquetMetaData;
use futures::executor::block_on;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::unconstrained;

use crate::byte_pool::{BytePool, BytesLease};
use crate::error::{ErrorKind, QueryError};

/// All footers have the server's memory divided by this.
const DIVISOR: u64 = 4;

/// The most that is kept for the next query.
const MAX_KEPT_BYTES: u64 = 256 << 20;
/// A footer of few columns takes this much or more.
const LEAST_BYTES: u64 = 4 << 10;

/// The unit in which files that are loaded take turns.
const TURN_UNIT_BYTES: u64 = 1 << 10;

static LIMIT_BYTES: OnceLock<u64> = OnceLock::new();

static MEMORY: LazyLock<FooterMemory> =
    LazyLock::new(|| FooterMemory::new(LIMIT_BYTES.get().copied().unwrap_or(u64::MAX)));

/// Bounds the memory of all footers, for a process that may take so much memory. Call it before the first table is
/// loaded. Without it, there is no bound.
pub fn limit_footers(memory_bytes: u64) {
    let _ = LIMIT_BYTES.set(memory_bytes / DIVISOR);
}

/// The memory of the footers of a process.
struct FooterMemory {
    pool: Arc<BytePool>,
    kept: Cache<u64, Arc<ParquetMetaData>, MemorySize>,
    /// The memory of footers that are in use or kept.
    leases: Mutex<Vec<(Weak<ParquetMetaData>, BytesLease)>>,
    /// Of files that are loaded.
    turns: Arc<Semaphore>,
}

/// Why a footer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Its file is loaded. Such footers wait for each other, because the time at which a file is loaded must not decide
    /// whether it is in its table.
    Load,
    /// A query needs it.
    Query,
}

impl FooterMemory {
    fn new(limit_bytes: u64) -> Self {
        let max_kept_bytes = MAX_KEPT_BYTES.min(limit_bytes / 2);
        let kept = OptionsBuilder::new()
            .estimated_items_capacity((max_kept_bytes / LEAST_BYTES) as usize)
            .weight_capacity(max_kept_bytes)
            // A footer is not kept if it is larger than a shard.
            .shards(1)
            .build()
            .expect("the capacities are set");
        let hashes = DefaultHashBuilder::default();
        let num_units = limit_bytes / 2 / TURN_UNIT_BYTES;
        let num_units = usize::try_from(num_units).unwrap_or(usize::MAX);
        Self {
            pool: BytePool::new(limit_bytes),
            kept: Cache::with_options(kept, MemorySize, hashes, DefaultLifecycle::default()),
            leases: Mutex::default(),
            turns: Arc::new(Semaphore::new(num_units.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// The most that one footer may have now.
    fn max_bytes(&self, purpose: Purpose) -> u64 {
        let used_bytes = match purpose {
            Purpose::Load => 0,
            Purpose::Query => self.pool.used_bytes(),
        };
        self.pool.limit_bytes().saturating_sub(used_bytes) / 2
    }

    /// Gives up what nobody uses if it is not enough.
    fn has_room(&self, bytes: u64, purpose: Purpose) -> bool {
        if bytes > self.max_bytes(purpose) {
            self.forget_unused();
        }
        bytes <= self.max_bytes(purpose)
    }

    /// The turn of a file that is loaded. Blocks while others need so much.
    fn turn(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let bytes = bytes.min(self.max_bytes(Purpose::Load));
        let num_units = u32::try_from(bytes / TURN_UNIT_BYTES).unwrap_or(u32::MAX);
        let turn = Arc::clone(&self.turns).acquire_many_owned(num_units);
        // The caller may be in a task that is due to yield, which a call that blocks cannot do.
        block_on(unconstrained(turn)).ok()
    }

    /// Gives up the footers that are only kept. Those that are being read stay, for who waits for them.
    fn forget_unused(&self) {
        self.kept.retain(|_, _| false);
        self.leases().retain(is_alive);
    }

    fn leases(&self) -> MutexGuard<'_, Vec<(Weak<ParquetMetaData>, BytesLease)>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_alive((footer, _): &(Weak<ParquetMetaData>, BytesLease)) -> bool {
    footer.strong_count() > 0
}

/// The memory of a footer that is being read.
pub(super) struct FooterBudget {
    purpose: Purpose,
    lease: Mutex<Option<BytesLease>>,
    _turn: Option<OwnedSemaphorePermit>,
}

impl FooterBudget {
    /// For a footer of about so many bytes. If its file is loaded, it waits for others; this blocks.
    pub(super) fn new(purpose: Purpose, bytes: u64) -> Self {
        let turn = (purpose == Purpose::Load).then(|| MEMORY.turn(bytes));
        Self {
            purpose,
            lease: Mutex::default(),
            _turn: turn.flatten(),
        }
    }

    /// Takes so much instead of what it had, for what `name` says.
    ///
    /// # Errors
    /// There is not so much.
    pub(super) fn take(&self, bytes: u64, name: &str) -> Result<()> {
        let mut lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        *lease = None;
        let has_room = MEMORY.has_room(bytes, self.purpose);
        if has_room && self.purpose == Purpose::Query {
            *lease = MEMORY.pool.lease(bytes);
        }
        // Another query may have taken the room meanwhile.
        if lease.is_some() || has_room && self.purpose == Purpose::Load {
            return Ok(());
        }
        let error = too_large(bytes, MEMORY.max_bytes(self.purpose), name);
        Err(ParquetError::External(Box::new(error)))
    }

    /// The footer, which has its memory as long as somebody has it.
    pub(super) fn share(self, footer: ParquetMetaData) -> Arc<ParquetMetaData> {
        let footer = Arc::new(footer);
        let lease = self
            .lease
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(lease) = lease {
            let mut leases = MEMORY.leases();
            if leases.len() == leases.capacity() {
                leases.retain(is_alive);
            }
            leases.push((Arc::downgrade(&footer), lease));
        }
        footer
    }
}

fn too_large(bytes: u64, max_bytes: u64, name: &str) -> QueryError {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    QueryError::new(
        ErrorKind::OutOfMemory,
        format!(
            "{name} needs {} MiB of memory, and at most {} MiB are free for it",
            mib(bytes),
            max_bytes >> 20
        ),
        "write the file with larger row groups, or start the server with a larger --memory",
    )
}

#[derive(Clone)]
struct MemorySize;

impl Weighter<u64, Arc<ParquetMetaData>> for MemorySize {
    fn weight(&self, _: &u64, footer: &Arc<ParquetMetaData>) -> u64 {
        footer.memory_size() as u64
    }
}

/// The footer of a file. It is kept until the memory is needed for others, and at most as long as this lives. Those who
/// have it at the same time share it, even if it is too large to be kept.
#[derive(Debug)]
pub(super) struct KeptFooter {
    key: u64,
    shared: Mutex<Weak<ParquetMetaData>>,
}

impl Default for KeptFooter {
    fn default() -> Self {
        static NEXT_KEY: AtomicU64 = AtomicU64::new(0);
        Self {
            key: NEXT_KEY.fetch_add(1, Ordering::Relaxed),
            shared: Mutex::default(),
        }
    }
}

impl Drop for KeptFooter {
    fn drop(&mut self) {
        MEMORY.kept.remove(&self.key);
    }
}

impl KeptFooter {
    /// The footer, if it is kept or in use.
    pub(super) fn get(&self) -> Option<Arc<ParquetMetaData>> {
        MEMORY
            .kept
            .get(&self.key)
            .or_else(|| self.shared().upgrade())
    }

    /// The footer, which `read` reads if it is neither kept nor in use. Others who need it wait meanwhile.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn get_or_read(
        &self,
        read: impl FnOnce() -> Result<Arc<ParquetMetaData>>,
    ) -> Result<Arc<ParquetMetaData>> {
        MEMORY.kept.get_or_insert_with(&self.key, || {
            let in_use = self.shared().upgrade();
            in_use.map_or_else(
                || {
                    let footer = read()?;
                    *self.shared() = Arc::downgrade(&footer);
                    Ok(footer)
                },
                Ok,
            )
        })
    }

    fn shared(&self) -> MutexGuard<'_, Weak<ParquetMetaData>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::parquet::file::metadata::{
        ColumnChunkMetaData, FileMetaData, ParquetMetaData, RowGroupMetaData,
    };
    use datafusion::parquet::schema::parser::parse_message_type;
    use datafusion::parquet::schema::types::{SchemaDescPtr, SchemaDescriptor};

    use super::{FooterMemory, KeptFooter, MAX_KEPT_BYTES, MEMORY, Purpose};

    fn footer(num_columns: usize, num_groups: usize) -> Arc<ParquetMetaData> {
        let columns = (0..num_columns).map(|column| format!("required int64 c{column};"));
        let columns: String = columns.collect();
        let schema = parse_message_type(&format!("message m {{ {columns} }}")).unwrap();
        let schema: SchemaDescPtr = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
        let file = FileMetaData::new(2, 0, None, None, Arc::clone(&schema), None);
        let group = || {
            let columns = schema.columns().iter().cloned();
            let chunk = |column| ColumnChunkMetaData::builder(column).build().unwrap();
            RowGroupMetaData::builder(Arc::clone(&schema))
                .set_column_metadata(columns.map(chunk).collect())
                .build()
                .unwrap()
        };
        Arc::new(ParquetMetaData::new(
            file,
            (0..num_groups).map(|_| group()).collect(),
        ))
    }

    #[test]
    fn a_large_footer_is_kept() {
        let kept = KeptFooter::default();
        let read = kept.get_or_read(|| Ok(footer(1000, 100))).unwrap();
        assert!(read.memory_size() as u64 > MAX_KEPT_BYTES / 8);
        drop(read);
        assert!(kept.get().is_some());
    }

    #[test]
    fn a_footer_is_shared_while_it_is_in_use() {
        let kept = KeptFooter::default();
        let first = kept.get_or_read(|| Ok(footer(1, 1))).unwrap();
        // As if it were too large to be kept.
        MEMORY.kept.remove(&kept.key);
        let second = kept.get_or_read(|| unreachable!()).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        drop((first, second));
        MEMORY.kept.remove(&kept.key);
        assert!(kept.get().is_none());
    }

    #[test]
    fn a_footer_may_take_half_of_what_no_other_has() {
        let memory = FooterMemory::new(1 << 20);
        assert!(memory.has_room(512 << 10, Purpose::Query));
        assert!(!memory.has_room((512 << 10) + 1, Purpose::Query));
        let _other = memory.pool.lease(512 << 10);
        assert!(!memory.has_room(512 << 10, Purpose::Query));
        assert!(memory.has_room(256 << 10, Purpose::Query));
        assert!(memory.has_room(512 << 10, Purpose::Load));
    }

    #[test]
    fn the_memory_of_a_footer_is_free_after_its_last_use() {
        let memory = FooterMemory::new(1 << 20);
        let used = footer(1, 1);
        let lease = memory.pool.lease(512 << 10).unwrap();
        memory.leases().push((Arc::downgrade(&used), lease));
        assert!(!memory.has_room(512 << 10, Purpose::Query));
        memory.kept.insert(1, used);
        assert!(memory.has_room(512 << 10, Purpose::Query));
    }
}
