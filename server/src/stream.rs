//! The body of an Arrow response: schema, batches, signs of life, and the end-of-stream marker
//! only after success.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::error::{ErrorKind, QueryError, source_changed};
use crate::message::{IpcMessage, MessageKind};
use crate::order::Stitcher;
use crate::query::{QueryRuntime, RunningQuery};
use crate::source::Table;

/// The status waits for the first batch this long, then the schema leaves alone.
const HOLD_MS: u64 = 100;

/// A silent stream says that it is alive this often.
const HEARTBEAT_MS: u64 = 15_000;

/// Between the last good bytes and the abort: hyper drops what it has buffered when a body fails
/// at once after it was ready, and a browser what its page has not read when the connection breaks.
const FLUSH_MS: u64 = 250;

/// A query that runs. Dropping it cancels the query.
pub struct Run {
    /// Its messages in order.
    pub stitcher: Stitcher,
    /// What others see of it.
    pub record: RunningQuery,
    /// The tables that it reads, as they were when it was planned.
    pub sources: Vec<Arc<Table>>,
    /// Its threads.
    pub runtime: QueryRuntime,
    /// Its place among the streams that the server permits.
    pub permit: OwnedSemaphorePermit,
}

/// A query on its way to one reader. Dropping it cancels the query.
pub struct Delivery {
    run: Run,
    state: State,
    heartbeat: IpcMessage,
    /// Time of execution that is left; the time in which the reader is waited for is not counted.
    time_left: Option<Duration>,
}

enum State {
    /// The schema has not been sent; perhaps the first batch is here already.
    Opening {
        schema: IpcMessage,
        first: Option<IpcMessage>,
        is_complete: bool,
    },
    /// Batches follow.
    Rows,
    /// Everything was sent but the marker.
    Complete,
    /// Nothing follows.
    Ended,
}

impl Delivery {
    /// Waits for the first batch, a failure, or a tenth of a second.
    ///
    /// # Errors
    /// The query failed before there was a first batch.
    pub async fn open(
        mut run: Run,
        schema: IpcMessage,
        heartbeat: IpcMessage,
        timeout: Option<Duration>,
    ) -> Result<Self, QueryError> {
        let hold = tokio::time::timeout(Duration::from_millis(HOLD_MS), run.stitcher.next());
        let (first, is_complete) = tokio::select! {
            biased;
            () = run.record.cancel.cancelled() => return Err(cancelled()),
            held = hold => match held {
                Ok(Some(Ok(first))) => (Some(first), false),
                Ok(Some(Err(error))) => {
                    run.record.fail(error.clone());
                    return Err(error);
                }
                Ok(None) => (None, true),
                Err(_) => (None, false),
            },
        };
        Ok(Self {
            run,
            state: State::Opening {
                schema,
                first,
                is_complete,
            },
            heartbeat,
            time_left: timeout,
        })
    }

    /// The body.
    pub fn into_body(self) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + 'static {
        futures::stream::unfold(self, |mut delivery| async move {
            let item = delivery.step().await?;
            Some((item, delivery))
        })
    }

    async fn step(&mut self) -> Option<Result<Bytes, io::Error>> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Opening {
                schema,
                first,
                is_complete,
            } => {
                self.state = if is_complete {
                    State::Complete
                } else {
                    State::Rows
                };
                let schema = self.send(schema);
                let Some(first) = first else {
                    return Some(Ok(schema));
                };
                // Together, so that a reader that needs one more byte shows the schema at once.
                let both = [schema, self.send(first)].concat();
                Some(Ok(Bytes::from(both)))
            }
            State::Rows => match self.next_message().await {
                Some(Ok(message)) => {
                    self.state = State::Rows;
                    Some(Ok(self.send(message)))
                }
                Some(Err(error)) => self.fail(error).await,
                None => self.complete().await,
            },
            State::Complete => self.complete().await,
            State::Ended => None,
        }
    }

    async fn next_message(&mut self) -> Option<Result<IpcMessage, QueryError>> {
        let asked = Instant::now();
        let deadline = self.time_left.map(|left| asked + left);
        let never = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let next = tokio::select! {
            biased;
            () = self.run.record.cancel.cancelled() => Some(Err(cancelled())),
            next = self.run.stitcher.next() => next,
            () = never => Some(Err(QueryError::new(
                ErrorKind::QueryTimeout,
                "the query ran longer than the server permits",
                "ask for less, or start the server with a larger --query-timeout",
            ))),
            () = tokio::time::sleep(Duration::from_millis(HEARTBEAT_MS)) => Some(Ok(self.heartbeat.clone())),
        };
        if let Some(left) = &mut self.time_left {
            *left = left.saturating_sub(asked.elapsed());
        }
        next
    }

    async fn complete(&mut self) -> Option<Result<Bytes, io::Error>> {
        if let Some(changed) = self.run.sources.iter().find(|table| table.has_changed()) {
            return self.fail(source_changed(&changed.name)).await;
        }
        let bytes = self.send(IpcMessage::end_of_stream());
        self.run.record.done();
        tracing::debug!(id = %self.run.record.id, peak_bytes = self.run.stitcher.peak_bytes(), "done");
        Some(Ok(bytes))
    }

    async fn fail(&mut self, error: QueryError) -> Option<Result<Bytes, io::Error>> {
        self.run.record.fail(error.clone());
        self.run.record.cancel.cancel();
        tokio::time::sleep(Duration::from_millis(FLUSH_MS)).await;
        Some(Err(io::Error::other(error)))
    }

    fn send(&self, message: IpcMessage) -> Bytes {
        let is_batch = message.kind == MessageKind::Batch;
        self.run
            .record
            .sent(message.num_rows, message.num_bytes() as u64, is_batch);
        message.bytes
    }
}

fn cancelled() -> QueryError {
    QueryError::new(
        ErrorKind::Cancelled,
        "the query was cancelled",
        "run it again",
    )
}
