//! Slots that limit how much work runs at the same time, with a fair queue.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::error::{ErrorKind, QueryError};

/// A number of slots. Whoever waits longest gets the next one that is free.
#[derive(Debug, Clone)]
pub struct Slots {
    free: Arc<Semaphore>,
    /// How many wait.
    waiting: watch::Sender<usize>,
    num_slots: usize,
    work: &'static str,
    option: &'static str,
    queue_timeout: Duration,
}

/// A slot in use. Dropping it gives it back.
#[derive(Debug)]
pub struct Slot(#[expect(dead_code, reason = "held")] OwnedSemaphorePermit);

impl Slots {
    /// `num_slots` free slots, for which a request waits `queue_timeout` at most. For messages, `work` says in the
    /// plural what holds them, and `option` which option of the server gives more.
    pub fn new(
        num_slots: usize,
        queue_timeout: Duration,
        work: &'static str,
        option: &'static str,
    ) -> Self {
        Self {
            free: Arc::new(Semaphore::new(num_slots)),
            waiting: watch::Sender::new(0),
            num_slots,
            work,
            option,
            queue_timeout,
        }
    }

    /// A slot, after a wait of at most `queue_timeout`.
    ///
    /// # Errors
    /// `busy`.
    pub async fn take(&self) -> Result<Slot, QueryError> {
        let slot = tokio::time::timeout(self.queue_timeout, self.take_patiently()).await;
        slot.map_err(|_| {
            QueryError::new(
                ErrorKind::Busy,
                format!(
                    "{} {} are in progress, the most at the same time, and none has ended in {} s",
                    self.num_slots,
                    self.work,
                    self.queue_timeout.as_secs_f64()
                ),
                format!(
                    "try again in a second, or start the server with a larger {}",
                    self.option
                ),
            )
        })
    }

    /// A slot, however long that takes.
    pub async fn take_patiently(&self) -> Slot {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Slot(permit);
        }
        let _waiting = Waiting::new(&self.waiting);
        loop {
            // The semaphore is never closed.
            if let Ok(permit) = Arc::clone(&self.free).acquire_owned().await {
                return Slot(permit);
            }
        }
    }

    /// Waits until somebody waits for a slot.
    pub async fn wanted(&self) {
        // The sender lives as long as `self`.
        let _ = self.waiting.subscribe().wait_for(|count| *count > 0).await;
    }

    /// Whether all slots are in use.
    pub fn is_full(&self) -> bool {
        self.free.available_permits() == 0
    }

    /// How many slots there are.
    pub fn num_slots(&self) -> usize {
        self.num_slots
    }

    /// How many slots are in use.
    pub fn num_taken(&self) -> usize {
        self.num_slots - self.free.available_permits()
    }
}

/// Counts one who waits, as long as it lives.
struct Waiting<'a>(&'a watch::Sender<usize>);

impl<'a> Waiting<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
