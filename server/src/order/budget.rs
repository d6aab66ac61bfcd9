//! One byte budget for all that waits to be sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A shared budget of bytes. The part at the head of the line always gets one message through,
/// so the line moves however small the budget; parts behind it leave a quarter to the head.
#[derive(Debug)]
pub struct Budget {
    limit_bytes: u64,
    state: Mutex<State>,
    released: Notify,
}

#[derive(Debug, Default)]
struct State {
    used_bytes: u64,
    peak_bytes: u64,
    head: usize,
    queued_by_head: usize,
    queued: Vec<usize>,
}

impl Budget {
    /// A budget for `num_parts` parts; part 0 is the head.
    pub fn new(limit_bytes: u64, num_parts: usize) -> Arc<Self> {
        let state = State {
            queued: vec![0; num_parts],
            ..State::default()
        };
        Arc::new(Self {
            limit_bytes,
            state: Mutex::new(state),
            released: Notify::new(),
        })
    }

    /// Waits until `bytes` of a message of `part` fit.
    pub async fn reserve(self: &Arc<Self>, part: usize, bytes: u64) -> Reservation {
        loop {
            let released = self.released.notified();
            tokio::pin!(released);
            released.as_mut().enable();
            if self.try_reserve(part, bytes) {
                return Reservation {
                    budget: Arc::clone(self),
                    part,
                    bytes,
                };
            }
            released.await;
        }
    }

    fn try_reserve(&self, part: usize, bytes: u64) -> bool {
        let mut state = self.lock();
        let is_head = part == state.head;
        let limit = if is_head {
            self.limit_bytes
        } else {
            self.limit_bytes / 4 * 3
        };
        let fits = state.used_bytes.saturating_add(bytes) <= limit;
        if !(fits || is_head && state.queued_by_head == 0) {
            return false;
        }
        state.used_bytes += bytes;
        state.peak_bytes = state.peak_bytes.max(state.used_bytes);
        state.queued[part] += 1;
        if is_head {
            state.queued_by_head += 1;
        }
        true
    }

    /// Makes `part` the head of the line.
    pub fn set_head(&self, part: usize) {
        let mut state = self.lock();
        state.head = part;
        state.queued_by_head = state.queued.get(part).copied().unwrap_or(0);
        drop(state);
        self.released.notify_waiters();
    }

    /// The most bytes that were ever reserved at one time.
    pub fn peak_bytes(&self) -> u64 {
        self.lock().peak_bytes
    }

    fn release(&self, part: usize, bytes: u64) {
        let mut state = self.lock();
        state.used_bytes -= bytes;
        state.queued[part] -= 1;
        if part == state.head {
            state.queued_by_head -= 1;
        }
        drop(state);
        self.released.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of a budget, given back when dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    part: usize,
    bytes: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.release(self.part, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;
    use futures::FutureExt;

    #[test]
    fn the_head_gets_one_message_through_a_full_budget() {
        let budget = Budget::new(100, 2);
        let ahead = budget.reserve(1, 70).now_or_never().unwrap();
        assert!(
            budget.reserve(1, 10).now_or_never().is_none(),
            "a quarter is the head's"
        );
        let first = budget.reserve(0, 1000).now_or_never().unwrap();
        assert!(
            budget.reserve(0, 1).now_or_never().is_none(),
            "one is enough"
        );
        drop(first);
        assert!(budget.reserve(0, 30).now_or_never().is_some());
        budget.set_head(1);
        assert!(
            budget.reserve(1, 1000).now_or_never().is_none(),
            "one of it waits already"
        );
        drop(ahead);
        assert!(budget.reserve(1, 1000).now_or_never().is_some());
    }

    #[test]
    fn a_release_wakes_a_waiter() {
        let budget = Budget::new(100, 1);
        let held = budget.reserve(0, 90).now_or_never().unwrap();
        let mut waiting = Box::pin(budget.reserve(0, 90));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(held);
        assert!(waiting.as_mut().now_or_never().is_some());
        assert_eq!(budget.peak_bytes(), 90);
    }
}
