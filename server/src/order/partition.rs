//! One partition of a result, as a stream of messages that has not started.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use datafusion::arrow::datatypes::SchemaRef;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};

use crate::encode::{Codec, Encoder, FIRST_MESSAGE_ROWS};
use crate::error::{ErrorKind, QueryError};
use crate::message::{IpcMessage, MaybeEncoded};

/// The time that rows wait for more rows before they are encoded.
const GATHER_MS: u64 = 100;

/// Bytes that a partition holds in addition to the messages that it has yielded.
#[derive(Debug, Clone, Default)]
pub struct HeldBytes(Arc<AtomicU64>);

impl HeldBytes {
    /// The current number of bytes.
    pub fn num_bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, bytes: usize) {
        self.0.store(bytes as u64, Ordering::Relaxed);
    }
}

/// Starts a partition. It is called once, on the runtime of the query. If the stream ends without an
/// error, the partition is complete.
pub type Partition = Box<
    dyn FnOnce(HeldBytes) -> BoxStream<'static, Result<IpcMessage, QueryError>> + Send + 'static,
>;

/// How the batches of a partition become messages.
#[derive(Debug, Clone)]
pub struct Encoding {
    /// A [`wire_schema`](crate::encode::wire_schema).
    pub schema: SchemaRef,
    /// The target size of a message in bytes, before compression.
    pub batch_bytes: usize,
    /// The compression of bodies.
    pub codec: Option<Codec>,
}

/// The messages of a stream of rows. The first message of the first partition is small.
pub fn encode_partition(
    rows: impl Stream<Item = Result<MaybeEncoded, QueryError>> + Send + 'static,
    encoding: &Encoding,
    is_first: bool,
    held: HeldBytes,
) -> BoxStream<'static, Result<IpcMessage, QueryError>> {
    let first_rows = is_first.then_some(FIRST_MESSAGE_ROWS);
    let encoder = Encoder::try_new(
        Arc::clone(&encoding.schema),
        encoding.batch_bytes,
        first_rows,
        encoding.codec,
    );
    let state = match encoder {
        Ok(encoder) => State::Running {
            rows: rows.boxed(),
            encoder: Box::new(encoder),
        },
        Err(error) => State::Failed(cannot_encode(&error)),
    };
    let counted = held.clone();
    futures::stream::unfold((state, held), |(state, held)| async move {
        let (outcomes, state) = state.step(&held).await?;
        Some((outcomes, (state, held)))
    })
    .flat_map(futures::stream::iter)
    .inspect(move |outcome| {
        if let Ok(message) = outcome {
            counted.set((counted.num_bytes() as usize).saturating_sub(message.num_bytes()));
        }
    })
    .boxed()
}

type Outcome = Result<IpcMessage, QueryError>;

enum State {
    /// More rows may follow.
    Running {
        rows: BoxStream<'static, Result<MaybeEncoded, QueryError>>,
        encoder: Box<Encoder>,
    },
    /// The encoder could not be made.
    Failed(QueryError),
    /// Nothing follows.
    Ended,
}

impl State {
    async fn step(self, held: &HeldBytes) -> Option<(Vec<Outcome>, Self)> {
        let (mut rows, mut encoder) = match self {
            Self::Running { rows, encoder } => (rows, encoder),
            Self::Failed(error) => return Some((vec![Err(error)], Self::Ended)),
            Self::Ended => return None,
        };
        let next = if encoder.gathered_bytes() > 0 {
            match tokio::time::timeout(Duration::from_millis(GATHER_MS), rows.next()).await {
                Ok(next) => next,
                Err(_) => {
                    let encoded = encoder.flush();
                    return Some(Self::after(encoded, rows, encoder, held));
                }
            }
        } else {
            rows.next().await
        };
        match next {
            Some(Ok(next)) => {
                let encoded = match next {
                    MaybeEncoded::Batch(batch) => encoder.push(&batch),
                    MaybeEncoded::Message(message) => encoder.pass(message),
                };
                Some(Self::after(encoded, rows, encoder, held))
            }
            Some(Err(error)) => {
                // Rows before the error are valid.
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
        rows: BoxStream<'static, Result<MaybeEncoded, QueryError>>,
        encoder: Box<Encoder>,
        held: &HeldBytes,
    ) -> (Vec<Outcome>, Self) {
        match result {
            Ok(messages) => {
                let encoded: usize = messages.iter().map(IpcMessage::num_bytes).sum();
                held.set(encoder.gathered_bytes() + encoded);
                (
                    messages.into_iter().map(Ok).collect(),
                    Self::Running { rows, encoder },
                )
            }
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
