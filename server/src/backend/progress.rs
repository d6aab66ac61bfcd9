//! Progress of a query, and what it used.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::source::ScanMeter;

/// How often a plan is asked how many bytes it will read: that takes time if it has many files.
const ASK_INTERVAL: Duration = Duration::from_millis(250);

/// The engine's last reports, or what this process counts.
#[derive(Debug, Default)]
pub struct EngineProgress(Mutex<Reports>);

#[derive(Debug, Default)]
struct Reports {
    status: Option<EngineProgressStatus>,
    usage: Option<Usage>,
    bytes_total: Option<u64>,
    scans: Option<ScanMeter>,
    /// When `bytes_total` was asked for in vain.
    asked: Option<Instant>,
}

/// Tasks of a query, as `GET /v1/query/{id}` shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EngineProgressStatus {
    /// Tasks that the engine has finished.
    pub tasks_done: u64,
    /// Tasks that the engine knows of; the number may grow.
    pub tasks: u64,
}

/// What a statement has read of its sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BytesRead {
    /// Bytes that were read.
    pub bytes_read: u64,
    /// The most that its plan will read; `None` while that is not known.
    pub bytes_total: Option<u64>,
}

/// What a statement used, as `GET /v1/query/{id}` shows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time of all threads.
    pub cpu_ms: u64,
    /// The most memory that was allocated at a time.
    pub peak_memory_bytes: u64,
    /// Bytes of sources that were read.
    pub scanned_bytes: u64,
    /// Bytes that were written to spill files.
    pub spilled_bytes: u64,
}

/// A process whose statement needed more memory or processor time is not used again, because its allocator may
/// keep some of the memory, and its priority cannot rise.
const MAX_REUSED_BYTES: u64 = 128 << 20;
pub(super) const MAX_SHORT_MS: u64 = 1000;

impl Usage {
    /// Whether the process of the statement may run another one.
    pub(super) fn permits_reuse(&self) -> bool {
        self.peak_memory_bytes <= MAX_REUSED_BYTES && self.cpu_ms <= MAX_SHORT_MS
    }
}

impl EngineProgress {
    /// The progress of a plan that this process executes.
    pub(crate) fn of_scans(scans: ScanMeter) -> Self {
        Self(Mutex::new(Reports {
            bytes_total: scans.bytes_total(),
            scans: Some(scans),
            ..Reports::default()
        }))
    }

    /// Records a report of the engine.
    pub fn note(&self, status: EngineProgressStatus) {
        self.lock().status = Some(status);
    }

    /// Records what the query has used so far, and the most bytes that it will read, if that is known now.
    pub fn note_usage(&self, usage: Usage, bytes_total: Option<u64>) {
        let mut reports = self.lock();
        reports.usage = Some(usage);
        reports.bytes_total = bytes_total.or(reports.bytes_total);
    }

    /// What the query has read, if that is known.
    pub fn read(&self) -> Option<BytesRead> {
        let mut reports = self.lock();
        let bytes_read = match (&reports.usage, &reports.scans) {
            (Some(usage), _) => usage.scanned_bytes,
            (None, Some(scans)) => scans.bytes_read(),
            (None, None) => return None,
        };
        let is_due = reports
            .asked
            .is_none_or(|asked| asked.elapsed() > ASK_INTERVAL);
        if reports.bytes_total.is_none() && is_due {
            reports.bytes_total = reports.scans.as_ref().and_then(ScanMeter::bytes_total);
            reports.asked = Some(Instant::now());
        }
        let bytes_total = reports.bytes_total.map(|total| total.max(bytes_read));
        Some(BytesRead {
            bytes_read,
            bytes_total,
        })
    }

    /// The last report; `None` before the first.
    pub fn status(&self) -> Option<EngineProgressStatus> {
        self.lock().status
    }

    /// What the query has used, if that is known.
    pub fn usage(&self) -> Option<Usage> {
        self.lock().usage
    }

    fn lock(&self) -> MutexGuard<'_, Reports> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
