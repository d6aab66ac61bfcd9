//! Messages that wait for readers: in memory first, then on a bounded amount of disk.

mod run_spool;
mod segment;

use std::path::PathBuf;
use std::sync::Arc;

pub use run_spool::{Fetched, Position, RunSpool};
pub use segment::{MessageLocation, Segment};

use crate::byte_pool::BytePool;

/// The smallest and the largest segment of a spool on disk.
const SEGMENT_BYTES: std::ops::RangeInclusive<u64> = 64 << 10..=64 << 20;

/// The folder and the budgets of all spools together.
#[derive(Debug)]
pub struct SpoolStorage {
    folder: PathBuf,
    memory: Arc<BytePool>,
    disk: Arc<BytePool>,
}

impl SpoolStorage {
    /// Storage whose files are in `folder`.
    pub fn new(folder: PathBuf, memory_bytes: u64, disk_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            folder,
            memory: BytePool::new(memory_bytes),
            disk: BytePool::new(disk_bytes),
        })
    }

    /// Memory that spools use.
    pub fn memory(&self) -> &BytePool {
        &self.memory
    }

    /// Disk that spools use.
    pub fn disk(&self) -> &BytePool {
        &self.disk
    }

    /// Whether so many bytes more may be written.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.disk.has_room(bytes)
    }

    /// The size at which a spool begins a new segment. A spool over its quota drops whole segments.
    fn segment_bytes(&self) -> u64 {
        (self.disk.limit_bytes() / 8).clamp(*SEGMENT_BYTES.start(), *SEGMENT_BYTES.end())
    }
}
