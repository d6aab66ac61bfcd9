//! One operation of Spark and what it answers, whatever happens to the calls that carry it.

use std::sync::Arc;
use std::time::Duration;

use tonic::{Code, Status, Streaming};
use uuid::Uuid;

use super::proto::{ArrowBatch, ExecutePlanResponse, ExecutionProgress, ResponseType};
use super::session::{Session, is_broken};
use crate::backend::received::bad_engine;
use crate::backend::{EngineProgress, EngineProgressStatus};
use crate::error::QueryError;

/// Attempts to go on that bring nothing, one after the other, before the query fails.
const MAX_ATTEMPTS: u32 = 6;

/// The pause before the second attempt; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// A statement that runs in Spark. A call may end early: Spark itself ends it after some minutes or
/// bytes, and connections break; the next one goes on behind the last response. Dropping it stops
/// the statement.
pub(super) struct Execution {
    session: Arc<Session>,
    operation_id: String,
    responses: Option<Streaming<ExecutePlanResponse>>,
    last_response_id: Option<String>,
    is_complete: bool,
    progress: Arc<EngineProgress>,
}

impl Execution {
    /// Begins a statement.
    ///
    /// # Errors
    /// Whatever Spark says of it.
    pub(super) async fn start(
        session: &Arc<Session>,
        sql: &str,
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
        match session.execute(&execution.operation_id, sql).await {
            Ok(responses) => execution.responses = Some(responses),
            Err(status) => return Err(session.error(&status).await),
        }
        Ok(execution)
    }

    /// The next batch; `None` after Spark's own word that the result is complete.
    ///
    /// # Errors
    /// What Spark says, or that it cannot be reached any more.
    pub(super) async fn next(&mut self) -> Result<Option<ArrowBatch>, QueryError> {
        let mut attempts = 0;
        while !self.is_complete {
            let next = match &mut self.responses {
                Some(responses) => responses.message().await,
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
                // Without its word of completion this is only the end of the call.
                Ok(None) if attempts < MAX_ATTEMPTS => self.responses = None,
                Ok(None) => {
                    return Err(bad_engine(
                        "the stream of rows ends again and again without Spark's word of completion",
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
        self.responses.insert(responses).message().await
    }

    fn take(&mut self, response: ExecutePlanResponse) -> Result<Option<ArrowBatch>, QueryError> {
        if response.operation_id != self.operation_id
            || !self.session.is_of(&response.server_side_session_id)
        {
            return Err(bad_engine("a response belongs to another query"));
        }
        self.last_response_id = Some(response.response_id);
        match response.response_type {
            Some(ResponseType::ArrowBatch(batch)) => Ok(Some(batch)),
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

/// Whether the operation may still be there behind a call that has failed.
fn may_go_on(status: &Status) -> bool {
    is_broken(status) || matches!(status.code(), Code::DeadlineExceeded | Code::Aborted)
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
