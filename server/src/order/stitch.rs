//! The stitcher: joins many partitions into one ordered stream of messages.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::{FutureExt, StreamExt};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use crate::byte_pool::BytePool;
use crate::encode::cut_message;
use crate::error::{ErrorKind, QueryError};
use crate::message::{IpcMessage, LiveDictionaries, MessageKind};
use crate::order::{Budget, HeldBytes, Partition, Reservation, RowRange};

/// Up to this number of rows, partitions are read one after the other, because reading ahead would be
/// wasted.
const SEQUENTIAL_ROWS: u64 = 50_000;

/// The work of a run that is done where it begins.
const BEGINNING: Duration = Duration::from_millis(100);

/// The parameters of a stitcher.
#[derive(Debug, Clone)]
pub struct StitchPlan {
    /// The schema message; needed to cut a message at the edge of the range.
    pub schema: IpcMessage,
    /// The rows of the result to yield.
    pub range: RowRange,
    /// The number of partitions that run at the same time.
    pub num_parallel: usize,
    /// The maximum number of bytes that are in memory and not yet read.
    pub budget_bytes: u64,
    /// The bytes that a partition reserves before it reads its first batch.
    pub batch_bytes: u64,
    /// The memory pool that all streams share.
    pub pool: Arc<BytePool>,
}

enum Item {
    Message(IpcMessage, Reservation),
    /// The partition is complete, or has failed with this error.
    End(Result<(), QueryError>),
}

/// Yields the messages of all partitions in order. Dropping it aborts the partitions.
pub struct Stitcher {
    schema: IpcMessage,
    channels: VecDeque<UnboundedReceiver<Item>>,
    head: usize,
    budget: Arc<Budget>,
    to_skip: u64,
    to_take: Option<u64>,
    /// The dictionaries that are valid after the last received message.
    dictionaries: LiveDictionaries,
    /// Whether a message has been yielded.
    has_begun: bool,
    ready: VecDeque<IpcMessage>,
    driver: Option<AbortOnDropHandle<()>>,
}

impl Stitcher {
    /// Starts `partitions` on the runtime `begin`. After a little work they go on on the runtime `rest`.
    pub fn start(
        partitions: Vec<Partition>,
        plan: StitchPlan,
        begin: &Handle,
        rest: &Handle,
    ) -> Self {
        let budget = Budget::new(plan.budget_bytes, partitions.len(), plan.pool);
        let mut channels = VecDeque::with_capacity(partitions.len());
        let mut jobs = Vec::with_capacity(partitions.len());
        for (index, partition) in partitions.into_iter().enumerate() {
            let (sender, receiver) = unbounded();
            channels.push_back(receiver);
            jobs.push(Job {
                index,
                partition,
                sender,
                budget: Arc::clone(&budget),
                batch_bytes: plan.batch_bytes,
                max_rows: plan.range.end(),
            });
        }
        let num_parallel = match plan.range.end() {
            Some(end) if end <= SEQUENTIAL_ROWS => 1,
            _ => plan.num_parallel.max(1),
        };
        let driver = (plan.range.limit != Some(0))
            .then(|| AbortOnDropHandle::new(begin.spawn(drive(jobs, num_parallel, rest.clone()))));
        Self {
            schema: plan.schema,
            channels,
            head: 0,
            budget,
            to_skip: plan.range.first_row,
            to_take: plan.range.limit,
            dictionaries: LiveDictionaries::default(),
            has_begun: false,
            ready: VecDeque::new(),
            driver,
        }
    }

    /// The next message in order; `None` after the last row of a successful result. Safe to cancel: no
    /// message is lost if the future is dropped.
    ///
    /// # Errors
    /// A partition failed, panicked or vanished. Nothing follows an error.
    pub async fn next(&mut self) -> Option<Result<IpcMessage, QueryError>> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                self.has_begun = true;
                return Some(Ok(message));
            }
            if self.to_take == Some(0) {
                self.stop();
                return None;
            }
            let Some(channel) = self.channels.front_mut() else {
                self.stop();
                return None;
            };
            match channel.next().await {
                Some(Item::Message(message, reservation)) => {
                    drop(reservation);
                    if let Err(error) = self.take(message) {
                        return Some(Err(self.fail(error)));
                    }
                }
                Some(Item::End(Ok(()))) => {
                    self.channels.pop_front();
                    self.head += 1;
                    self.budget.set_head(self.head);
                }
                Some(Item::End(Err(error))) => return Some(Err(self.fail(error))),
                None => {
                    return Some(Err(self.fail(QueryError::new(
                        ErrorKind::Internal,
                        format!(
                            "partition {} of the result ended before it was complete",
                            self.head
                        ),
                        "run the query again",
                    ))));
                }
            }
        }
    }

    /// Aborts the partitions, and waits until they have given back what they hold.
    pub async fn close(&mut self) {
        let channels = std::mem::take(&mut self.channels);
        self.stop();
        for mut channel in channels {
            while channel.next().await.is_some() {}
        }
    }

    /// The maximum number of bytes that waited at the same time.
    pub fn peak_bytes(&self) -> u64 {
        self.budget.peak_bytes()
    }

    /// Queues those rows of a message that are in the range.
    fn take(&mut self, message: IpcMessage) -> Result<(), QueryError> {
        if message.kind != MessageKind::Batch {
            // Before the first row, only the final state of the dictionaries matters.
            if self.dictionaries.note(&message) && self.has_begun {
                self.ready.push_back(message);
            }
            return Ok(());
        }
        let num_rows = message.num_rows;
        let start = self.to_skip.min(num_rows);
        self.to_skip -= start;
        let rows = self.to_take.unwrap_or(u64::MAX).min(num_rows - start);
        if rows == 0 {
            return Ok(());
        }
        if let Some(to_take) = &mut self.to_take {
            *to_take -= rows;
        }
        if rows < num_rows {
            let range = cut_message(&self.schema, &self.dictionaries, &message, start, rows);
            self.ready.extend(range.map_err(|error| {
                QueryError::new(
                    ErrorKind::Internal,
                    format!("a message could not be cut: {error}"),
                    "",
                )
            })?);
            return Ok(());
        }
        if !self.has_begun {
            self.ready.extend(self.dictionaries.messages().cloned());
        }
        self.ready.push_back(message);
        Ok(())
    }

    fn fail(&mut self, error: QueryError) -> QueryError {
        self.stop();
        error
    }

    fn stop(&mut self) {
        self.driver = None;
        self.channels.clear();
        self.ready.clear();
        self.to_take = Some(0);
    }
}

struct Job {
    index: usize,
    partition: Partition,
    sender: UnboundedSender<Item>,
    budget: Arc<Budget>,
    batch_bytes: u64,
    max_rows: Option<u64>,
}

/// Starts the jobs in order, so that the head is always among the running ones.
async fn drive(jobs: Vec<Job>, num_parallel: usize, rest: Handle) {
    let permits = Arc::new(Semaphore::new(num_parallel));
    let mut running = JoinSet::new();
    let beginning = Arc::<Beginning>::default();
    for job in jobs {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let (here, rest) = (Arc::clone(&beginning), rest.clone());
        let within = Arc::clone(&beginning);
        let work = async move {
            job.run(&within).await;
            drop(permit);
        };
        running.spawn(async move { here.work(work, rest).await });
        while running.try_join_next().is_some() {}
    }
    while running.join_next().await.is_some() {}
}

/// The beginning of a run, which ends when all its partitions together have worked for [`BEGINNING`].
#[derive(Debug, Default)]
struct Beginning {
    worked_us: AtomicU64,
}

impl Beginning {
    fn is_over(&self) -> bool {
        u128::from(self.worked_us.load(Ordering::Relaxed)) >= BEGINNING.as_micros()
    }

    /// Does the work here during the beginning, and then on `rest`.
    async fn work(&self, work: impl Future<Output = ()> + Send + 'static, rest: Handle) {
        let mut work = Box::pin(work);
        let has_ended = std::future::poll_fn(|context| {
            let began = Instant::now();
            if !self.is_over() && work.as_mut().poll(context).is_ready() {
                return Poll::Ready(true);
            }
            let worked_us = began.elapsed().as_micros() as u64;
            self.worked_us.fetch_add(worked_us, Ordering::Relaxed);
            if self.is_over() {
                Poll::Ready(false)
            } else {
                Poll::Pending
            }
        });
        if !has_ended.await {
            let _ = AbortOnDropHandle::new(rest.spawn(work)).await;
        }
    }
}

impl Job {
    async fn run(self, beginning: &Beginning) {
        let Self {
            index,
            partition,
            sender,
            budget,
            batch_bytes,
            max_rows,
        } = self;
        let work = async {
            let mut work = budget.working(index);
            let mut batch_bytes = batch_bytes;
            work.grow(batch_bytes).await;
            let held = HeldBytes::default();
            let mut messages = partition(held.clone());
            let mut num_rows = 0;
            while let Some(message) = messages.next().await {
                let message = message?;
                num_rows += message.num_rows;
                let message_bytes = message.num_bytes() as u64;
                let holds_bytes = held.num_bytes();
                batch_bytes = batch_bytes.max(message_bytes + holds_bytes);
                let reservation = work.split(message_bytes, holds_bytes);
                if sender
                    .unbounded_send(Item::Message(message, reservation))
                    .is_err()
                {
                    return Ok(());
                }
                if max_rows.is_some_and(|max_rows| num_rows >= max_rows) {
                    break;
                }
                if !beginning.is_over() {
                    tokio::task::yield_now().await;
                }
                // Messages that are already encoded are sent without waiting for memory for the next
                // batch.
                if holds_bytes == 0 {
                    work.grow(batch_bytes).await;
                }
            }
            Ok(())
        };
        let outcome = AssertUnwindSafe(work)
            .catch_unwind()
            .await
            .unwrap_or_else(|_| {
                Err(QueryError::new(
                    ErrorKind::Internal,
                    format!("a worker of the server failed in partition {index} of the result"),
                    "see the server's log; other tables are not affected",
                ))
            });
        // If the stream has ended early, nobody receives this.
        let _ = sender.unbounded_send(Item::End(outcome));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use bytes::Bytes;

    use super::*;

    const MESSAGE_BYTES: u64 = 1000;

    /// A batch of one row whose body states the row's number.
    fn message(row: u64) -> IpcMessage {
        let mut body = row.to_le_bytes().to_vec();
        body.resize(MESSAGE_BYTES as usize, 0);
        IpcMessage {
            kind: MessageKind::Batch,
            metadata: Bytes::new(),
            body: body.into(),
            num_rows: 1,
        }
    }

    fn row(message: &IpcMessage) -> u64 {
        u64::from_le_bytes(message.body[..8].try_into().unwrap())
    }

    /// Pseudo-random numbers, reproducible by their seed; xorshift64.
    #[derive(Clone)]
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % end
        }
    }

    /// How a partition ends.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum End {
        Well,
        Fails,
        Panics,
    }

    /// A partition of rows `rows`, each after a pause of its own. Counts the bytes that are alive in
    /// it.
    fn partition(
        rows: std::ops::Range<u64>,
        mut random: Random,
        end: End,
        alive: Arc<AtomicU64>,
    ) -> Partition {
        Box::new(move |_| {
            let script = rows.map(Some).chain([None]);
            futures::stream::iter(script)
                .then(move |row| {
                    let pauses = random.below(4);
                    let is_slow = random.below(40) == 0;
                    let alive = Arc::clone(&alive);
                    async move {
                        for _ in 0..pauses {
                            tokio::task::yield_now().await;
                        }
                        if is_slow {
                            tokio::time::sleep(Duration::from_micros(200)).await;
                        }
                        match (row, end) {
                            (Some(row), _) => {
                                alive.fetch_add(MESSAGE_BYTES, Ordering::SeqCst);
                                Some(Ok(message(row)))
                            }
                            (None, End::Well) => None,
                            (None, End::Fails) => Some(Err(QueryError::new(
                                ErrorKind::ExecutionError,
                                "told to fail",
                                "",
                            ))),
                            (None, End::Panics) => panic!("told to panic"),
                        }
                    }
                })
                .filter_map(std::future::ready)
                .boxed()
        })
    }

    fn plan(budget_bytes: u64, range: RowRange) -> StitchPlan {
        StitchPlan {
            schema: message(0),
            range,
            num_parallel: 4,
            budget_bytes,
            batch_bytes: MESSAGE_BYTES,
            pool: BytePool::new(1 << 30),
        }
    }

    fn stitcher(partitions: Vec<Partition>, budget_bytes: u64, range: RowRange) -> Stitcher {
        let runtime = Handle::current();
        Stitcher::start(partitions, plan(budget_bytes, range), &runtime, &runtime)
    }

    #[test]
    fn what_has_worked_for_a_while_leaves_its_thread_to_what_begins() {
        let runtime = |name: &str| {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            let builder = builder.worker_threads(1).thread_name(name);
            builder.enable_all().build().unwrap()
        };
        let (begin, rest) = (runtime("begin"), runtime("rest"));
        let threads_of = |work: Duration| {
            let threads = Arc::new(Mutex::new(Vec::new()));
            let seen = Arc::clone(&threads);
            let rows = move |row| {
                std::thread::sleep(work);
                let name = std::thread::current().name().unwrap().to_owned();
                seen.lock().unwrap().push(name);
                Ok(message(row))
            };
            let partition: Partition =
                Box::new(move |_| futures::stream::iter((0..3).map(rows)).boxed());
            let plan = plan(MESSAGE_BYTES, RowRange::default());
            let mut stitcher =
                Stitcher::start(vec![partition], plan, begin.handle(), rest.handle());
            begin.block_on(async { while stitcher.next().await.is_some() {} });
            Arc::into_inner(threads).unwrap().into_inner().unwrap()
        };
        assert_eq!(threads_of(Duration::ZERO), ["begin", "begin", "begin"]);
        assert_eq!(threads_of(BEGINNING), ["begin", "rest", "rest"]);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_thousand_shuffles_have_one_order_within_the_budget() {
        for seed in 1..=1000 {
            let mut random = Random(seed * 0x9E37_79B9_7F4A_7C15);
            let alive = Arc::new(AtomicU64::new(0));
            let mut num_rows = 0;
            let partitions = (0..1 + random.below(9)).map(|_| {
                let rows = num_rows..num_rows + random.below(20) * random.below(2);
                num_rows = rows.end;
                partition(
                    rows,
                    Random(random.below(1 << 60) + 1),
                    End::Well,
                    Arc::clone(&alive),
                )
            });
            let partitions = partitions.collect();
            // Budgets from one batch on.
            let budget_bytes = MESSAGE_BYTES * (1 + random.below(12));
            let mut stitcher = stitcher(partitions, budget_bytes, RowRange::default());
            for expected in 0..num_rows {
                let message = stitcher.next().await.unwrap().unwrap();
                assert_eq!(row(&message), expected, "seed {seed}");
                let alive = alive.fetch_sub(MESSAGE_BYTES, Ordering::SeqCst);
                // This reader holds the message that it received.
                assert!(
                    alive <= budget_bytes + MESSAGE_BYTES,
                    "seed {seed}: {alive}"
                );
            }
            assert!(stitcher.next().await.is_none(), "seed {seed}");
            assert!(
                stitcher.peak_bytes() <= budget_bytes,
                "seed {seed}: {}",
                stitcher.peak_bytes()
            );
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn failures_and_panics_come_in_their_turn() {
        for (seed, end) in (1..=200).zip([End::Fails, End::Panics].into_iter().cycle()) {
            let mut random = Random(seed * 0x9E37_79B9_7F4A_7C15);
            let bad = random.below(5);
            let partitions = (0..5).map(|index| {
                let end = if index == bad { end } else { End::Well };
                let seed = Random(random.below(1 << 60) + 1);
                partition(index * 10..index * 10 + 10, seed, end, Arc::default())
            });
            let partitions = partitions.collect();
            let mut stitcher = stitcher(partitions, MESSAGE_BYTES * 20, RowRange::default());
            for expected in 0..bad * 10 + 10 {
                let message = stitcher.next().await.unwrap().unwrap();
                assert_eq!(row(&message), expected, "seed {seed}");
            }
            let error = stitcher.next().await.unwrap().unwrap_err();
            let kind = match end {
                End::Panics => ErrorKind::Internal,
                _ => ErrorKind::ExecutionError,
            };
            assert_eq!(error.kind, kind, "seed {seed}");
            assert!(stitcher.next().await.is_none(), "nothing follows an error");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_limit_ends_the_parts_early() {
        let alive = Arc::new(AtomicU64::new(0));
        let partitions = (0..10)
            .map(|k| {
                partition(
                    k * 1000..k * 1000 + 1000,
                    Random(k + 1),
                    End::Well,
                    Arc::clone(&alive),
                )
            })
            .collect();
        let range = RowRange {
            first_row: 1500,
            limit: Some(3),
        };
        let mut stitcher = stitcher(partitions, MESSAGE_BYTES * 4, range);
        for expected in 1500..1503 {
            assert_eq!(row(&stitcher.next().await.unwrap().unwrap()), expected);
        }
        assert!(stitcher.next().await.is_none());
        assert!(
            alive.load(Ordering::SeqCst) < 1600 * MESSAGE_BYTES,
            "later partitions did not run"
        );
    }
}
