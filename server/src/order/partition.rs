//! One partition of a result, as a stream of messages that has not started.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
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
    let messages = match encoder {
        Ok(encoder) => Messages {
            rows: Some(rows.boxed()),
            encoder,
            ready: VecDeque::new(),
        },
        Err(error) => return futures::stream::iter([Err(cannot_encode(&error))]).boxed(),
    };
    let counted = held.clone();
    futures::stream::unfold((messages, held), |(mut messages, held)| async move {
        let outcomes = messages.next(&held).await?;
        Some((outcomes, (messages, held)))
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

/// Encodes one message at a time, because those of a whole batch may take as much memory as the batch.
struct Messages {
    /// `None` after the last row.
    rows: Option<BoxStream<'static, Result<MaybeEncoded, QueryError>>>,
    encoder: Encoder,
    ready: VecDeque<Ready>,
}

/// What comes next.
enum Ready {
    Batch(RecordBatch),
    Message(IpcMessage),
    Error(QueryError),
}

impl Messages {
    /// The next message, with the dictionaries that it needs; `None` after the last one or an error.
    async fn next(&mut self, held: &HeldBytes) -> Option<Vec<Outcome>> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(self.outcomes(ready, held));
            }
            let rows = self.rows.as_mut()?;
            let next = if self.encoder.gathered_bytes() > 0 {
                tokio::time::timeout(Duration::from_millis(GATHER_MS), rows.next()).await
            } else {
                Ok(rows.next().await)
            };
            match next {
                Ok(Some(Ok(MaybeEncoded::Batch(batch)))) => match self.encoder.push(&batch) {
                    Ok(batches) => self.ready.extend(batches.into_iter().map(Ready::Batch)),
                    Err(error) => self.end(Some(cannot_encode(&error))),
                },
                Ok(Some(Ok(MaybeEncoded::Message(message)))) => {
                    self.flush();
                    self.ready.push_back(Ready::Message(message));
                }
                // Rows before the error are valid.
                Ok(Some(Err(error))) => self.end(Some(error)),
                Ok(None) => self.end(None),
                Err(_) => self.flush(),
            }
        }
    }

    fn outcomes(&mut self, ready: Ready, held: &HeldBytes) -> Vec<Outcome> {
        let messages = match ready {
            Ready::Batch(batch) => self.encoder.encode(&batch).map_err(|e| cannot_encode(&e)),
            Ready::Message(message) => Ok(vec![message]),
            Ready::Error(error) => Err(error),
        };
        match messages {
            Ok(messages) => {
                let encoded: usize = messages.iter().map(IpcMessage::num_bytes).sum();
                held.set(self.encoder.gathered_bytes() + encoded);
                messages.into_iter().map(Ok).collect()
            }
            Err(error) => {
                self.rows = None;
                self.ready.clear();
                vec![Err(error)]
            }
        }
    }

    fn flush(&mut self) {
        let gathered = self.encoder.flush();
        self.ready.extend(gathered.into_iter().map(Ready::Batch));
    }

    fn end(&mut self, error: Option<QueryError>) {
        self.rows = None;
        self.flush();
        self.ready.extend(error.map(Ready::Error));
    }
}

fn cannot_encode(error: &datafusion::arrow::error::ArrowError) -> QueryError {
    QueryError::new(
        ErrorKind::ExecutionError,
        format!("the rows cannot be written as Arrow IPC: {error}"),
        "leave the column out, or cast it to another type",
    )
}
