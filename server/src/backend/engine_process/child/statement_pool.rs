//! The memory that the operators of a statement reserve.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use datafusion::common::{DataFusionError, resources_datafusion_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};

use crate::allocator::{self, Need};

/// Of a statement's memory, the bytes that its sorts and aggregates may reserve before they spill. The rest is for
/// merges, for what cannot spill, and for rows on their way, expressions and the plan.
pub(super) fn spilling_bytes(memory_bytes: u64) -> u64 {
    memory_bytes - rest_bytes(memory_bytes)
}

/// Of a statement's memory, the bytes that all operators may reserve.
fn operator_bytes(memory_bytes: u64) -> u64 {
    memory_bytes - rest_bytes(memory_bytes) / 2
}

fn rest_bytes(memory_bytes: u64) -> u64 {
    (memory_bytes / 2).min((64 << 20) + memory_bytes / 8)
}

/// The names of operators that exchange rows between partitions. If two of their inputs spill at the same time, they
/// wait for each other for ever (<https://github.com/apache/datafusion/issues/24883>), so they are never refused, and
/// other operators spill instead.
const EXCHANGE: &str = "RepartitionExec";

/// How many times the bytes that a merge of files reserves it takes: it does not count the keys, nor the batches that
/// it has read but not yet used up.
const MERGED_RATIO: u64 = 2;

/// The names of a sort's two consumers, before the number of its partition: one for the rows that it collects, one for
/// merging them.
const SORT: &str = "ExternalSorter";
const MERGE: &str = "ExternalSorterMerge";

/// Reserves memory. Operators that can spill have equal parts of what the others leave. Before one of them spills,
/// or another one fails, the pool asks the server for more memory.
#[derive(Debug, Default)]
pub(super) struct StatementPool(Mutex<Reserved>);

#[derive(Debug, Default)]
struct Reserved {
    spilling: Vec<Spilling>,
    /// Bytes of all operators.
    total_bytes: u64,
}

/// An operator that can spill, with the merge of what it has collected if it is a sort.
#[derive(Debug)]
struct Spilling {
    /// Its consumer, until that has given back everything.
    collecting: Option<usize>,
    merging: Option<usize>,
    name: String,
    num_bytes: u64,
    has_spilled: bool,
}

impl Spilling {
    fn has(&self, consumer: &MemoryConsumer) -> bool {
        let id = Some(consumer.id());
        self.collecting == id || self.merging == id
    }

    /// Whether it merges files. It merges fewer at a time if it gets less memory, but what is in memory must be merged
    /// at once.
    fn merges_files(&self) -> bool {
        self.has_spilled && self.collecting.is_none()
    }
}

impl StatementPool {
    fn lock(&self) -> MutexGuard<'_, Reserved> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reserved {
    fn register(&mut self, consumer: &MemoryConsumer) {
        let name = consumer.name();
        if let Some(partition) = name.strip_prefix(MERGE) {
            let is_sort = |operator: &&mut Spilling| {
                let sorted = operator.name.strip_prefix(SORT);
                operator.merging.is_none() && sorted == Some(partition)
            };
            if let Some(sort) = self.spilling.iter_mut().rev().find(is_sort) {
                sort.merging = Some(consumer.id());
            }
        } else if consumer.can_spill() && !name.starts_with(EXCHANGE) {
            self.spilling.push(Spilling {
                collecting: Some(consumer.id()),
                merging: None,
                name: name.to_owned(),
                num_bytes: 0,
                has_spilled: false,
            });
        }
    }

    fn unregister(&mut self, consumer: &MemoryConsumer) {
        for operator in &mut self.spilling {
            operator.collecting.take_if(|id| *id == consumer.id());
            operator.merging.take_if(|id| *id == consumer.id());
        }
        self.spilling
            .retain(|operator| operator.collecting.is_some() || operator.merging.is_some());
    }

    fn spilling(&mut self, consumer: &MemoryConsumer) -> Option<&mut Spilling> {
        self.spilling
            .iter_mut()
            .find(|operator| operator.has(consumer))
    }

    fn add(&mut self, consumer: &MemoryConsumer, num_bytes: u64) {
        self.total_bytes += num_bytes;
        if let Some(operator) = self.spilling(consumer) {
            operator.num_bytes += num_bytes;
        }
    }

    fn remove(&mut self, consumer: &MemoryConsumer, num_bytes: u64) {
        self.total_bytes -= num_bytes;
        if let Some(operator) = self.spilling(consumer) {
            operator.num_bytes -= num_bytes;
        }
    }

    /// Whether the operator may have `num_bytes` more, if the statement may have `memory_bytes`.
    fn permits(&self, consumer: &MemoryConsumer, num_bytes: u64, memory_bytes: u64) -> bool {
        let total_bytes = self.total_bytes + num_bytes;
        let Some(operator) = self.spilling.iter().find(|operator| operator.has(consumer)) else {
            return consumer.name().starts_with(EXCHANGE)
                || total_bytes <= operator_bytes(memory_bytes);
        };
        if operator.merging == Some(consumer.id()) && !operator.merges_files() {
            return true;
        }
        let limit_bytes = spilling_bytes(memory_bytes);
        let spilling_bytes: u64 = self
            .spilling
            .iter()
            .map(|operator| operator.num_bytes)
            .sum();
        let left_bytes = limit_bytes.saturating_sub(self.total_bytes - spilling_bytes);
        let left_bytes = left_bytes.max(limit_bytes / 2);
        // Each can have its part at any time, because without any memory it could not even spill. If another one has
        // more than its part, it spills when it wants more.
        let equal_bytes = left_bytes / self.spilling.len() as u64;
        let wanted_bytes = operator.num_bytes + num_bytes;
        if operator.merges_files() {
            return wanted_bytes <= equal_bytes / MERGED_RATIO;
        }
        wanted_bytes <= equal_bytes
            || total_bytes <= limit_bytes && wanted_bytes <= equal_bytes / 2 * 3
    }
}

impl fmt::Display for StatementPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({} bytes reserved)", self.name(), self.reserved())
    }
}

impl MemoryPool for StatementPool {
    fn name(&self) -> &'static str {
        "statement"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.lock().register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.lock().unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.lock().add(reservation.consumer(), additional as u64);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.lock().remove(reservation.consumer(), shrink as u64);
    }

    fn try_grow(
        &self,
        reservation: &MemoryReservation,
        additional: usize,
    ) -> Result<(), DataFusionError> {
        let consumer = reservation.consumer();
        let mut reserved = self.lock();
        let need = match reserved.spilling(consumer) {
            Some(_) => Need::Useful,
            None => Need::Required,
        };
        loop {
            let memory_bytes = allocator::permitted_bytes();
            if reserved.permits(consumer, additional as u64, memory_bytes) {
                reserved.add(consumer, additional as u64);
                return Ok(());
            }
            if !allocator::grow(additional as u64, need) {
                if let Some(operator) = reserved.spilling(consumer) {
                    operator.has_spilled = true;
                }
                return Err(resources_datafusion_err!(
                    "{} has {} bytes and needs {additional} more, but all operators of a statement with \
                     {memory_bytes} bytes have {}",
                    consumer.name(),
                    reservation.size(),
                    reserved.total_bytes
                ));
            }
        }
    }

    fn reserved(&self) -> usize {
        self.lock().total_bytes as usize
    }
}
