use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use serde::Serialize;

use super::Format;

const RUNNING: u8 = 0;
const STATES: [&str; 4] = ["running", "done", "failed", "cancelled"];

/// Progress of one export.
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
    /// `parquet`, `csv`, `arrow`, `ndjson` or `json`.
    pub format: &'static str,
    /// Rows of the file so far.
    pub rows: u64,
    /// Bytes of the file so far.
    pub bytes: u64,
    /// `running`, `done`, `failed` or `cancelled` (its reader left).
    pub state: &'static str,
}

impl ExportProgress {
    /// The progress of an export that has just started.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            state: AtomicU8::new(RUNNING),
        }
    }

    /// The progress to show.
    pub fn status(&self) -> ExportStatus {
        ExportStatus {
            format: self.format.name(),
            rows: self.rows.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            state: STATES[usize::from(self.state.load(Ordering::Relaxed))],
        }
    }

    /// Records the end of the export; only the first call has an effect.
    fn end(&self, state: u8) {
        let _ = self
            .state
            .compare_exchange(RUNNING, state, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Held by the file. If it is dropped before the file's end, the export counts as cancelled.
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
