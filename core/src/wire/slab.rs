//! Memory for the bodies of messages: large slabs that bodies are written into once, one behind the
//! other, and that the next stream gets while they are warm.
//!
//! A slab is reserved at its size but written only as far as bytes have really come, so what a
//! header claims costs address space, within the budget, and no memory. It goes back to its pool
//! when the last array that lies in it is dropped.

use std::alloc::{Layout, alloc, dealloc};
use std::cmp::Reverse;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

use super::{DecodeError, DecodeErrorKind};

/// Arrow's recommendation for buffers.
const ALIGNMENT_BYTES: usize = 64;
/// A slab is as large as all before it together, up to this.
const MAX_SHARED_BYTES: u64 = 32 << 20;
/// The part of a budget that one shared slab may take.
const MIN_SLABS_IN_BUDGET: u64 = 8;
/// A body that would leave more than this part of a shared slab unused gets one of its own.
const MIN_BODIES_IN_SLAB: u64 = 16;
/// How far ahead of the bytes memory is initialised: well inside a processor's cache.
const STEP_BYTES: usize = 256 << 10;
/// What has to be left for small allocations after a slab was made; those cannot be refused.
const HEADROOM_BYTES: usize = 4 << 20;
/// Free memory that a pool keeps, if nothing else is said.
const MAX_FREE_BYTES: usize = 512 << 20;

fn no_memory(num_bytes: usize) -> DecodeError {
    DecodeError::new(
        DecodeErrorKind::MemoryBudgetExceeded,
        format!("no memory for {num_bytes} more bytes"),
    )
}

/// An allocation of a multiple of 64 bytes, initialised from its start to a mark.
#[derive(Debug)]
struct Memory {
    start: NonNull<u8>,
    capacity: usize,
    initialised: AtomicUsize,
}

// SAFETY: the allocation is owned. It is written only by the one `Region` of its slab, behind what
// has been read-only since that part's region was completed.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// `capacity` bytes, which is not zero; `None` where the allocator refuses.
    fn try_new(capacity: usize) -> Option<Self> {
        let layout = Layout::from_size_align(capacity, ALIGNMENT_BYTES).ok()?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        Some(Self {
            start,
            capacity,
            initialised: AtomicUsize::new(0),
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Ok(layout) = Layout::from_size_align(self.capacity, ALIGNMENT_BYTES) {
            // SAFETY: allocated in `try_new` with this layout.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}

/// Whether `num_bytes` could be allocated now, beside what small allocations need.
pub(super) fn has_room(num_bytes: usize) -> bool {
    Memory::try_new(num_bytes.saturating_add(HEADROOM_BYTES)).is_some()
}

/// Slabs that nothing refers to any more. Clones share them; streams that take turns in one process
/// should have the same pool.
#[derive(Debug, Clone)]
pub struct SlabPool {
    free: Arc<Mutex<Vec<Memory>>>,
    max_free_bytes: usize,
}

impl Default for SlabPool {
    fn default() -> Self {
        Self::keeping(MAX_FREE_BYTES)
    }
}

impl SlabPool {
    /// A pool that keeps at most `max_free_bytes` for later, and gives the rest back to the allocator;
    /// with 0 each body has just the memory that it needs.
    #[must_use]
    pub fn keeping(max_free_bytes: usize) -> Self {
        Self {
            free: Arc::default(),
            max_free_bytes,
        }
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<Memory>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of memory that wait for the next stream.
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.free().iter().map(|memory| memory.capacity).sum()
    }

    /// The smallest free memory of `least` to `most` bytes; of equal ones that which was written
    /// furthest: the first touch of a page costs more than writing it.
    fn take(&self, least: usize, most: u64) -> Option<Memory> {
        let mut free = self.free();
        let fitting = free
            .iter()
            .enumerate()
            .filter(|(_, memory)| memory.capacity >= least && memory.capacity as u64 <= most);
        let (index, _) = fitting.min_by_key(|(_, memory)| {
            let initialised = memory.initialised.load(Ordering::Relaxed);
            (memory.capacity, Reverse(initialised))
        })?;
        Some(free.swap_remove(index))
    }

    fn give_back(&self, memory: Memory) {
        let mut free = self.free();
        let kept: usize = free.iter().map(|memory| memory.capacity).sum();
        if kept.saturating_add(memory.capacity) <= self.max_free_bytes {
            free.push(memory);
        }
    }

    /// New memory of `wanted` bytes, or at least of `least`, rounded up.
    fn allocate(&self, wanted: usize, least: usize) -> Result<Memory, DecodeError> {
        let attempt = |len| Memory::try_new(round_up(len)).filter(|_| has_room(0));
        attempt(wanted)
            .or_else(|| {
                // What lies here unused may be what is missing.
                self.free().clear();
                attempt(least)
            })
            .ok_or_else(|| no_memory(least))
    }
}

/// Memory that bodies are written into one behind the other.
#[derive(Debug)]
struct Slab {
    /// Taken only by `drop`.
    memory: Option<Memory>,
    /// End of the last completed body, rounded up.
    end: AtomicUsize,
    /// A `Region` is being written behind `end`.
    has_region: AtomicBool,
    pool: SlabPool,
    /// Bytes of the slabs of one stream.
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

    /// The next `len` bytes, unless there are fewer or they are being written already.
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

/// The slabs of one stream.
#[derive(Debug)]
pub(crate) struct Arena {
    pool: SlabPool,
    /// Where the next body goes, if it fits.
    open: Option<Arc<Slab>>,
    held_bytes: Arc<AtomicU64>,
    budget_bytes: u64,
}

impl Arena {
    /// An arena that holds at most `budget_bytes`, from `pool` where it has them.
    pub(crate) fn new(pool: SlabPool, budget_bytes: u64) -> Self {
        Self {
            pool,
            open: None,
            held_bytes: Arc::default(),
            budget_bytes,
        }
    }

    /// The most bytes from now on.
    #[cfg(feature = "decode")]
    pub(crate) fn set_budget_bytes(&mut self, budget_bytes: u64) {
        self.budget_bytes = budget_bytes;
    }

    /// Lets go of all memory that nothing refers to, that of the pool as well.
    #[cfg(feature = "decode")]
    pub(crate) fn release(&mut self) {
        self.open = None;
        self.pool.free().clear();
    }

    fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// What the open slab has left: all of it, where nothing refers to what was written there.
    fn open_bytes(&self) -> u64 {
        let Some(open) = &self.open else {
            return 0;
        };
        // Only an arena makes regions, and this one has made none that is left.
        if Arc::strong_count(open) == 1 {
            fence(Ordering::Acquire);
            open.end.store(0, Ordering::Release);
        }
        open.left_bytes() as u64
    }

    /// Bytes of slabs that something refers to; of the open one as far as it is taken.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.held_bytes().saturating_sub(self.open_bytes())
    }

    /// Refuses a message of `num_bytes` that the budget does not have left.
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

    /// Room for a body of `num_bytes`, to be written once.
    ///
    /// # Errors
    /// `MemoryBudgetExceeded` where the allocator has no more.
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
        let memory = match self.pool.take(len, left_bytes) {
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

    /// Room for bytes that are dropped soon: in a slab of its own, which goes back to the pool then.
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

fn round_up(len: usize) -> usize {
    len.next_multiple_of(ALIGNMENT_BYTES)
}

/// Bytes of a slab that are being written, front to back. Only once it is completed does the slab
/// go on behind it; dropped before, it leaves its room to the next one.
#[derive(Debug)]
pub(crate) struct Region {
    /// `None` where there are no bytes.
    slab: Option<Arc<Slab>>,
    start: usize,
    len: usize,
    filled: usize,
}

impl Region {
    /// No bytes.
    pub(crate) fn empty() -> Self {
        Self {
            slab: None,
            start: 0,
            len: 0,
            filled: 0,
        }
    }

    /// Where the next bytes go; empty only once all are there. Stays the same until `advance`.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        let Some(memory) = self.slab.as_ref().and_then(|slab| slab.memory.as_ref()) else {
            return &mut [];
        };
        let (next, end) = (self.start + self.filled, self.start + self.len);
        let mut initialised = memory.initialised.load(Ordering::Acquire);
        if initialised <= next && next < end {
            let until = end.min(next + STEP_BYTES);
            // SAFETY: `initialised..until` lies in the allocation, and from `initialised` on nobody
            // else reads or writes it: completed bodies end before, and a slab has one region.
            unsafe {
                memory
                    .start
                    .add(initialised)
                    .write_bytes(0, until - initialised);
            }
            initialised = until;
            memory.initialised.store(initialised, Ordering::Release);
        }
        // SAFETY: `next..end` lies in the allocation, is initialised as far as it is returned, and
        // belongs to this region alone.
        unsafe {
            std::slice::from_raw_parts_mut(
                memory.start.add(next).as_ptr(),
                end.min(initialised) - next,
            )
        }
    }

    /// Takes the first `num_bytes` of [`space`](Self::space), which have been written.
    pub(crate) fn advance(&mut self, num_bytes: usize) {
        self.filled += num_bytes.min(self.space().len());
    }

    /// Copies `bytes` in, as far as there is room.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_complete() {
            let space = self.space();
            let taken = space.len().min(bytes.len());
            space[..taken].copy_from_slice(&bytes[..taken]);
            self.advance(taken);
            bytes = &bytes[taken..];
        }
    }

    /// Bytes written so far.
    pub(crate) fn filled(&self) -> usize {
        self.filled
    }

    /// All bytes have been written.
    pub(crate) fn is_complete(&self) -> bool {
        self.filled == self.len
    }

    /// The bytes written so far, read-only from now on.
    pub(crate) fn complete(mut self) -> AlignedBody {
        let len = self.filled;
        match self.slab.take().filter(|_| len > 0) {
            None => AlignedBody {
                slab: None,
                start: NonNull::dangling(),
                len: 0,
            },
            Some(slab) => {
                // SAFETY: `start` lies in the allocation.
                let start = slab
                    .memory
                    .as_ref()
                    .map(|memory| unsafe { memory.start.add(self.start) });
                slab.end
                    .store(round_up(self.start + len), Ordering::Release);
                slab.has_region.store(false, Ordering::Release);
                AlignedBody {
                    start: start.unwrap_or(NonNull::dangling()),
                    len,
                    slab: Some(slab),
                }
            }
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(slab) = &self.slab {
            slab.has_region.store(false, Ordering::Release);
        }
    }
}

/// The body of a message, at an address that is a multiple of 64.
#[derive(Debug)]
pub struct AlignedBody {
    /// What the bytes lie in; `None` where there are none.
    slab: Option<Arc<Slab>>,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the bytes are only read, and the slab keeps them.
unsafe impl Send for AlignedBody {}
// SAFETY: as above.
unsafe impl Sync for AlignedBody {}

impl AlignedBody {
    #[cfg(feature = "decode")]
    pub(crate) fn into_buffer(self) -> arrow_buffer::Buffer {
        match self.slab {
            None => arrow_buffer::Buffer::from_vec(Vec::<u8>::new()),
            // SAFETY: `start` and `len` describe bytes of the slab, which the buffer keeps.
            Some(slab) => unsafe {
                arrow_buffer::Buffer::from_custom_allocation(self.start, self.len, slab)
            },
        }
    }
}

impl Deref for AlignedBody {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` is valid for `len` initialised bytes (dangling only where `len` is 0),
        // which nobody writes any more.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}
