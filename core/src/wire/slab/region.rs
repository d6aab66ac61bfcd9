use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Slab;
use super::pool::round_up;

/// How far memory is initialised ahead of the written bytes; small enough for a processor's cache.
const STEP_BYTES: usize = 256 << 10;

/// Bytes of a slab that are being written, front to back. When the region is complete, the slab
/// continues after it. A region that is dropped earlier leaves its memory to the next one.
#[derive(Debug)]
pub(crate) struct Region {
    /// `None` where there are no bytes.
    pub(super) slab: Option<Arc<Slab>>,
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) filled: usize,
}

impl Region {
    /// A region of no bytes.
    pub(crate) fn empty() -> Self {
        Self {
            slab: None,
            start: 0,
            len: 0,
            filled: 0,
        }
    }

    /// The buffer for the next bytes; empty only if all bytes are written. It does not change until
    /// `advance`.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        let Some(memory) = self.slab.as_ref().and_then(|slab| slab.memory.as_ref()) else {
            return &mut [];
        };
        let (next, end) = (self.start + self.filled, self.start + self.len);
        let mut initialised = memory.initialised.load(Ordering::Acquire);
        if initialised <= next && next < end {
            let until = end.min(next + STEP_BYTES);
            // SAFETY: `initialised..until` lies in the allocation. Nobody else reads or writes it from
            // `initialised` on, because completed bodies end before it and a slab has one region.
            unsafe {
                memory
                    .start
                    .add(initialised)
                    .write_bytes(0, until - initialised);
            }
            initialised = until;
            memory.initialised.store(initialised, Ordering::Release);
        }
        // SAFETY: `next..end` lies in the allocation. The returned part is initialised and belongs to
        // this region alone.
        unsafe {
            std::slice::from_raw_parts_mut(
                memory.start.add(next).as_ptr(),
                end.min(initialised) - next,
            )
        }
    }

    /// Address and length of the memory for the next bytes, which may never have been written.
    #[cfg(feature = "decode")]
    pub(crate) fn unwritten(&mut self) -> (*mut u8, usize) {
        match self.slab.as_ref().and_then(|slab| slab.memory.as_ref()) {
            None => (NonNull::dangling().as_ptr(), 0),
            Some(memory) => {
                let start = memory.start.as_ptr();
                // The region lies in the allocation.
                let next = start.wrapping_add(self.start + self.filled);
                (next, self.len - self.filled)
            }
        }
    }

    /// Counts the first `num_bytes` of [`unwritten`](Self::unwritten) as written.
    ///
    /// # Safety
    /// The caller has written them.
    #[cfg(feature = "decode")]
    pub(crate) unsafe fn assume_written(&mut self, num_bytes: usize) {
        let Some(memory) = self.slab.as_ref().and_then(|slab| slab.memory.as_ref()) else {
            return;
        };
        let next = self.start + self.filled;
        let initialised = memory.initialised.load(Ordering::Acquire);
        // Between two bodies are at most 63 bytes that belong to neither.
        if initialised < next {
            // SAFETY: as in `space`.
            unsafe {
                memory
                    .start
                    .add(initialised)
                    .write_bytes(0, next - initialised);
            }
        }
        let end = next + num_bytes.min(self.len - self.filled);
        memory
            .initialised
            .store(initialised.max(end), Ordering::Release);
    }

    /// Accepts the first `num_bytes` of [`space`](Self::space), which the caller has written.
    pub(crate) fn advance(&mut self, num_bytes: usize) {
        if num_bytes > 0 {
            self.filled += num_bytes.min(self.space().len());
        }
    }

    /// Copies `bytes` into the region, as far as they fit.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_complete() {
            let space = self.space();
            let taken = space.len().min(bytes.len());
            space[..taken].copy_from_slice(&bytes[..taken]);
            self.advance(taken);
            bytes = &bytes[taken..];
        }
    }

    /// The number of bytes written so far.
    pub(crate) fn filled(&self) -> usize {
        self.filled
    }

    /// Whether all bytes have been written.
    pub(crate) fn is_complete(&self) -> bool {
        self.filled == self.len
    }

    /// Returns the bytes written so far; they are read-only from now on.
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
    /// The slab that holds the bytes; `None` if there are none.
    slab: Option<Arc<Slab>>,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the bytes are only read, and the slab keeps them alive.
unsafe impl Send for AlignedBody {}
// SAFETY: as above.
unsafe impl Sync for AlignedBody {}

impl AlignedBody {
    #[cfg(feature = "decode")]
    pub(crate) fn into_buffer(self) -> arrow_buffer::Buffer {
        match self.slab {
            None => arrow_buffer::Buffer::from_vec(Vec::<u8>::new()),
            // SAFETY: `start` and `len` describe bytes of the slab, which the buffer keeps alive.
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

impl DerefMut for AlignedBody {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; a body is the only value that refers to its bytes.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}
