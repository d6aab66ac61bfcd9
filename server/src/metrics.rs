//! The server's metrics, for `GET /metrics`.

use std::sync::atomic::AtomicU64;
use std::time::Instant;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// One label with its value.
type Label = [(&'static str, &'static str); 1];

/// Buckets for the seconds to the first batch: from a table in memory to a sort of a whole table.
const FIRST_BATCH_BUCKETS_S: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0,
];

/// All metrics. A `Gauge` is a current value; a `Counter` only grows.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    began: Instant,
    /// Connections that are open.
    pub connections_open: Gauge,
    /// Connections that were accepted.
    pub connections: Counter,
    /// Connections that were answered with 503 because too many were open.
    pub connections_refused: Counter,
    requests: Family<Label, Counter>,
    /// Queries that run or wait for their reader.
    pub streams_running: Gauge,
    /// Queries that were started.
    pub streams_started: Counter,
    streams_ended: Family<Label, Counter>,
    /// Rows that were given to a connection.
    pub rows_sent: Counter,
    /// Record batches that were given to a connection.
    pub batches_sent: Counter,
    /// Bytes of Arrow streams that were given to a connection.
    pub bytes_sent: Counter,
    /// Seconds from a request to its first batch.
    pub first_batch_seconds: Histogram,
    /// Runs that have not ended.
    pub run_slots_taken: Gauge,
    /// Streams, exports, searches and summaries that hold a slot.
    pub stream_slots_taken: Gauge,
    /// Bytes that were encoded ahead of their turn.
    pub run_ahead_bytes: Gauge,
    /// Bytes of results that wait in memory.
    pub spool_memory_bytes: Gauge,
    /// Bytes of results that wait on disk.
    pub spool_disk_bytes: Gauge,
    /// Results that are kept for their next reader.
    pub results_kept: Gauge,
    /// Bytes that the server's process holds.
    pub memory_held_bytes: Gauge,
    /// Bytes that engine processes may take.
    pub memory_granted_bytes: Gauge,
    /// Bytes that the engine's operators hold.
    pub memory_reserved_bytes: Gauge,
    /// Bytes on disk of operators that exceed the memory, such as sorts.
    pub spill_bytes: Gauge,
    uploads: Family<Label, Counter>,
    /// Bytes of uploads, including those that failed.
    pub upload_received_bytes: Counter,
    /// Bytes on disk of uploaded tables and of uploads in progress.
    pub upload_stored_bytes: Gauge,
    resident_memory_bytes: Gauge,
    uptime_seconds: Gauge<u64, AtomicU64>,
}

impl Metrics {
    /// Metrics that are all 0.
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("colonnade"),
            began: Instant::now(),
            connections_open: Gauge::default(),
            connections: Counter::default(),
            connections_refused: Counter::default(),
            requests: Family::default(),
            streams_running: Gauge::default(),
            streams_started: Counter::default(),
            streams_ended: Family::default(),
            rows_sent: Counter::default(),
            batches_sent: Counter::default(),
            bytes_sent: Counter::default(),
            first_batch_seconds: Histogram::new(FIRST_BATCH_BUCKETS_S),
            run_slots_taken: Gauge::default(),
            stream_slots_taken: Gauge::default(),
            run_ahead_bytes: Gauge::default(),
            spool_memory_bytes: Gauge::default(),
            spool_disk_bytes: Gauge::default(),
            results_kept: Gauge::default(),
            memory_held_bytes: Gauge::default(),
            memory_granted_bytes: Gauge::default(),
            memory_reserved_bytes: Gauge::default(),
            spill_bytes: Gauge::default(),
            uploads: Family::default(),
            upload_received_bytes: Counter::default(),
            upload_stored_bytes: Gauge::default(),
            resident_memory_bytes: Gauge::default(),
            uptime_seconds: Gauge::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        macro_rules! register {
            ($($field:ident $help:literal)*) => {
                $(self.registry.register(stringify!($field), $help, self.$field.clone());)*
            };
        }
        register! {
            connections_open "Connections that are open"
            connections "Connections that were accepted"
            connections_refused "Connections refused because too many were open"
            requests "Requests by class of status"
            streams_running "Queries that run or wait for their reader"
            streams_started "Queries that were started"
            streams_ended "Queries that ended, by state"
            rows_sent "Rows given to connections"
            batches_sent "Record batches given to connections"
            bytes_sent "Bytes of Arrow streams given to connections"
            first_batch_seconds "Time from a request to its first batch"
            run_slots_taken "Queries that work or wait for a reader that is connected or may come"
            stream_slots_taken "Streams, exports, searches and summaries that count for --max-streams"
            run_ahead_bytes "Bytes encoded ahead of their turn"
            spool_memory_bytes "Bytes of results that wait in memory"
            spool_disk_bytes "Bytes of results that wait on disk"
            results_kept "Results kept for their next reader"
            memory_held_bytes "Bytes that the server's process holds"
            memory_granted_bytes "Bytes that engine processes may take"
            memory_reserved_bytes "Bytes that the engine's operators hold"
            spill_bytes "Bytes on disk of operators that exceed the memory"
            uploads "Uploads by result"
            upload_received_bytes "Bytes of uploads"
            upload_stored_bytes "Bytes on disk of uploaded tables"
            resident_memory_bytes "Memory of the process"
            uptime_seconds "Time since the start"
        }
        // Created now, so that they are listed from the start.
        for state in ["done", "failed", "cancelled"] {
            drop(self.streams_ended.get_or_create(&[("state", state)]));
        }
        for result in ["ok", "failed"] {
            drop(self.uploads.get_or_create(&[("result", result)]));
        }
    }

    /// Counts a request that was answered with this status.
    pub fn request(&self, status: u16) {
        let class = match status / 100 {
            1 => "1xx",
            2 => "2xx",
            3 => "3xx",
            4 => "4xx",
            _ => "5xx",
        };
        self.requests.get_or_create(&[("status", class)]).inc();
    }

    /// Counts a query that ended as `done`, `failed` or `cancelled`.
    pub fn stream_ended(&self, state: &'static str) {
        self.streams_ended.get_or_create(&[("state", state)]).inc();
    }

    /// Counts an upload that became a table (`is_ok`) or failed.
    pub fn upload(&self, is_ok: bool) {
        let result = if is_ok { "ok" } else { "failed" };
        self.uploads.get_or_create(&[("result", result)]).inc();
    }

    /// All metrics as OpenMetrics text, which Prometheus reads.
    pub fn text(&self) -> String {
        self.resident_memory_bytes.set(resident_memory_bytes());
        self.uptime_seconds.set(self.began.elapsed().as_secs());
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// Resident memory of the process, or 0 where the system does not report it.
fn resident_memory_bytes() -> i64 {
    let kib = std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
            line.split_whitespace().nth(1)?.parse::<i64>().ok()
        });
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_have_a_name_and_a_value() {
        let metrics = Metrics::new();
        metrics.rows_sent.inc_by(7);
        metrics.request(404);
        metrics.first_batch_seconds.observe(0.2);
        let text = metrics.text();
        for line in [
            "colonnade_rows_sent_total 7",
            "colonnade_requests_total{status=\"4xx\"} 1",
            "colonnade_streams_ended_total{state=\"failed\"} 0",
            "colonnade_first_batch_seconds_bucket{le=\"0.25\"} 1",
            "# EOF",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
    }
}
