use std::alloc::{Layout, alloc, dealloc};
use std::cmp::Reverse;
use std::hint::black_box;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::wire::{DecodeError, DecodeErrorKind};

/// Arrow's recommendation for buffers.
pub(super) const ALIGNMENT_BYTES: usize = 64;
/// What has to be left for small allocations after a slab was made. Small allocations cannot be
/// refused.
const HEADROOM_BYTES: usize = 4 << 20;
/// The default maximum of free memory in a pool.
const MAX_FREE_BYTES: usize = 512 << 20;

pub(super) fn no_memory(num_bytes: usize) -> DecodeError {
    DecodeError::new(
        DecodeErrorKind::MemoryBudgetExceeded,
        format!("no memory for {num_bytes} more bytes"),
    )
}

/// An allocation of a multiple of 64 bytes. It is initialised from its start up to a mark.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) start: NonNull<u8>,
    pub(super) capacity: usize,
    pub(super) initialised: AtomicUsize,
}

// SAFETY: the allocation is owned. Only the one `Region` of its slab writes to it, after the completed
// bodies, which are read-only.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates `capacity` bytes, which must not be zero; `None` if the allocator refuses.
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

/// Whether `num_bytes` could be allocated now, in addition to the reserve for small allocations. With an
/// address space of 64 bits they always can: the system grants memory that it does not have.
pub(in crate::wire) fn has_room(num_bytes: usize) -> bool {
    if cfg!(target_pointer_width = "64") {
        return true;
    }
    let probe = Memory::try_new(num_bytes.saturating_add(HEADROOM_BYTES));
    // LLVM removes an allocation that nothing reads.
    black_box(&probe).is_some()
}

/// Slabs that nothing refers to any more. Clones share them. Streams that follow one another in a
/// process should use the same pool.
#[derive(Debug, Clone)]
pub struct SlabPool {
    free: Arc<Mutex<Vec<Memory>>>,
    pub(super) max_free_bytes: usize,
}

impl Default for SlabPool {
    fn default() -> Self {
        Self::keeping(MAX_FREE_BYTES)
    }
}

impl SlabPool {
    /// A pool that keeps at most `max_free_bytes` for reuse and returns the rest to the allocator. With
    /// 0, each body gets exactly the memory that it needs.
    #[must_use]
    pub fn keeping(max_free_bytes: usize) -> Self {
        Self {
            free: Arc::default(),
            max_free_bytes,
        }
    }

    pub(super) fn free(&self) -> std::sync::MutexGuard<'_, Vec<Memory>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of memory that are free for the next stream.
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.free().iter().map(|memory| memory.capacity).sum()
    }

    /// The smallest free memory of `least` to `most` bytes. Of equal sizes, it is the one with the most
    /// initialised bytes, because the first touch of a page costs more than writing it.
    pub(super) fn take(&self, least: usize, most: u64) -> Option<Memory> {
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

    pub(super) fn give_back(&self, memory: Memory) {
        let mut free = self.free();
        let kept: usize = free.iter().map(|memory| memory.capacity).sum();
        if kept.saturating_add(memory.capacity) <= self.max_free_bytes {
            free.push(memory);
        }
    }

    /// New memory of `wanted` bytes, or else of at least `least`, rounded up.
    pub(super) fn allocate(&self, wanted: usize, least: usize) -> Result<Memory, DecodeError> {
        let attempt = |len| Memory::try_new(round_up(len)).filter(|_| has_room(0));
        attempt(wanted)
            .or_else(|| {
                // The unused memory here may be what the allocator lacks.
                self.free().clear();
                attempt(least)
            })
            .ok_or_else(|| no_memory(least))
    }
}

pub(super) fn round_up(len: usize) -> usize {
    len.next_multiple_of(ALIGNMENT_BYTES)
}
