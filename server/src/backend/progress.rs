//! Progress of a query in a remote engine.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// The engine's last report.
#[derive(Debug, Default)]
pub struct EngineProgress(Mutex<Option<EngineProgressStatus>>);

/// Tasks of a query, as `GET /v1/query/{id}` shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EngineProgressStatus {
    /// Tasks that the engine has finished.
    pub tasks_done: u64,
    /// Tasks that the engine knows of; the number may grow.
    pub tasks: u64,
}

impl EngineProgress {
    /// Records a report of the engine.
    pub fn note(&self, status: EngineProgressStatus) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
    }

    /// The last report; `None` before the first.
    pub fn status(&self) -> Option<EngineProgressStatus> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
