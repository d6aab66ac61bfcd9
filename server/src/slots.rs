//! Slots that limit how much work runs at the same time, with a fair queue.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use crate::error::{ErrorKind, QueryError};

/// A number of slots. Whoever waits longest gets the next one that is free, but the last ones are reserved for brief
/// work. Holders that do not work, or have worked for long, learn that others wait ([`Slots::wanted`]) and give theirs
/// back.
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
    /// How many more may be taken for work that is not brief, if they are free.
    num_free_for_long: usize,
    num_reserved: usize,
    /// Those who wait, by [`Class`].
    waiting: [VecDeque<oneshot::Sender<Slot>>; 3],
    /// The class that got the last slot. They take turns, so that none keeps the others from working.
    served_last: Class,
    /// Slots that their holders are about to give back.
    num_promised: usize,
}

/// Who waits for a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Those for whom there is the reserve.
    Brief,
    New,
    /// Those who had a slot before.
    Begun,
}

impl Class {
    /// All, in the order in which they get slots.
    const ALL: [Self; 3] = [Self::Brief, Self::New, Self::Begun];
}

/// A slot in use. Dropping it gives it back.
#[derive(Debug)]
pub struct Slot {
    /// `None` if it has not been given.
    shared: Option<Arc<Shared>>,
    class: Class,
}

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
            num_free_for_long: num_slots,
            num_reserved: 0,
            waiting: Default::default(),
            served_last: Class::Begun,
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

    /// The same slots, the last `num_reserved` of them for brief work.
    pub fn with_reserve(self, num_reserved: usize) -> Self {
        let mut queue = self.shared.lock();
        queue.num_reserved = num_reserved;
        queue.num_free_for_long -= num_reserved;
        drop(queue);
        self
    }

    /// A slot, after a wait of at most `queue_timeout`.
    ///
    /// # Errors
    /// `busy`.
    pub async fn take(&self) -> Result<Slot, QueryError> {
        self.in_time(self.take_patiently()).await
    }

    /// As [`Slots::take`], for work that is brief, or gives back its slot when others wait. It may use the reserve.
    ///
    /// # Errors
    /// `busy`.
    pub async fn take_brief(&self) -> Result<Slot, QueryError> {
        self.in_time(self.wait(Class::Brief)).await
    }

    /// A slot, however long that takes.
    pub async fn take_patiently(&self) -> Slot {
        self.wait(Class::New).await
    }

    /// As [`Slots::take_patiently`], for one who gave back a slot because others waited.
    pub async fn take_again(&self) -> Slot {
        self.wait(Class::Begun).await
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
        self.shared.promise(Queue::num_waiting)
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

    async fn in_time(&self, slot: impl Future<Output = Slot>) -> Result<Slot, QueryError> {
        let slot = tokio::time::timeout(self.queue_timeout, slot).await;
        slot.map_err(|_| self.busy())
    }

    async fn wait(&self, class: Class) -> Slot {
        loop {
            let taken = self.shared.lock().take(class);
            let Err(receiver) = taken else {
                return self.shared.slot(class);
            };
            self.shared.wanted.notify_one();
            // A sender is dropped only together with the queue, or after its receiver.
            if let Ok(slot) = receiver.await {
                return slot;
            }
        }
    }
}

impl Slot {
    /// A promise to give it back, if it is wanted for the reserve. Its holder then waits as one that has begun, so brief
    /// work that became long leaves the reserve.
    pub fn wanted_for_reserve(&self) -> Option<Promise> {
        let shared = self.shared.as_ref().filter(|_| self.class == Class::Brief);
        shared?.promise(|queue| queue.num_waiting() + queue.num_lent())
    }
}

impl Shared {
    /// A promise, if more slots are wanted than are promised.
    fn promise(self: &Arc<Self>, num_wanted: impl Fn(&Queue) -> usize) -> Option<Promise> {
        let mut queue = self.lock();
        let is_wanted = num_wanted(&queue) > queue.num_promised;
        queue.num_promised += usize::from(is_wanted);
        is_wanted.then(|| Promise(Arc::clone(self)))
    }

    fn slot(self: &Arc<Self>, class: Class) -> Slot {
        Slot {
            shared: Some(Arc::clone(self)),
            class,
        }
    }

    /// Takes back a slot, and gives it to the next who waits.
    fn release(self: &Arc<Self>, class: Class) {
        self.lock().free(class);
        loop {
            let Some((next, class)) = self.lock().next() else {
                return;
            };
            if let Err(mut slot) = next.send(self.slot(class)) {
                // It has left.
                slot.shared = None;
                self.lock().free(class);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Takes a free slot, or joins those who wait.
    fn take(&mut self, class: Class) -> Result<(), oneshot::Receiver<Slot>> {
        if self.has_slot(class) {
            self.occupy(class);
            return Ok(());
        }
        let (sender, receiver) = oneshot::channel();
        self.waiting[class as usize].push_back(sender);
        Err(receiver)
    }

    /// The next who gets a slot, if one is free for it; the slot is taken.
    fn next(&mut self) -> Option<(oneshot::Sender<Slot>, Class)> {
        let first = self.served_last as usize + 1;
        for class in Class::ALL.into_iter().cycle().skip(first).take(3) {
            if !self.has_slot(class) {
                continue;
            }
            while let Some(next) = self.waiting[class as usize].pop_front() {
                if !next.is_closed() {
                    self.occupy(class);
                    self.served_last = class;
                    return Some((next, class));
                }
            }
        }
        None
    }

    fn has_slot(&self, class: Class) -> bool {
        self.num_free > 0 && (class == Class::Brief || self.num_free_for_long > 0)
    }

    fn occupy(&mut self, class: Class) {
        self.num_free -= 1;
        self.num_free_for_long -= usize::from(class != Class::Brief);
    }

    fn free(&mut self, class: Class) {
        self.num_free += 1;
        self.num_free_for_long += usize::from(class != Class::Brief);
    }

    fn num_waiting(&self) -> usize {
        let waiting = self.waiting.iter().flatten();
        waiting.filter(|sender| !sender.is_closed()).count()
    }

    /// How many slots of the reserve are in use.
    fn num_lent(&self) -> usize {
        self.num_reserved.saturating_sub(self.num_free)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.release(self.class);
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

    use super::{Class, Promise, Slot, Slots};

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
    fn the_reserve_is_for_brief_work_and_is_given_back() {
        let slots = slots(3).with_reserve(1);
        let [first, second] = [taken(&slots), taken(&slots)];
        let new = waiting(&slots, false);
        let brief = slots.wait(Class::Brief).now_or_never().unwrap();
        let mut next = slots.wait(Class::Brief).boxed();
        assert!((&mut next).now_or_never().is_none());
        let promises: Vec<_> = std::iter::from_fn(|| slots.wanted_now()).collect();
        assert_eq!(promises.len(), 2);
        // Both who wait are promised one, but the reserve is in use.
        assert!(first.wanted_for_reserve().is_none() && brief.wanted_for_reserve().is_some());
        drop(promises);
        drop(brief);
        drop(next.now_or_never().unwrap());
        // One slot is free, but not for the one that waits.
        assert_eq!(slots.num_taken(), 2);
        assert!(promise(&slots).is_some());
        drop(first);
        drop(new.now_or_never().unwrap());
        drop(second);
        assert_eq!(slots.num_taken(), 0);
        let brief = slots.wait(Class::Brief).now_or_never().unwrap();
        assert!(brief.wanted_for_reserve().is_none());
    }

    #[test]
    fn brief_work_keeps_no_other_work_out() {
        let slots = slots(3).with_reserve(1);
        let brief = || slots.wait(Class::Brief).now_or_never();
        let held: Vec<_> = std::iter::from_fn(brief).collect();
        assert_eq!(held.len(), 3);
        let mut more = slots.wait(Class::Brief).boxed();
        assert!((&mut more).now_or_never().is_none());
        let new = waiting(&slots, false);
        drop(held);
        assert!(new.now_or_never().is_some() && more.now_or_never().is_some());
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
