//! How far an engine elsewhere is with a query.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// What the engine said last.
#[derive(Debug, Default)]
pub struct EngineProgress(Mutex<Option<EngineProgressStatus>>);

/// Tasks of a query, as `GET /v1/query/{id}` shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EngineProgressStatus {
    /// Tasks that the engine has finished.
    pub tasks_done: u64,
    /// Tasks that it knows of; more may come.
    pub tasks: u64,
}

impl EngineProgress {
    /// Notes what the engine says.
    pub fn note(&self, status: EngineProgressStatus) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
    }

    /// What it said last; `None` before it said anything.
    pub fn status(&self) -> Option<EngineProgressStatus> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
