//! One byte budget for the messages of a result that are in memory and not yet read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::byte_pool::BytePool;

/// How often a partition checks whether other streams have released memory of the pool.
const POOL_WAIT: Duration = Duration::from_millis(20);

/// The budget of one stream. A partition reserves memory before it reads its next batch, and releases
/// it when the messages of that batch have been read. The head is the first partition that has not
/// ended. It always gets memory for one message, so the stream goes on however small the budget is.
/// Later partitions leave a quarter of the budget to the head.
#[derive(Debug)]
pub struct Budget {
    limit_bytes: u64,
    /// The bytes that all streams of the server together may read ahead. The head of each stream may
    /// exceed it by one message, so that every stream goes on.
    pool: Arc<BytePool>,
    state: Mutex<State>,
    released: Notify,
}

#[derive(Debug, Default)]
struct State {
    used_bytes: u64,
    peak_bytes: u64,
    head: usize,
    /// The number of messages of each partition that have not been read yet.
    queued: Vec<usize>,
}

impl Budget {
    /// A budget for `num_partitions` partitions; partition 0 is the head.
    pub fn new(limit_bytes: u64, num_partitions: usize, pool: Arc<BytePool>) -> Arc<Self> {
        let state = State {
            queued: vec![0; num_partitions],
            ..State::default()
        };
        Arc::new(Self {
            limit_bytes,
            pool,
            state: Mutex::new(state),
            released: Notify::new(),
        })
    }

    /// An empty reservation for the work of `partition`.
    pub fn working(self: &Arc<Self>, partition: usize) -> Reservation {
        Reservation {
            budget: Arc::clone(self),
            partition,
            bytes: 0,
            is_queued: false,
        }
    }

    /// Makes `partition` the head.
    pub fn set_head(&self, partition: usize) {
        self.lock().head = partition;
        self.released.notify_waiters();
    }

    /// The maximum number of bytes that were reserved at the same time.
    pub fn peak_bytes(&self) -> u64 {
        self.lock().peak_bytes
    }

    fn try_add(&self, partition: usize, bytes: u64) -> bool {
        let mut state = self.lock();
        let is_head = partition == state.head;
        let limit = if is_head {
            self.limit_bytes
        } else {
            self.limit_bytes / 4 * 3
        };
        let fits = state.used_bytes.saturating_add(bytes) <= limit && self.pool.has_room(bytes);
        let is_due = is_head && state.queued[partition] == 0;
        if fits || is_due {
            self.add(&mut state, bytes);
        }
        fits || is_due
    }

    fn add(&self, state: &mut State, bytes: u64) {
        state.used_bytes += bytes;
        state.peak_bytes = state.peak_bytes.max(state.used_bytes);
        self.pool.add(bytes);
    }

    fn remove(&self, state: &mut State, bytes: u64) {
        state.used_bytes -= bytes;
        self.pool.remove(bytes);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reserved bytes of a budget; dropping them releases them.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    partition: usize,
    bytes: u64,
    is_queued: bool,
}

impl Reservation {
    /// Waits until the reservation can grow to `bytes`. Safe to cancel.
    pub async fn grow(&mut self, bytes: u64) {
        let Some(missing) = bytes.checked_sub(self.bytes).filter(|missing| *missing > 0) else {
            return;
        };
        let budget = Arc::clone(&self.budget);
        loop {
            let released = budget.released.notified();
            tokio::pin!(released);
            released.as_mut().enable();
            if budget.try_add(self.partition, missing) {
                self.bytes = bytes;
                return;
            }
            // A release by another stream leaves room in the pool, but does not wake this one.
            let _ = tokio::time::timeout(POOL_WAIT, released).await;
        }
    }

    /// Separates the bytes of a finished message from the reservation of the work that made it. All
    /// memory in use must be counted. So if the message, or what the partition still holds of its batch
    /// (`holds_bytes`), exceeds the reservation, the used bytes of the budget grow at once.
    pub fn split(&mut self, message_bytes: u64, holds_bytes: u64) -> Reservation {
        let left = self.bytes.saturating_sub(message_bytes).max(holds_bytes);
        let mut state = self.budget.lock();
        let (before, after) = (self.bytes, left + message_bytes);
        if after > before {
            self.budget.add(&mut state, after - before);
        } else {
            self.budget.remove(&mut state, before - after);
        }
        state.queued[self.partition] += 1;
        drop(state);
        self.bytes = left;
        Reservation {
            budget: Arc::clone(&self.budget),
            partition: self.partition,
            bytes: message_bytes,
            is_queued: true,
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.budget.lock();
        self.budget.remove(&mut state, self.bytes);
        if self.is_queued {
            state.queued[self.partition] -= 1;
        }
        drop(state);
        self.budget.released.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    fn grows(budget: &Arc<Budget>, partition: usize, bytes: u64) -> Option<Reservation> {
        let mut reservation = budget.working(partition);
        reservation.try_grow_now(bytes).then_some(reservation)
    }

    impl Reservation {
        fn try_grow_now(&mut self, bytes: u64) -> bool {
            let fits = self.budget.try_add(self.partition, bytes - self.bytes);
            if fits {
                self.bytes = bytes;
            }
            fits
        }
    }

    #[test]
    fn the_head_gets_one_message_through_a_full_budget() {
        let budget = Budget::new(100, 2, BytePool::new(1000));
        let ahead = grows(&budget, 1, 70).unwrap();
        assert!(grows(&budget, 1, 10).is_none(), "a quarter is the head's");
        let mut head = grows(&budget, 0, 1000).unwrap();
        let message = head.split(1000, 0);
        assert!(!head.try_grow_now(1), "one that waits is enough");
        drop(message);
        assert!(head.try_grow_now(30));
        drop(head);
        budget.set_head(1);
        drop(ahead);
        assert!(grows(&budget, 1, 1000).is_some());
    }

    #[tokio::test]
    async fn a_release_wakes_a_waiter() {
        let budget = Budget::new(100, 1, BytePool::new(1000));
        let held = grows(&budget, 0, 90).unwrap().split(90, 0);
        let mut next = budget.working(0);
        let mut waiting = Box::pin(next.grow(90));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(held);
        waiting.await;
        assert_eq!(budget.peak_bytes(), 90);
    }

    #[test]
    fn streams_share_a_pool_that_never_stops_a_head() {
        let pool = BytePool::new(100);
        let (a, b) = (
            Budget::new(100, 2, Arc::clone(&pool)),
            Budget::new(100, 2, Arc::clone(&pool)),
        );
        let first = grows(&a, 1, 70).unwrap();
        assert!(grows(&b, 1, 40).is_none(), "the other stream has it");
        let mut head = grows(&b, 0, 40).unwrap();
        assert_eq!(pool.used_bytes(), 110);
        let message = head.split(40, 0);
        assert!(!head.try_grow_now(10), "one message is enough");
        drop(message);
        drop((first, head));
        assert_eq!(pool.used_bytes(), 0);
        assert!(grows(&b, 1, 40).is_some());
    }

    #[test]
    fn what_is_there_is_counted() {
        let budget = Budget::new(100, 1, BytePool::new(1000));
        let mut work = grows(&budget, 0, 50).unwrap();
        let message = work.split(80, 30);
        assert_eq!(budget.peak_bytes(), 110);
        drop(message);
        drop(work);
        assert_eq!(budget.lock().used_bytes, 0);
    }
}
