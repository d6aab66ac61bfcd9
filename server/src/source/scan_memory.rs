//! The memory of scans that need much at a time, such as those of a thousand columns or of large compressed batches.
//!
//! A scan holds its pages or its batch for as long as its reader takes. If they need more than a little memory, the
//! scan leases it. If the memory is not free, the rows are first written to disk, a few columns at a time; scans take
//! turns for that, and none of them waits for its reader meanwhile.

use std::ops::Range;
use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::disk_manager::DiskManager;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::byte_pool::{BytePool, BytesLease};
use crate::source::column_spill::ColumnSpill;

/// The memory that a scan may have without a lease: what its query counts for anyway, however little memory there is.
const FREE_BYTES: u64 = 16 << 20;

/// The unit in which scans that write to disk take turns.
const TURN_UNIT_BYTES: u64 = 1 << 10;

/// The size of a batch of wide rows, if it has more than one.
pub(super) const MAX_BATCH_BYTES: u64 = 8 << 20;

/// The memory of all scans of an engine that need much, and the disk for those that do not get it.
#[derive(Debug)]
pub(crate) struct ScanMemory {
    pool: Arc<BytePool>,
    /// What each scan may hold without a lease.
    free_bytes: u64,
    /// What scans that write to disk hold together, unless one column takes more.
    turn_bytes: u64,
    turns: Arc<Semaphore>,
    disk: Arc<DiskManager>,
}

/// Where the rows of a scan come from.
pub(super) enum Room {
    /// From memory, which is there until this is dropped.
    Memory(Option<BytesLease>),
    /// From disk, because there is not enough memory.
    Disk,
}

impl ScanMemory {
    /// Memory of `limit_bytes`, and temporary files of `disk`.
    pub(crate) fn new(limit_bytes: u64, disk: &Arc<DiskManager>) -> Self {
        let free_bytes = FREE_BYTES.min(2 * limit_bytes);
        let turn_bytes = (2 * free_bytes).max(limit_bytes);
        Self {
            pool: BytePool::of_memory(limit_bytes),
            free_bytes,
            turn_bytes,
            turns: Arc::new(Semaphore::new((turn_bytes / TURN_UNIT_BYTES) as usize)),
            disk: Arc::clone(disk),
        }
    }

    /// The memory of the engine of a session.
    ///
    /// # Errors
    /// The session is not an engine's.
    pub(super) fn of(session: &dyn Session) -> Result<Arc<Self>> {
        let memory = session.config().get_extension::<Self>();
        memory.ok_or_else(|| DataFusionError::Internal("scans have no memory".to_owned()))
    }

    /// Whether a scan may hold so much without asking.
    pub(super) fn is_free(&self, held_bytes: u64) -> bool {
        held_bytes <= self.free_bytes
    }

    /// Room for a scan that holds so much.
    pub(super) fn room(&self, held_bytes: u64) -> Room {
        if self.is_free(held_bytes) {
            return Room::Memory(None);
        }
        match self.pool.lease(held_bytes) {
            Some(lease) => Room::Memory(Some(lease)),
            None => Room::Disk,
        }
    }

    /// The turn of a scan to write its columns to disk, of which each holds so much. Waits for other scans.
    ///
    /// # Errors
    /// The disk fails.
    pub(super) async fn turn(&self, columns: &[u64]) -> Result<Turn> {
        let slabs = slabs(columns, self.turn_bytes / 2);
        let of_slab = |slab: &Range<usize>| columns[slab.clone()].iter().sum();
        let held_bytes = slabs.iter().map(of_slab).max().unwrap_or(0u64);
        // One column may take more than all scans may have together.
        let num_units = held_bytes.min(self.turn_bytes) / TURN_UNIT_BYTES;
        let num_units = u32::try_from(num_units).unwrap_or(u32::MAX);
        let turn = Arc::clone(&self.turns).acquire_many_owned(num_units).await;
        Ok(Turn {
            slabs,
            spill: ColumnSpill::create(&self.disk)?,
            memory: turn.map_err(|error| DataFusionError::External(Box::new(error)))?,
        })
    }
}

/// A scan that writes to disk.
pub(super) struct Turn {
    /// The columns that are to be written at a time.
    pub(super) slabs: Vec<Range<usize>>,
    /// Where they are to be written.
    pub(super) spill: ColumnSpill,
    /// Drop it when they have been written.
    pub(super) memory: OwnedSemaphorePermit,
}

/// Neighbouring columns that hold at most `max_bytes` together, or one column.
fn slabs(columns: &[u64], max_bytes: u64) -> Vec<Range<usize>> {
    let mut slabs: Vec<Range<usize>> = Vec::new();
    let mut held_bytes = 0;
    for (index, column) in columns.iter().enumerate() {
        held_bytes += column;
        match slabs.last_mut() {
            Some(slab) if held_bytes <= max_bytes => slab.end = index + 1,
            _ => {
                held_bytes = *column;
                slabs.push(index..index + 1);
            }
        }
    }
    slabs
}
