//! The body of an Arrow response: schema, record batches, heartbeats, and the end-of-stream marker
//! only after success.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use colonnade_core::wire::integrity::{
    FIRST_ROW, PROGRESS, SEQ, SNAPSHOT, TOTAL_BATCHES, TOTAL_ROWS, XXH3, front, xxh3_64,
};
use futures::Stream;
use tokio::sync::mpsc;

use crate::error::{ErrorKind, QueryError};
use crate::http::outgoing::Outgoing;
use crate::http::pace::{Chunk, Pace, body};
use crate::message::{END_OF_STREAM, IpcMessage, MessageKind, put_head};
use crate::results::Reader;

/// How long the status waits for the first message. After that, the schema is sent alone.
pub(crate) const FIRST_MESSAGE_WAIT: Duration = Duration::from_millis(100);

/// After this long without a message, an empty batch keeps proxies from closing the connection.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

/// A message body up to this size is sent in one chunk with its metadata; a larger one is a chunk of its own.
const SMALL_BODY_BYTES: usize = 64 << 10;

/// The body of the Arrow response to one reader. It holds a slot while its client reads: after a stall it gives
/// back the slot and what the reader can give back, and goes on when the client does.
pub struct ArrowBody {
    reader: Reader,
    state: State,
    has_checksums: bool,
    /// Dictionary and record batches sent so far.
    num_messages: u64,
    num_batches: u64,
    has_dictionaries: bool,
    out: Outgoing,
    pace: Pace,
}

enum State {
    /// Nothing has been sent. Holds the first message if it has come, and whether the result is
    /// complete without any.
    Opening(Option<IpcMessage>, bool),
    /// Messages follow.
    Messages,
    /// Nothing follows.
    Ended,
}

impl ArrowBody {
    /// Waits for the first message, a failure, or [`FIRST_MESSAGE_WAIT`].
    ///
    /// # Errors
    /// The query failed before its first message.
    pub(crate) async fn open(
        mut reader: Reader,
        has_checksums: bool,
        pace: Pace,
    ) -> Result<Self, QueryError> {
        let out = Outgoing::new(Arc::clone(reader.results()));
        let first = tokio::time::timeout(FIRST_MESSAGE_WAIT, reader.next());
        let (first, is_complete) = match first.await {
            Ok(Some(Ok(first))) => (Some(first), false),
            Ok(Some(Err(error))) => return Err(error),
            Ok(None) => (None, true),
            Err(_) => (None, false),
        };
        Ok(Self {
            reader,
            state: State::Opening(first, is_complete),
            has_checksums,
            num_messages: 0,
            num_batches: 0,
            has_dictionaries: false,
            out,
            pace,
        })
    }

    /// The chunks of the body. Dropping the stream drops the reader.
    pub fn into_stream(self) -> impl Stream<Item = Chunk> + Send + 'static {
        body(|sender| self.send_chunks(sender))
    }

    async fn send_chunks(mut self, sender: mpsc::Sender<Chunk>) {
        loop {
            let next = tokio::select! {
                biased;
                () = sender.closed() => return,
                next = self.next_chunk() => next,
            };
            let Some(chunk) = next else {
                return;
            };
            let (reader, out) = (&mut self.reader, &mut self.out);
            let pause = || {
                reader.pause();
                out.park();
            };
            if !self.pace.send(&sender, chunk, pause).await {
                return;
            }
        }
    }

    async fn next_chunk(&mut self) -> Option<Chunk> {
        loop {
            match self.out.next().await.transpose() {
                Some(Err(error)) => return Some(self.fail(error)),
                Some(bytes) => return Some(bytes),
                None => {}
            }
            let next = match std::mem::replace(&mut self.state, State::Messages) {
                State::Opening(first, is_complete) => {
                    let schema = self.reader.head().schema.frame();
                    self.reader.record().sent(0, schema.len() as u64, false);
                    // Sent together with the first message, because some decoders show the schema
                    // only when one more byte has come.
                    let sent = match (first, is_complete) {
                        (Some(first), _) => {
                            self.send(&first, self.reader.next_row() - first.num_rows)
                        }
                        (None, true) => self.complete(),
                        (None, false) => Ok(()),
                    };
                    self.out.prepend(&schema);
                    sent
                }
                State::Messages => match self.next_message().await {
                    Some(Ok(Some(message))) => {
                        self.send(&message, self.reader.next_row() - message.num_rows)
                    }
                    Some(Ok(None)) => self.send_empty(&[]),
                    Some(Err(error)) => Err(error),
                    None => self.complete(),
                },
                State::Ended => {
                    self.state = State::Ended;
                    return None;
                }
            };
            if let Err(error) = next {
                return Some(self.fail(io::Error::other(error)));
            }
        }
    }

    fn fail(&mut self, error: io::Error) -> Chunk {
        self.state = State::Ended;
        self.out.clear();
        Err(error)
    }

    /// The next message, or `Ok(None)` when a heartbeat is due.
    async fn next_message(&mut self) -> Option<Result<Option<IpcMessage>, QueryError>> {
        let next = async {
            self.pace.take_slot().await;
            self.reader.next().await
        };
        match tokio::time::timeout(HEARTBEAT_INTERVAL, next).await {
            Ok(next) => next.map(|message| message.map(Some)),
            Err(_) => Some(Ok(None)),
        }
    }

    /// Sends the totals and the end-of-stream marker.
    fn complete(&mut self) -> Result<(), QueryError> {
        self.state = State::Ended;
        let totals = [
            (TOTAL_ROWS, self.reader.next_row()),
            (TOTAL_BATCHES, self.num_batches),
        ];
        self.send_empty(&totals)?;
        self.out.push(Bytes::from_static(&END_OF_STREAM));
        self.reader
            .record()
            .sent(0, END_OF_STREAM.len() as u64, false);
        Ok(())
    }

    fn send_empty(&mut self, entries: &[(&str, u64)]) -> Result<(), QueryError> {
        let empty = self.reader.head().empty.clone();
        let row = self.reader.next_row();
        if !self.has_dictionaries {
            // Dictionaries must precede the first batch.
            for dictionary in &empty.dictionaries {
                self.send(dictionary, row)?;
            }
        }
        self.send_with(&empty.batch, row, entries)
    }

    fn send(&mut self, message: &IpcMessage, first_row: u64) -> Result<(), QueryError> {
        self.send_with(message, first_row, &[])
    }

    fn send_with(
        &mut self,
        message: &IpcMessage,
        first_row: u64,
        totals: &[(&str, u64)],
    ) -> Result<(), QueryError> {
        let mut entries = vec![
            (FIRST_ROW, first_row.to_string()),
            (SEQ, self.num_messages.to_string()),
        ];
        entries.extend(totals.iter().map(|(key, total)| (*key, total.to_string())));
        if self.num_messages == 0 {
            let snapshot = self.reader.head().snapshot;
            entries.push((SNAPSHOT, format!("{snapshot:016x}")));
        }
        if let Some(progress) = self.reader.record().progress_json() {
            entries.push((PROGRESS, progress));
        }
        if self.has_checksums {
            entries.push((XXH3, format!("{:016x}", xxh3_64(&message.body))));
        }
        let entries: Vec<_> = entries
            .iter()
            .map(|(key, value)| (*key, value.as_str()))
            .collect();
        let mut metadata = front(&message.metadata, &entries).map_err(|error| {
            QueryError::new(
                ErrorKind::Internal,
                format!("a message's metadata cannot be extended: {error}"),
                "run the query again",
            )
        })?;
        metadata.extend_from_slice(&message.metadata);
        let is_small = message.body.len() <= SMALL_BODY_BYTES;
        let body_bytes = if is_small { message.body.len() } else { 0 };
        let mut head = BytesMut::with_capacity(metadata.len() + body_bytes + 128);
        put_head(&mut head, &metadata);
        let mut num_bytes = head.len() as u64;
        if is_small {
            head.put_slice(&message.body);
            self.out.push(head.freeze());
        } else {
            self.out.push(head.freeze());
            self.out.push_body(message.body.clone());
        }
        num_bytes += message.body.len() as u64;

        let is_batch = message.kind == MessageKind::Batch;
        self.num_messages += 1;
        self.num_batches += u64::from(is_batch);
        self.has_dictionaries |= !is_batch;
        self.reader
            .record()
            .sent(message.num_rows, num_bytes, is_batch);
        Ok(())
    }
}
