//! Messages that wait for readers: first in memory, then on a limited amount of disk.

mod parked;
mod run_spool;
mod segment;

use std::path::PathBuf;
use std::sync::Arc;

pub use parked::ParkedBytes;
pub use run_spool::{Fetched, Position, RunSpool};
pub use segment::{MessageLocation, Segment};

use crate::byte_pool::BytePool;

/// The minimum and maximum size of a segment on disk, in bytes.
const SEGMENT_BYTES: std::ops::RangeInclusive<u64> = 64 << 10..=64 << 20;

/// The folder of all spools, and the memory and disk budgets that they share.
#[derive(Debug)]
pub struct SpoolStorage {
    folder: PathBuf,
    memory: Arc<BytePool>,
    disk: Arc<BytePool>,
}

impl SpoolStorage {
    /// Storage with its files in `folder`.
    pub fn new(folder: PathBuf, memory_bytes: u64, disk_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            folder,
            memory: BytePool::of_memory(memory_bytes),
            disk: BytePool::new(disk_bytes),
        })
    }

    /// The memory of messages that wait in spools, or for a client to take them.
    pub fn memory(&self) -> &Arc<BytePool> {
        &self.memory
    }

    /// The disk space that spools use.
    pub fn disk(&self) -> &BytePool {
        &self.disk
    }

    /// Whether `bytes` more can be written.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.disk.has_room(bytes)
    }

    /// The size at which a spool starts a new segment. A spool that exceeds its quota drops whole
    /// segments.
    fn segment_bytes(&self) -> u64 {
        (self.disk.limit_bytes() / 8).clamp(*SEGMENT_BYTES.start(), *SEGMENT_BYTES.end())
    }
}
