use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use serde::Serialize;

use super::Format;

const RUNNING: u8 = 0;
const STATES: [&str; 4] = ["running", "done", "failed", "cancelled"];

/// What one export has handed out so far.
#[derive(Debug)]
pub struct ExportProgress {
    format: Format,
    rows: AtomicU64,
    bytes: AtomicU64,
    /// An index of `STATES`.
    state: AtomicU8,
}

/// The progress as `GET /v1/query/{id}` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportStatus {
    /// `parquet`, `csv`, `arrow` or `ndjson`.
    pub format: &'static str,
    /// Rows of the file so far.
    pub rows: u64,
    /// Bytes of the file so far.
    pub bytes: u64,
    /// `running`, `done`, `failed` or `cancelled` (its reader left).
    pub state: &'static str,
}

impl ExportProgress {
    /// An export that has just begun.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            state: AtomicU8::new(RUNNING),
        }
    }

    /// What to show.
    pub fn status(&self) -> ExportStatus {
        ExportStatus {
            format: self.format.name(),
            rows: self.rows.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            state: STATES[usize::from(self.state.load(Ordering::Relaxed))],
        }
    }

    /// The first end counts.
    fn end(&self, state: u8) {
        let _ = self
            .state
            .compare_exchange(RUNNING, state, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Held by the file: when it is dropped before its end, the export was cancelled.
pub(super) struct Watch(Arc<ExportProgress>);

impl Watch {
    pub(super) fn new(progress: Arc<ExportProgress>) -> Self {
        Self(progress)
    }

    pub(super) fn sent(&self, num_rows: u64, num_bytes: u64) {
        self.0.rows.fetch_add(num_rows, Ordering::Relaxed);
        self.0.bytes.fetch_add(num_bytes, Ordering::Relaxed);
    }

    pub(super) fn done(&self) {
        self.0.end(1);
    }

    pub(super) fn failed(&self) {
        self.0.end(2);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.end(3);
    }
}
