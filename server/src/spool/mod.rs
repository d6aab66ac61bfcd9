//! Where results wait for their readers: in memory first, then on a bounded part of the disk.

mod log;
mod segment;

use std::path::PathBuf;
use std::sync::Arc;

pub use log::{Fetched, Log, Position};
pub use segment::{Place, Segment};

use crate::pool::Pool;

/// The smallest and the largest segment of a log on disk.
const SEGMENT_BYTES: std::ops::RangeInclusive<u64> = 64 << 10..=64 << 20;

/// The budgets of all logs together.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    memory: Arc<Pool>,
    disk: Arc<Pool>,
}

impl Spool {
    /// A spool whose files are in `folder`.
    pub fn new(folder: PathBuf, memory_bytes: u64, disk_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            folder,
            memory: Pool::new(memory_bytes),
            disk: Pool::new(disk_bytes),
        })
    }

    /// Memory that logs use.
    pub fn memory(&self) -> &Pool {
        &self.memory
    }

    /// Disk that logs use.
    pub fn disk(&self) -> &Pool {
        &self.disk
    }

    /// Whether so many bytes more may be written.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.disk.has_room(bytes)
    }

    /// The size at which a log begins a new segment: a log that must give up its head gives up one.
    fn segment_bytes(&self) -> u64 {
        (self.disk.limit_bytes() / 8).clamp(*SEGMENT_BYTES.start(), *SEGMENT_BYTES.end())
    }
}
