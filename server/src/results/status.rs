//! A result as clients see it.

use serde::Serialize;
use uuid::Uuid;

use crate::backend::{BytesRead, EngineProgressStatus, Usage};
use crate::error::ErrorSummary;
use crate::results::export::ExportStatus;
use crate::source::LeftOutFile;

/// The record as `GET /v1/query/{id}` shows it.
#[derive(Debug, Clone, Serialize)]
pub struct ResultStatus {
    /// The id.
    pub id: Uuid,
    /// The request: the members of `POST /v1/query` that say which rows.
    pub request: serde_json::Value,
    /// `running`, `done`, `failed` or `cancelled`.
    pub state: &'static str,
    /// `total`, `partition`, `none`; null while the query is being planned.
    pub order: Option<&'static str>,
    /// How rows are read again: `seek` from their source, `spool` from the spool.
    pub way: Option<&'static str>,
    /// Total number of rows; null until known.
    pub rows: Option<u64>,
    /// The first row that can be read.
    pub first_row: u64,
    /// The row after the last that was produced.
    pub rows_ready: u64,
    /// Rows that were given to connections.
    pub rows_sent: u64,
    /// Record batches that were given to connections.
    pub batches_sent: u64,
    /// Bytes that were given to connections.
    pub bytes_sent: u64,
    /// Time from the request to the end, or to now.
    pub elapsed_ms: u64,
    /// Bytes of its spooled rows in memory.
    pub memory_bytes: u64,
    /// Size of the files that its runs are writing stored rows to; 0 when they have ended.
    pub disk_bytes: u64,
    /// The first files that its tables lack, because they could not be read when it was planned.
    pub left_out: Vec<LeftOutFile>,
    /// How far it has come.
    pub progress: ResultProgress,
    /// Progress of the engine, if it reports any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineProgressStatus>,
    /// What its last statement in an engine process used, once that has ended: also if it failed or was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The error, if it failed.
    pub error: Option<ErrorSummary>,
    /// Progress of its latest export.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export: Option<ExportStatus>,
}

/// How far a result has come; what is not known is null.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ResultProgress {
    /// From 0 to 1: of its rows or, if their number is not known, of the bytes that its statement will read at most.
    pub fraction: Option<f64>,
    /// Bytes that its statement has read from its sources.
    pub bytes_read: Option<u64>,
    /// The most bytes that its statement will read.
    pub bytes_total: Option<u64>,
    /// The row after the last that was produced.
    pub rows: u64,
}

impl ResultProgress {
    pub(super) fn new(
        rows: u64,
        num_rows: Option<u64>,
        read: Option<BytesRead>,
        tasks: Option<EngineProgressStatus>,
    ) -> Self {
        let bytes_total = read.and_then(|read| read.bytes_total);
        let part = |done: u64, all: u64| (all > 0).then(|| (done as f64 / all as f64).min(1.0));
        let of_rows = num_rows.and_then(|num_rows| part(rows, num_rows));
        let of_bytes = || read.and_then(|read| part(read.bytes_read, bytes_total?));
        let of_tasks = || tasks.and_then(|tasks| part(tasks.tasks_done, tasks.tasks));
        Self {
            fraction: of_rows.or_else(of_bytes).or_else(of_tasks),
            bytes_read: read.map(|read| read.bytes_read),
            bytes_total,
            rows,
        }
    }
}
