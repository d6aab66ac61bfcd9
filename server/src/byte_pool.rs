//! Bytes that many share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes in use, and how many should be at the most.
#[derive(Debug)]
pub struct BytePool {
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

impl BytePool {
    /// A pool of that size.
    pub fn new(limit_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            limit_bytes,
            used_bytes: AtomicU64::new(0),
        })
    }

    /// Its size.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Bytes in use.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// Whether so many bytes more are within the limit.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.used_bytes().saturating_add(bytes) <= self.limit_bytes
    }

    /// Takes bytes, whether there is room or not.
    pub fn add(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Gives bytes back.
    pub fn remove(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}
