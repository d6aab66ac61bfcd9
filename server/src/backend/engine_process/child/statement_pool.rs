//! The memory that the operators of a statement reserve.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use datafusion::common::{DataFusionError, resources_datafusion_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};

use crate::allocator::{self, Need};

/// Of a statement's memory, the part that operators may reserve before they spill, in percent. The rest is for
/// rows on their way, expressions and the plan.
const OPERATOR_PERCENT: u64 = 60;

/// Of a statement's memory, the bytes that its operators may reserve.
pub(super) fn operator_bytes(memory_bytes: u64) -> u64 {
    memory_bytes / 100 * OPERATOR_PERCENT
}

/// The name of operators that exchange rows between partitions. If two of their inputs spill at the same time, they
/// wait for each other for ever (<https://github.com/apache/datafusion/issues/24883>), so they are never refused, and
/// other operators spill instead.
const EXCHANGE: &str = "RepartitionExec";

/// Reserves memory. Operators that can spill have equal rights to what the others leave. Before one of them spills,
/// or another one fails, the pool asks the server for more memory.
#[derive(Debug, Default)]
pub(super) struct StatementPool(Mutex<Reserved>);

#[derive(Debug, Default)]
struct Reserved {
    /// Bytes of each operator that can spill, by its id; 0 if it has none yet.
    spilling: HashMap<usize, u64>,
    /// Bytes of all operators.
    total_bytes: u64,
}

impl StatementPool {
    fn lock(&self) -> MutexGuard<'_, Reserved> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reserved {
    fn add(&mut self, consumer: &MemoryConsumer, num_bytes: u64) {
        self.total_bytes += num_bytes;
        if let Some(own_bytes) = self.spilling.get_mut(&consumer.id()) {
            *own_bytes += num_bytes;
        }
    }

    fn remove(&mut self, consumer: &MemoryConsumer, num_bytes: u64) {
        self.total_bytes -= num_bytes;
        if let Some(own_bytes) = self.spilling.get_mut(&consumer.id()) {
            *own_bytes -= num_bytes;
        }
    }

    /// Whether the operator may have `num_bytes` more, if all together may have `limit_bytes`.
    fn permits(&self, consumer: &MemoryConsumer, num_bytes: u64, limit_bytes: u64) -> bool {
        let fits = self.total_bytes + num_bytes <= limit_bytes;
        let Some(own_bytes) = self.spilling.get(&consumer.id()) else {
            return fits;
        };
        let spilling_bytes: u64 = self.spilling.values().sum();
        let left_bytes = limit_bytes.saturating_sub(self.total_bytes - spilling_bytes);
        let others = self.spilling.iter().filter(|(id, _)| **id != consumer.id());
        let num_active = 1 + others.filter(|(_, bytes)| **bytes > 0).count() as u64;
        let wanted_bytes = own_bytes + num_bytes;
        // Each operator can have an equal part at any time, because without any memory it could not even spill. If
        // another one has more than its part, it spills when it wants more.
        wanted_bytes <= left_bytes / self.spilling.len() as u64
            || fits && wanted_bytes <= left_bytes / num_active
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
        if consumer.can_spill() && !consumer.name().starts_with(EXCHANGE) {
            self.lock().spilling.insert(consumer.id(), 0);
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.lock().spilling.remove(&consumer.id());
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
        let need = if consumer.can_spill() {
            Need::Useful
        } else {
            Need::Required
        };
        let mut reserved = self.lock();
        if consumer.name().starts_with(EXCHANGE) {
            reserved.add(consumer, additional as u64);
            return Ok(());
        }
        loop {
            let limit_bytes = operator_bytes(allocator::permitted_bytes());
            if reserved.permits(consumer, additional as u64, limit_bytes) {
                reserved.add(consumer, additional as u64);
                return Ok(());
            }
            if !allocator::grow(additional as u64, need) {
                return Err(resources_datafusion_err!(
                    "{} has {} bytes and needs {additional} more, but all operators may have {limit_bytes} \
                     and have {}",
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
