//! Slots that limit how much work runs at the same time, with a fair queue.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use crate::error::{ErrorKind, QueryError};

/// A number of slots. Whoever waits longest gets the next one that is free. Holders that do not work, or have worked
/// for long, learn that others wait ([`Slots::wanted`]) and give theirs back.
#[derive(Debug, Clone)]
pub struct Slots {
    shared: Arc<Shared>,
    num_slots: usize,
    work: &'static str,
    option: &'static str,
    queue_timeout: Duration,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// Somebody waits for whom nobody has promised to give back a slot.
    wanted: Notify,
}

#[derive(Debug)]
struct Queue {
    num_free: usize,
    /// Those who wait for their first slot, and those who had one before.
    waiting: [VecDeque<oneshot::Sender<Slot>>; 2],
    /// Which of them got the last slot. They take turns, so that neither keeps the others from working.
    served_last: usize,
    /// Slots that their holders are about to give back.
    num_promised: usize,
}

/// A slot in use. Dropping it gives it back.
#[derive(Debug)]
pub struct Slot(Option<Arc<Shared>>);

/// The promise of a holder to give back its slot. Drop it after the slot.
#[derive(Debug)]
pub struct Promise(Arc<Shared>);

impl Slots {
    /// `num_slots` free slots, for which a request waits `queue_timeout` at most. For messages, `work` says in the
    /// plural what holds them, and `option` which option of the server gives more.
    pub fn new(
        num_slots: usize,
        queue_timeout: Duration,
        work: &'static str,
        option: &'static str,
    ) -> Self {
        let queue = Queue {
            num_free: num_slots,
            waiting: Default::default(),
            served_last: 1,
            num_promised: 0,
        };
        Self {
            shared: Arc::new(Shared {
                queue: Mutex::new(queue),
                wanted: Notify::new(),
            }),
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
        slot.map_err(|_| self.busy())
    }

    /// A slot, however long that takes.
    pub async fn take_patiently(&self) -> Slot {
        self.wait(0).await
    }

    /// As [`Slots::take_patiently`], for one who gave back a slot because others waited.
    pub async fn take_again(&self) -> Slot {
        self.wait(1).await
    }

    /// Waits until somebody waits for a slot. Of all who call this, the one that has waited the longest is asked first.
    pub async fn wanted(&self) -> Promise {
        loop {
            let wanted = self.shared.wanted.notified();
            tokio::pin!(wanted);
            wanted.as_mut().enable();
            if let Some(promise) = self.wanted_now() {
                return promise;
            }
            wanted.await;
        }
    }

    /// As [`Slots::wanted`], if somebody waits now.
    pub fn wanted_now(&self) -> Option<Promise> {
        let is_wanted = self.shared.promise();
        is_wanted.then(|| Promise(Arc::clone(&self.shared)))
    }

    /// The error for a request that gets no slot.
    pub fn busy(&self) -> QueryError {
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
    }

    /// How many slots are in use.
    pub fn num_taken(&self) -> usize {
        self.num_slots - self.shared.lock().num_free
    }

    /// How many slots there are.
    pub fn num_slots(&self) -> usize {
        self.num_slots
    }

    async fn wait(&self, class: usize) -> Slot {
        loop {
            let receiver = {
                let mut queue = self.shared.lock();
                if let Some(num_free) = queue.num_free.checked_sub(1) {
                    queue.num_free = num_free;
                    return Slot(Some(Arc::clone(&self.shared)));
                }
                let (sender, receiver) = oneshot::channel();
                queue.waiting[class].push_back(sender);
                receiver
            };
            self.shared.wanted.notify_one();
            // A sender is dropped only together with the queue, or after its receiver.
            if let Ok(slot) = receiver.await {
                return slot;
            }
        }
    }
}

impl Shared {
    /// Whether somebody waits for whom nobody has promised a slot yet; the caller promises it.
    fn promise(&self) -> bool {
        let mut queue = self.lock();
        let is_wanted = queue.num_waiting() > queue.num_promised;
        queue.num_promised += usize::from(is_wanted);
        is_wanted
    }

    /// Gives a slot to the next who waits.
    fn release(self: &Arc<Self>) {
        loop {
            let next = {
                let mut queue = self.lock();
                let Some(next) = queue.next() else {
                    queue.num_free += 1;
                    return;
                };
                next
            };
            match next.send(Slot(Some(Arc::clone(self)))) {
                Ok(()) => return,
                // It has left.
                Err(mut slot) => slot.0 = None,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn next(&mut self) -> Option<oneshot::Sender<Slot>> {
        for class in [1 - self.served_last, self.served_last] {
            while let Some(next) = self.waiting[class].pop_front() {
                if !next.is_closed() {
                    self.served_last = class;
                    return Some(next);
                }
            }
        }
        None
    }

    fn num_waiting(&self) -> usize {
        let waiting = self.waiting.iter().flatten();
        waiting.filter(|sender| !sender.is_closed()).count()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.release();
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.0.lock().num_promised -= 1;
        // The promise may have been broken, or somebody came meanwhile.
        self.0.wanted.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;
    use futures::future::BoxFuture;

    use super::{Promise, Slot, Slots};

    fn slots(num_slots: usize) -> Slots {
        Slots::new(num_slots, Duration::from_secs(10), "tests", "--tests")
    }

    fn taken(slots: &Slots) -> Slot {
        slots.take_patiently().now_or_never().unwrap()
    }

    /// One who waits for a slot, and has joined the queue.
    fn waiting(slots: &Slots, is_again: bool) -> BoxFuture<'static, Slot> {
        let slots = slots.clone();
        let mut slot = async move {
            match is_again {
                true => slots.take_again().await,
                false => slots.take_patiently().await,
            }
        }
        .boxed();
        assert!((&mut slot).now_or_never().is_none());
        slot
    }

    fn promise(slots: &Slots) -> Option<Promise> {
        slots.wanted().now_or_never()
    }

    #[test]
    fn a_slot_goes_to_who_waits_longest_unless_it_has_left() {
        let slots = slots(1);
        let slot = taken(&slots);
        let left = waiting(&slots, false);
        let first = waiting(&slots, false);
        let second = waiting(&slots, false);
        drop(left);
        drop(slot);
        let slot = first.now_or_never().unwrap();
        assert_eq!(slots.num_taken(), 1);
        drop(slot);
        // It was given the slot, and left before it looked.
        drop(second);
        assert_eq!(slots.num_taken(), 0);
    }

    #[test]
    fn newcomers_and_those_who_gave_way_take_turns() {
        let slots = slots(1);
        let mut slot = taken(&slots);
        let again = [waiting(&slots, true), waiting(&slots, true)];
        let new = [waiting(&slots, false), waiting(&slots, false)];
        let [a, b] = again;
        let [c, d] = new;
        for next in [c, a, d, b] {
            drop(slot);
            slot = next.now_or_never().unwrap();
        }
    }

    #[test]
    fn each_who_waits_is_promised_one_slot() {
        let slots = slots(2);
        let held = [taken(&slots), taken(&slots)];
        assert!(promise(&slots).is_none());
        let first = waiting(&slots, false);
        let given = promise(&slots);
        assert!(given.is_some());
        assert!(promise(&slots).is_none());
        let second = waiting(&slots, false);
        let [one, two] = held;
        drop(one);
        drop(given);
        let given = promise(&slots);
        assert!(given.is_some() && promise(&slots).is_none());
        // A broken promise is made by another.
        drop(given);
        assert!(promise(&slots).is_some());
        drop(two);
        assert!(first.now_or_never().is_some() && second.now_or_never().is_some());
        assert!(promise(&slots).is_none());
    }

    #[tokio::test]
    async fn the_holder_that_has_offered_its_slot_for_longest_is_asked_first() {
        let slots = slots(2);
        let _held = [taken(&slots), taken(&slots)];
        let mut offers: Vec<_> = (0..2)
            .map(|_| {
                let slots = slots.clone();
                async move { slots.wanted().await }.boxed()
            })
            .collect();
        for offer in &mut offers {
            assert!(offer.now_or_never().is_none());
        }
        let _waiting = waiting(&slots, false);
        assert!((&mut offers[1]).now_or_never().is_none());
        assert!((&mut offers[0]).now_or_never().is_some());
    }
}
