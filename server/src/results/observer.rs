//! Logs and counts results.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::backend::request::{Request, Source};
use crate::metrics::Metrics;
use crate::results::status::ResultStatus;

/// Counts one result, and logs it when it ends.
#[derive(Debug)]
pub(super) struct ResultObserver {
    metrics: Arc<Metrics>,
    what: String,
    began: Instant,
    has_batch: AtomicBool,
}

impl ResultObserver {
    /// Counts a new result.
    pub(super) fn new(metrics: Arc<Metrics>, request: &Request) -> Self {
        metrics.streams_started.inc();
        metrics.streams_running.inc();
        // The text of a statement is not logged, because it may contain confidential values.
        let what = match &request.source {
            Source::Sql(query) => format!("sql of {} bytes", query.sql.len()),
            Source::Table(query) => format!("table {:?}", query.table),
            Source::Query(query) => format!("query {}", query.table),
        };
        Self {
            metrics,
            what,
            began: Instant::now(),
            has_batch: AtomicBool::new(false),
        }
    }

    /// Counts a message that was given to a connection.
    pub(super) fn sent(&self, num_rows: u64, num_bytes: u64, is_batch: bool) {
        self.metrics.rows_sent.inc_by(num_rows);
        self.metrics.bytes_sent.inc_by(num_bytes);
        self.metrics.batches_sent.inc_by(u64::from(is_batch));
        if is_batch && !self.has_batch.swap(true, Ordering::Relaxed) {
            let seconds = self.began.elapsed().as_secs_f64();
            self.metrics.first_batch_seconds.observe(seconds);
        }
    }

    /// Counts a result that had been cancelled and continues.
    pub(super) fn goes_on(&self) {
        self.metrics.streams_started.inc();
        self.metrics.streams_running.inc();
    }

    /// Counts and logs the end of a result.
    pub(super) fn ended(&self, status: &ResultStatus) {
        self.metrics.streams_running.dec();
        self.metrics.stream_ended(status.state);
        tracing::info!(
            id = %status.id,
            what = self.what,
            state = status.state,
            rows = status.rows_sent,
            batches = status.batches_sent,
            bytes = status.bytes_sent,
            ms = status.elapsed_ms,
            code = status.error.as_ref().map(|error| error.code),
            "query"
        );
    }
}
