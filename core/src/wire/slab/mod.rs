//! Memory for the bodies of messages. Bodies are written once, one after the other, into large slabs.
//! The next stream reuses a slab, which is faster because its pages have been touched.
//!
//! A slab is reserved at full size, but written only as far as bytes have arrived. So the lengths that
//! headers claim cost address space, within the budget, but no memory. A slab returns to its pool when
//! the last array in it is dropped.

mod pool;
mod region;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

use super::{DecodeError, DecodeErrorKind};
pub use pool::SlabPool;
pub(super) use pool::has_room;
use pool::{ALIGNMENT_BYTES, Memory, no_memory};
pub use region::AlignedBody;
pub(crate) use region::Region;

/// A new slab is as large as all slabs before it together, up to this size.
const MAX_SHARED_BYTES: u64 = 32 << 20;
/// A shared slab takes at most this fraction of the budget: 1/8.
const MIN_SLABS_IN_BUDGET: u64 = 8;
/// A body that takes more than this fraction of a shared slab, 1/16, gets a slab of its own.
const MIN_BODIES_IN_SLAB: u64 = 16;

/// Memory into which bodies are written one after the other.
#[derive(Debug)]
struct Slab {
    /// `None` only while the slab is being dropped.
    memory: Option<Memory>,
    /// The end of the last complete body, rounded up.
    end: AtomicUsize,
    /// Whether a `Region` is being written after `end`.
    has_region: AtomicBool,
    pool: SlabPool,
    /// Bytes of all slabs of one stream.
    held_bytes: Arc<AtomicU64>,
}

impl Slab {
    fn new(memory: Memory, pool: &SlabPool, held_bytes: &Arc<AtomicU64>) -> Arc<Self> {
        held_bytes.fetch_add(memory.capacity as u64, Ordering::Relaxed);
        Arc::new(Self {
            memory: Some(memory),
            end: AtomicUsize::new(0),
            has_region: AtomicBool::new(false),
            pool: pool.clone(),
            held_bytes: Arc::clone(held_bytes),
        })
    }

    fn left_bytes(&self) -> usize {
        let capacity = self.memory.as_ref().map_or(0, |memory| memory.capacity);
        capacity - self.end.load(Ordering::Acquire)
    }

    /// The next `len` bytes; `None` if fewer are left or they are already being written.
    fn region(self: &Arc<Self>, len: usize) -> Option<Region> {
        if len > self.left_bytes() || self.has_region.swap(true, Ordering::AcqRel) {
            return None;
        }
        Some(Region {
            slab: Some(Arc::clone(self)),
            start: self.end.load(Ordering::Acquire),
            len,
            filled: 0,
        })
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.held_bytes
                .fetch_sub(memory.capacity as u64, Ordering::Relaxed);
            self.pool.give_back(memory);
        }
    }
}

/// Bytes outside of slabs that count as memory of the stream, until this is dropped.
#[cfg(feature = "decode")]
#[derive(Debug)]
pub(crate) struct Reservation {
    num_bytes: u64,
    held_bytes: Arc<AtomicU64>,
}

#[cfg(feature = "decode")]
impl Drop for Reservation {
    fn drop(&mut self) {
        self.held_bytes.fetch_sub(self.num_bytes, Ordering::Relaxed);
    }
}

/// The slabs of one stream.
#[derive(Debug)]
pub(crate) struct Arena {
    pool: SlabPool,
    /// The slab for the next body, if it fits.
    open: Option<Arc<Slab>>,
    held_bytes: Arc<AtomicU64>,
    budget_bytes: u64,
}

impl Arena {
    /// An arena that holds at most `budget_bytes`. It takes memory from `pool` if the pool has some.
    pub(crate) fn new(pool: SlabPool, budget_bytes: u64) -> Self {
        Self {
            pool,
            open: None,
            held_bytes: Arc::default(),
            budget_bytes,
        }
    }

    /// Sets the maximum number of bytes.
    #[cfg(feature = "decode")]
    pub(crate) fn set_budget_bytes(&mut self, budget_bytes: u64) {
        self.budget_bytes = budget_bytes;
    }

    /// Releases all memory that nothing refers to, including that of the pool.
    #[cfg(feature = "decode")]
    pub(crate) fn release(&mut self) {
        self.open = None;
        self.pool.free().clear();
    }

    fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// The bytes left in the open slab. If nothing refers to its bodies, that is the whole slab.
    fn open_bytes(&self) -> u64 {
        let Some(open) = &self.open else {
            return 0;
        };
        // Regions are only made by an arena, and no region of this one exists any more.
        if Arc::strong_count(open) == 1 {
            fence(Ordering::Acquire);
            open.end.store(0, Ordering::Release);
        }
        open.left_bytes() as u64
    }

    /// Bytes of slabs that something refers to. The open slab counts up to the end of its bodies.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.held_bytes().saturating_sub(self.open_bytes())
    }

    /// Refuses a message of `num_bytes` bytes if the budget has less left.
    ///
    /// # Errors
    /// `MemoryBudgetExceeded`.
    pub(crate) fn check_budget(&self, num_bytes: u64) -> Result<(), DecodeError> {
        let left_bytes = self.budget_bytes.saturating_sub(self.used_bytes());
        if num_bytes <= left_bytes {
            return Ok(());
        }
        Err(DecodeError::new(
            DecodeErrorKind::MemoryBudgetExceeded,
            format!(
                "the next message holds {num_bytes} bytes, but the memory budget has {left_bytes} left"
            ),
        ))
    }

    /// Counts `num_bytes` that are allocated later, outside of the slabs.
    #[cfg(feature = "decode")]
    pub(crate) fn count(&self, num_bytes: u64) -> Reservation {
        self.held_bytes.fetch_add(num_bytes, Ordering::Relaxed);
        Reservation {
            num_bytes,
            held_bytes: Arc::clone(&self.held_bytes),
        }
    }

    /// Reserves memory for a body of `num_bytes` bytes, to be written once.
    ///
    /// # Errors
    /// `MemoryBudgetExceeded` if the allocator refuses.
    pub(crate) fn reserve(&mut self, num_bytes: u64) -> Result<Region, DecodeError> {
        let len = machine_size(num_bytes)?;
        if len == 0 {
            return Ok(Region::empty());
        }
        if self.open_bytes() >= num_bytes
            && let Some(region) = self.open.as_ref().and_then(|open| open.region(len))
        {
            return Ok(region);
        }
        let held_bytes = self.held_bytes();
        let left_bytes = self.budget_bytes.saturating_sub(held_bytes);
        let shared_bytes = held_bytes
            .min(MAX_SHARED_BYTES)
            .min(self.budget_bytes / MIN_SLABS_IN_BUDGET)
            .min(self.pool.max_free_bytes as u64)
            .min(left_bytes);
        let wanted = if shared_bytes / MIN_BODIES_IN_SLAB >= len as u64 {
            shared_bytes as usize
        } else {
            len
        };
        // With a small budget, a few rows could otherwise keep a large reused slab alive.
        let most = left_bytes.min((self.budget_bytes / MIN_SLABS_IN_BUDGET).max(wanted as u64));
        let memory = match self.pool.take(len, most) {
            Some(memory) => memory,
            None => self.pool.allocate(wanted, len)?,
        };
        let slab = Slab::new(memory, &self.pool, &self.held_bytes);
        let region = slab.region(len);
        if (slab.left_bytes() - len) as u64 > self.open_bytes() {
            self.open = Some(slab);
        }
        region.ok_or_else(|| no_memory(len))
    }

    /// Reserves a slab for bytes that are dropped soon. The slab then returns to the pool.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub(crate) fn reserve_alone(&mut self, num_bytes: u64) -> Result<Region, DecodeError> {
        let len = machine_size(num_bytes)?;
        if len == 0 {
            return Ok(Region::empty());
        }
        let memory = match self.pool.take(len, u64::MAX) {
            Some(memory) => memory,
            None => self.pool.allocate(len.next_power_of_two(), len)?,
        };
        Slab::new(memory, &self.pool, &self.held_bytes)
            .region(len)
            .ok_or_else(|| no_memory(len))
    }
}

fn machine_size(num_bytes: u64) -> Result<usize, DecodeError> {
    usize::try_from(num_bytes)
        .ok()
        .filter(|len| *len <= isize::MAX as usize - ALIGNMENT_BYTES)
        .ok_or_else(|| {
            DecodeError::new(
                DecodeErrorKind::MemoryBudgetExceeded,
                format!("{num_bytes} bytes are more than this machine can address"),
            )
        })
}
