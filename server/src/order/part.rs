//! One part of a result: a stream of framed messages that nobody has begun to read yet.

use std::time::Duration;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};

use crate::encode::{Encoder, FIRST_MESSAGE_ROWS};
use crate::error::{ErrorKind, QueryError};
use crate::message::IpcMessage;

/// Rows that wait for company longer than this leave without it.
const GATHER_MS: u64 = 100;

/// Begins a part. Called once, on the runtime of the queries, when its turn to run comes. The end
/// of the stream without an error is the backend's word that the part is complete.
pub type Part =
    Box<dyn FnOnce() -> BoxStream<'static, Result<IpcMessage, QueryError>> + Send + 'static>;

/// The messages of a stream of batches.
pub fn encode_part(
    batches: impl Stream<Item = Result<RecordBatch, QueryError>> + Send + 'static,
    schema: SchemaRef,
    batch_bytes: usize,
    is_first: bool,
) -> BoxStream<'static, Result<IpcMessage, QueryError>> {
    let first_rows = is_first.then_some(FIRST_MESSAGE_ROWS);
    let encoder = Encoder::try_new(schema, batch_bytes, first_rows);
    let state = match encoder {
        Ok(encoder) => State::Running {
            batches: batches.boxed(),
            encoder: Box::new(encoder),
        },
        Err(error) => State::Failed(cannot_encode(&error)),
    };
    futures::stream::unfold(state, |state| async { state.step().await })
        .flat_map(futures::stream::iter)
        .boxed()
}

type Outcome = Result<IpcMessage, QueryError>;

enum State {
    /// Batches still come.
    Running {
        batches: BoxStream<'static, Result<RecordBatch, QueryError>>,
        encoder: Box<Encoder>,
    },
    /// The encoder could not be made.
    Failed(QueryError),
    /// Nothing comes any more.
    Ended,
}

impl State {
    async fn step(self) -> Option<(Vec<Outcome>, Self)> {
        let (mut batches, mut encoder) = match self {
            Self::Running { batches, encoder } => (batches, encoder),
            Self::Failed(error) => return Some((vec![Err(error)], Self::Ended)),
            Self::Ended => return None,
        };
        let next = if encoder.is_gathering() {
            match tokio::time::timeout(Duration::from_millis(GATHER_MS), batches.next()).await {
                Ok(next) => next,
                Err(_) => return Some(Self::after(encoder.flush(), batches, encoder)),
            }
        } else {
            batches.next().await
        };
        match next {
            Some(Ok(batch)) => Some(Self::after(encoder.push(&batch), batches, encoder)),
            Some(Err(error)) => {
                // Rows before the failure are good rows.
                let mut out: Vec<Outcome> = encoder
                    .flush()
                    .unwrap_or_default()
                    .into_iter()
                    .map(Ok)
                    .collect();
                out.push(Err(error));
                Some((out, Self::Ended))
            }
            None => match encoder.flush() {
                Ok(messages) => Some((messages.into_iter().map(Ok).collect(), Self::Ended)),
                Err(error) => Some((vec![Err(cannot_encode(&error))], Self::Ended)),
            },
        }
    }

    fn after(
        result: Result<Vec<IpcMessage>, datafusion::arrow::error::ArrowError>,
        batches: BoxStream<'static, Result<RecordBatch, QueryError>>,
        encoder: Box<Encoder>,
    ) -> (Vec<Outcome>, Self) {
        match result {
            Ok(messages) => (
                messages.into_iter().map(Ok).collect(),
                Self::Running { batches, encoder },
            ),
            Err(error) => (vec![Err(cannot_encode(&error))], Self::Ended),
        }
    }
}

fn cannot_encode(error: &datafusion::arrow::error::ArrowError) -> QueryError {
    QueryError::new(
        ErrorKind::ExecutionError,
        format!("the rows cannot be written as Arrow IPC: {error}"),
        "leave the column out, or cast it to another type",
    )
}
