//! Drives a run from its first message to its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use crate::error::{ErrorKind, QueryError, source_changed};
use crate::message::IpcMessage;
use crate::order::Stitcher;
use crate::results::record::rows_gone;
use crate::results::registry::Registry;
use crate::results::run::{Run, cancelled, timed_out};
use crate::slots::{Promise, Slot, Slots};
use crate::source::Table;

/// How long nobody may read a run that holds what others want. It is longer than the pauses of a slow reader, who would
/// have it run again for each message.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// A run that can begin again at any row gives way to others although it is read, after the longest of: this time, the
/// time in which each run gets so much of a core, and a multiple of the time until its first rows, which it takes again
/// to begin.
const LEAST_TURN: Duration = Duration::from_millis(500);
const CORE_TIME_OF_TURN: Duration = Duration::from_millis(100);
const TURN_OF_BEGIN: u32 = 4;

/// But never longer than this part of the time that a newcomer waits, because all runs may have begun together.
const LONGEST_TURN: u32 = 4;

/// Drives a run: takes messages from its stitcher while a reader wants them.
pub(super) struct RunDriver {
    pub(super) registry: Arc<Registry>,
    pub(super) run: Arc<Run>,
    pub(super) stitcher: Stitcher,
    /// Held while the run goes on, together with the run that reads it if there is one.
    pub(super) slot: Arc<Slot>,
    /// The kinds of slots that it holds one of and can give back.
    pub(super) slots: Vec<Slots>,
    /// Whether another run gives the same rows.
    pub(super) is_repeatable: bool,
    /// Whether another run can begin at any row, without the work for the rows before it.
    pub(super) is_seekable: bool,
    /// The tables that it reads, in their state at planning.
    pub(super) sources: Vec<Arc<Table>>,
    /// The cores that all runs share.
    pub(super) num_cores: usize,
    /// How long a newcomer waits for the slot of a run.
    pub(super) queue_timeout: Duration,
    /// Remaining time of execution; waiting for readers is not counted.
    pub(super) time_left: Option<Duration>,
}

impl RunDriver {
    /// Drives the run until it completes, fails, is cancelled or gives way.
    pub(super) async fn drive(mut self) {
        // A run that others wait for, and that cannot be repeated, goes on without readers.
        let mut is_unread = false;
        let began = Instant::now();
        let mut turn_ends = None;
        let end = loop {
            if turn_ends.is_some_and(|end| Instant::now() >= end)
                && let Some(promise) = self.wanted_now()
            {
                return self.give_way(promise).await;
            }
            tokio::select! {
                biased;
                () = self.run.cancel.cancelled() => break Err(cancelled()),
                () = self.run.demanded() => is_unread = false,
                () = std::future::ready(()), if is_unread => {}
                promise = self.wanted(turn_ends) => {
                    if self.is_repeatable {
                        return self.give_way(promise).await;
                    }
                    is_unread = true;
                }
            }
            match self.next().await {
                Some(Ok(message)) => {
                    if turn_ends.is_none() && self.is_repeatable && self.is_seekable {
                        turn_ends = Some(Instant::now() + self.turn(began.elapsed()));
                    }
                    let registry = &self.registry;
                    let spool = &self.run.spool;
                    registry.free_memory(spool.memory(), message.num_bytes() as u64);
                    let keeps_all = spool.append(message, || registry.free_disk()).await;
                    if is_unread && !keeps_all {
                        break Err(rows_gone(spool.rows().start));
                    }
                }
                Some(Err(error)) => break Err(error),
                None => break self.compare_sources().await,
            }
        };
        tracing::debug!(peak_bytes = self.stitcher.peak_bytes(), "run ended");
        self.run.end(&end);
    }

    /// Ends the run for one who waits for its slot.
    async fn give_way(mut self, promise: Promise) {
        self.run.give_way();
        self.stitcher.close().await;
        drop(self);
        drop(promise);
    }

    /// How long the run keeps its slots at least, after it has taken `begin` to its first rows.
    fn turn(&self, begin: Duration) -> Duration {
        let num_slots = self.slots.iter().map(Slots::num_slots).max();
        let runs_of_core = num_slots.unwrap_or_default().div_ceil(self.num_cores);
        let turn = CORE_TIME_OF_TURN * runs_of_core as u32;
        let turn = turn.max(LEAST_TURN).max(begin * TURN_OF_BEGIN);
        turn.min(self.queue_timeout / LONGEST_TURN)
    }

    /// Whether a slot that this run holds is wanted now.
    fn wanted_now(&self) -> Option<Promise> {
        let by_others = self.slots.iter().find_map(Slots::wanted_now);
        by_others.or_else(|| self.slot.wanted_for_reserve())
    }

    /// Waits until nobody has read for a while, or the turn is over, and others wait for a slot of a kind that this run
    /// holds.
    async fn wanted(&self, turn_ends: Option<Instant>) -> Promise {
        let idle = Instant::now() + IDLE_TIME;
        let since = turn_ends.map_or(idle, |end| idle.min(end));
        tokio::time::sleep_until(since.into()).await;
        let mut wanted: FuturesUnordered<_> = self.slots.iter().map(Slots::wanted).collect();
        match wanted.next().await {
            Some(promise) => promise,
            // A run whose reader is a run may hold none.
            None => std::future::pending().await,
        }
    }

    async fn next(&mut self) -> Option<Result<IpcMessage, QueryError>> {
        let began = Instant::now();
        let time_left = self.time_left;
        let timeout = async {
            match time_left {
                Some(time_left) => tokio::time::sleep(time_left).await,
                None => std::future::pending().await,
            }
        };
        let next = tokio::select! {
            biased;
            () = self.run.cancel.cancelled() => Some(Err(cancelled())),
            next = self.stitcher.next() => next,
            () = timeout => Some(Err(timed_out())),
        };
        if let Some(time_left) = &mut self.time_left {
            *time_left = time_left.saturating_sub(began.elapsed());
        }
        next
    }

    /// Fails if a source has changed since planning, because then the result is not complete.
    async fn compare_sources(&self) -> Result<(), QueryError> {
        let sources = self.sources.clone();
        let changed = tokio::task::spawn_blocking(move || {
            sources
                .iter()
                .find(|table| table.has_changed())
                .map(|table| table.name.clone())
        });
        match changed.await {
            Ok(Some(name)) => Err(source_changed(&name)),
            _ => Ok(()),
        }
    }
}

impl Drop for RunDriver {
    fn drop(&mut self) {
        // Has an effect only if the driver panicked or was dropped.
        if self.run.is_running() {
            self.run.end(&Err(QueryError::new(
                ErrorKind::Internal,
                "the query stopped before its last row",
                "run the query again",
            )));
        }
        self.registry.note_end(&self.run);
    }
}
