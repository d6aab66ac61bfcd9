//! One operation of Spark and its responses, across all the calls that carry them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tonic::{Code, Status, Streaming};
use uuid::Uuid;

use super::proto::{ExecutePlanResponse, ExecutionProgress, Plan, ResponseType};
use super::session::{Session, is_broken};
use crate::backend::connection::stands_still;
use crate::backend::received::bad_engine;
use crate::backend::{EngineProgress, EngineProgressStatus};
use crate::error::QueryError;

/// Attempts to reattach, one after the other and without a response, before the query fails.
const MAX_ATTEMPTS: u32 = 6;

/// The pause before the second attempt; each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Rows as received from Spark.
pub(super) struct Batch {
    /// A complete Arrow IPC stream.
    pub(super) data: Bytes,
    /// Number of rows, if Spark gives it.
    pub(super) num_rows: Option<i64>,
    /// The number of the first row in the result, if Spark gives it.
    pub(super) first_row: Option<i64>,
}

/// A statement that runs in Spark. A call may end early, because Spark ends it after some minutes or bytes,
/// or because the connection breaks. The next call continues after the last response. Dropping the execution
/// stops the statement.
pub(super) struct Execution {
    session: Arc<Session>,
    operation_id: String,
    responses: Option<Streaming<ExecutePlanResponse>>,
    last_response_id: Option<String>,
    is_complete: bool,
    progress: Arc<EngineProgress>,
}

impl Execution {
    /// Starts a statement.
    ///
    /// # Errors
    /// Spark's error.
    pub(super) async fn start(
        session: &Arc<Session>,
        plan: Plan,
        progress: Arc<EngineProgress>,
    ) -> Result<Self, QueryError> {
        let mut execution = Self {
            session: Arc::clone(session),
            operation_id: Uuid::new_v4().to_string(),
            responses: None,
            last_response_id: None,
            is_complete: false,
            progress,
        };
        match session.execute(&execution.operation_id, plan).await {
            Ok(responses) => execution.responses = Some(responses),
            Err(status) => return Err(session.error(&status).await),
        }
        Ok(execution)
    }

    /// The next batch; `None` after Spark's message `ResultComplete`.
    ///
    /// # Errors
    /// Spark's error, or Spark can no longer be reached.
    pub(super) async fn next(&mut self) -> Result<Option<Batch>, QueryError> {
        let mut attempts = 0;
        while !self.is_complete {
            let next = match &mut self.responses {
                Some(responses) => self.session.response(responses).await,
                None => {
                    if attempts > 0 {
                        tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(attempts - 1)).await;
                    }
                    attempts += 1;
                    self.reattach().await
                }
            };
            match next {
                Ok(Some(response)) => {
                    attempts = 0;
                    if let Some(batch) = self.take(response)? {
                        return Ok(Some(batch));
                    }
                }
                // Without `ResultComplete`, only the call has ended, and not the operation.
                Ok(None) if attempts < MAX_ATTEMPTS => self.responses = None,
                Ok(None) => {
                    return Err(bad_engine(
                        "the stream of rows ended repeatedly without Spark's ResultComplete",
                    ));
                }
                Err(status) if may_go_on(&status) && attempts < MAX_ATTEMPTS => {
                    self.responses = None;
                }
                Err(status) => {
                    self.responses = None;
                    return Err(self.session.error(&status).await);
                }
            }
        }
        Ok(None)
    }

    async fn reattach(&mut self) -> Result<Option<ExecutePlanResponse>, Status> {
        let last = self.last_response_id.as_deref();
        let responses = self.session.reattach(&self.operation_id, last).await?;
        let responses = self.responses.insert(responses);
        self.session.response(responses).await
    }

    fn take(&mut self, response: ExecutePlanResponse) -> Result<Option<Batch>, QueryError> {
        if response.operation_id != self.operation_id
            || !self.session.is_of(&response.server_side_session_id)
        {
            return Err(bad_engine("a response belongs to another query"));
        }
        self.last_response_id = Some(response.response_id);
        match response.response_type {
            Some(ResponseType::ArrowBatch(batch)) => {
                if batch.num_chunks_in_batch.is_some_and(|chunks| chunks > 1) {
                    return Err(bad_engine(
                        "a batch came in chunks, which was not requested",
                    ));
                }
                Ok(Some(Batch {
                    data: batch.data,
                    num_rows: Some(batch.row_count),
                    first_row: batch.start_offset,
                }))
            }
            Some(ResponseType::SqlCommandResult(result)) => {
                let rows = result.relation.and_then(|relation| relation.local_relation);
                Ok(rows.and_then(|rows| rows.data).map(|data| Batch {
                    data,
                    num_rows: None,
                    first_row: None,
                }))
            }
            Some(ResponseType::ResultComplete(_)) => {
                self.is_complete = true;
                self.responses = None;
                Ok(None)
            }
            Some(ResponseType::ExecutionProgress(progress)) => {
                self.progress.note(status_of(&progress));
                Ok(None)
            }
            None => Ok(None),
        }
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        let operation_id = std::mem::take(&mut self.operation_id);
        self.session.release(operation_id, self.is_complete);
    }
}

/// Whether the operation may still exist after a call has failed.
fn may_go_on(status: &Status) -> bool {
    let has_ended = matches!(status.code(), Code::DeadlineExceeded | Code::Aborted);
    (is_broken(status) || has_ended) && !stands_still(status)
}

fn status_of(progress: &ExecutionProgress) -> EngineProgressStatus {
    let sum = |count: fn(&super::proto::StageInfo) -> i64| {
        let counts = progress.stages.iter().map(count);
        counts.fold(0_u64, |sum, count| {
            sum.saturating_add(u64::try_from(count).unwrap_or(0))
        })
    };
    EngineProgressStatus {
        tasks_done: sum(|stage| stage.num_completed_tasks),
        tasks: sum(|stage| stage.num_tasks),
    }
}
