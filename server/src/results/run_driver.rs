//! Drives a run from its first message to its end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use uuid::Uuid;

use crate::error::{ErrorKind, QueryError, source_changed};
use crate::message::IpcMessage;
use crate::order::Stitcher;
use crate::results::registry::Registry;
use crate::results::run::{Run, cancelled, timed_out};
use crate::slots::Slot;
use crate::source::Table;

/// Drives a run: takes messages from its stitcher while a reader wants them.
pub(super) struct RunDriver {
    pub(super) registry: Arc<Registry>,
    pub(super) run: Arc<Run>,
    pub(super) stitcher: Stitcher,
    /// Held while the run works. A run whose reader is another run has none.
    pub(super) _slot: Option<Slot>,
    /// The tables that it reads, in their state at planning.
    pub(super) sources: Vec<Arc<Table>>,
    /// Remaining time of execution; waiting for readers is not counted.
    pub(super) time_left: Option<Duration>,
    /// What is logged if the run works for long.
    pub(super) slow: Option<SlowRun>,
}

/// A request that is logged if its run works longer than `after`; waiting for readers is not counted.
pub(super) struct SlowRun {
    pub(super) after: Duration,
    /// The time that it has worked.
    pub(super) worked: Duration,
    pub(super) id: Uuid,
    /// The members of `POST /v1/query` that say which rows.
    pub(super) request: Value,
}

impl SlowRun {
    /// Logs the request when the run, which works from now on, has worked for so long. Never ready.
    async fn watch(slow: Option<&Self>) -> Infallible {
        if let Some(slow) = slow
            && let Some(time_left) = slow.after.checked_sub(slow.worked)
        {
            tokio::time::sleep(time_left).await;
            let seconds = slow.after.as_secs();
            tracing::warn!(id = %slow.id, seconds, request = %slow.request, "slow query");
        }
        std::future::pending().await
    }
}

impl RunDriver {
    /// Drives the run until it completes, fails or is cancelled.
    pub(super) async fn drive(mut self) {
        let end = loop {
            tokio::select! {
                biased;
                () = self.run.cancel.cancelled() => break Err(cancelled()),
                () = self.run.demanded() => {}
            }
            match self.next().await {
                Some(Ok(message)) => {
                    let registry = &self.registry;
                    self.run
                        .spool
                        .append(message, || registry.free_disk())
                        .await;
                }
                Some(Err(error)) => break Err(error),
                None => break self.compare_sources().await,
            }
        };
        tracing::debug!(peak_bytes = self.stitcher.peak_bytes(), "run ended");
        self.end(&end);
    }

    /// Ends the run; only the first call has an effect.
    fn end(&self, end: &Result<(), QueryError>) {
        if !self.run.is_running() {
            return;
        }
        // Before the spool, so that a reader that sees the end of the stream also sees it in the record.
        self.run.tell_end(end);
        self.run.spool.finish(end.clone());
        // A result can have come between.
        self.run.tell_end(end);
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
            never = SlowRun::watch(self.slow.as_ref()) => match never {},
        };
        let worked = began.elapsed();
        if let Some(time_left) = &mut self.time_left {
            *time_left = time_left.saturating_sub(worked);
        }
        if let Some(slow) = &mut self.slow {
            slow.worked += worked;
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
        self.end(&Err(QueryError::new(
            ErrorKind::Internal,
            "the query stopped before its last row",
            "run the query again",
        )));
        self.registry.note_end();
    }
}
