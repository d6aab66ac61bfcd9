//! A byte budget that several users share.

pub mod ledger;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes in use and their limit, which is checked by the users and not enforced.
#[derive(Debug)]
pub struct BytePool {
    limit_bytes: u64,
    used_bytes: AtomicU64,
    is_memory: bool,
}

impl BytePool {
    /// A pool with this limit.
    pub fn new(limit_bytes: u64) -> Arc<Self> {
        Self::of(limit_bytes, false)
    }

    /// A pool of memory with this limit, which has room only if the [`ledger`] has it too.
    pub fn of_memory(limit_bytes: u64) -> Arc<Self> {
        Self::of(limit_bytes, true)
    }

    fn of(limit_bytes: u64, is_memory: bool) -> Arc<Self> {
        Arc::new(Self {
            limit_bytes,
            used_bytes: AtomicU64::new(0),
            is_memory,
        })
    }

    /// The limit.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Bytes in use.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// Whether `bytes` more would stay within the limit.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.used_bytes().saturating_add(bytes) <= self.limit_bytes
            && (!self.is_memory || bytes < ledger::free_bytes())
    }

    /// Counts bytes as used until the lease is dropped; `None` if they would exceed the limit.
    pub fn lease(self: &Arc<Self>, bytes: u64) -> Option<BytesLease> {
        self.has_room(bytes).then(|| {
            self.add(bytes);
            BytesLease {
                pool: Arc::clone(self),
                bytes,
            }
        })
    }

    /// Counts bytes as used, even beyond the limit.
    pub fn add(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts bytes as free again.
    pub fn remove(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Bytes that count as used.
#[derive(Debug)]
pub struct BytesLease {
    pool: Arc<BytePool>,
    bytes: u64,
}

impl Drop for BytesLease {
    fn drop(&mut self) {
        self.pool.remove(self.bytes);
    }
}
