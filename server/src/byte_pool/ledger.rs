//! One ledger of the memory that a server takes, whatever for: the pages of its own process, and what its engine
//! processes may take.
//!
//! Budgets of single purposes bound what each of them may keep. Together they are more than the server has, because
//! seldom two of them are used up at the same time; if they are, the ledger bounds them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::allocator;

/// The part of all memory that the process is taken to hold where that is not known.
const UNKNOWN_FRACTION: u64 = 4;

static LIMIT_BYTES: OnceLock<u64> = OnceLock::new();

static GRANTED_BYTES: AtomicU64 = AtomicU64::new(0);

/// Bounds the memory of this process and its engine processes. Without it, there is no bound.
pub fn limit(bytes: u64) {
    let _ = LIMIT_BYTES.set(bytes);
}

/// Memory that nobody has.
pub(crate) fn free_bytes() -> u64 {
    LIMIT_BYTES.get().map_or(u64::MAX, |limit_bytes| {
        let held_bytes = allocator::held_bytes().unwrap_or(limit_bytes / UNKNOWN_FRACTION);
        limit_bytes.saturating_sub(granted_bytes() + held_bytes)
    })
}

/// Memory that engine processes may take.
pub(crate) fn granted_bytes() -> u64 {
    GRANTED_BYTES.load(Ordering::Relaxed)
}

/// Memory of other processes, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Grant {
    bytes: u64,
}

impl Grant {
    /// Memory of `bytes`, whether or not they are free.
    pub(crate) fn of(bytes: u64) -> Self {
        let mut grant = Self::default();
        grant.grow(bytes);
        grant
    }

    /// How much it is.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds `bytes`, whether or not they are free.
    pub(crate) fn grow(&mut self, bytes: u64) {
        self.bytes += bytes;
        GRANTED_BYTES.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        GRANTED_BYTES.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
