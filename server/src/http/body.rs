//! The body of an Arrow response: schema, batches, signs of life, and the end-of-stream marker
//! only after success.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use colonnade_core::wire::integrity::{
    FIRST_ROW, SEQ, SNAPSHOT, TOTAL_BATCHES, TOTAL_ROWS, XXH3, front, xxh3_64,
};
use futures::Stream;
use tokio::sync::OwnedSemaphorePermit;

use crate::error::{ErrorKind, QueryError};
use crate::message::{END_OF_STREAM, IpcMessage, MessageKind, put_head};
use crate::results::Reader;

/// The status waits for the first batch this long, then the schema leaves alone.
const HOLD_MS: u64 = 100;

/// A silent stream says that it is alive this often.
const HEARTBEAT_MS: u64 = 15_000;

/// Between the last good bytes and the abort: hyper drops what it has buffered when a body fails
/// at once after it was ready, and a browser what its page has not read when the connection breaks.
pub(crate) const FLUSH_MS: u64 = 250;

/// Bodies up to this size leave in one piece with their metadata; a larger one is not copied.
const SMALL_BODY_BYTES: usize = 64 << 10;

/// A result on its way to one reader. Dropping it takes the reader away.
pub struct Delivery {
    reader: Reader,
    state: State,
    has_checksums: bool,
    /// Dictionary and record batches that were sent.
    num_messages: u64,
    num_batches: u64,
    has_dictionaries: bool,
    out: VecDeque<Bytes>,
    _permit: OwnedSemaphorePermit,
}

enum State {
    /// Nothing has been sent; perhaps the first message is here already, or the end.
    Opening(Option<IpcMessage>, bool),
    /// Messages follow.
    Rows,
    /// Nothing follows.
    Ended,
}

impl Delivery {
    /// Waits for the first message, a failure, or a tenth of a second.
    ///
    /// # Errors
    /// The query failed before there was a first message.
    pub async fn open(
        mut reader: Reader,
        has_checksums: bool,
        permit: OwnedSemaphorePermit,
    ) -> Result<Self, QueryError> {
        let hold = Duration::from_millis(HOLD_MS);
        let (first, is_complete) = match tokio::time::timeout(hold, reader.next()).await {
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
            out: VecDeque::new(),
            _permit: permit,
        })
    }

    /// What it reads.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The body.
    pub fn into_body(self) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + 'static {
        futures::stream::unfold(self, |mut delivery| async move {
            let item = delivery.step().await?;
            Some((item, delivery))
        })
    }

    async fn step(&mut self) -> Option<Result<Bytes, io::Error>> {
        loop {
            if let Some(bytes) = self.out.pop_front() {
                return Some(Ok(bytes));
            }
            let next = match std::mem::replace(&mut self.state, State::Rows) {
                State::Opening(first, is_complete) => {
                    let schema = self.reader.run().schema.frame();
                    self.reader.record().sent(0, schema.len() as u64, false);
                    // Together with what is there, so that a reader that needs one more byte shows
                    // the schema at once.
                    let sent = match (first, is_complete) {
                        (Some(first), _) => {
                            self.send(&first, self.reader.next_row() - first.num_rows)
                        }
                        (None, true) => self.complete(),
                        (None, false) => Ok(()),
                    };
                    let ready = self.out.pop_front().unwrap_or_default();
                    self.out.push_front([schema, ready].concat().into());
                    sent
                }
                State::Rows => match self.next_message().await {
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
                self.state = State::Ended;
                self.out.clear();
                tokio::time::sleep(Duration::from_millis(FLUSH_MS)).await;
                return Some(Err(io::Error::other(error)));
            }
        }
    }

    /// The next message, or `Ok(None)` when it is time for a sign of life.
    async fn next_message(&mut self) -> Option<Result<Option<IpcMessage>, QueryError>> {
        let silence = Duration::from_millis(HEARTBEAT_MS);
        match tokio::time::timeout(silence, self.reader.next()).await {
            Ok(next) => next.map(|message| message.map(Some)),
            Err(_) => Some(Ok(None)),
        }
    }

    /// The totals and the marker.
    fn complete(&mut self) -> Result<(), QueryError> {
        self.state = State::Ended;
        let totals = [
            (TOTAL_ROWS, self.reader.next_row()),
            (TOTAL_BATCHES, self.num_batches),
        ];
        self.send_empty(&totals)?;
        self.out.push_back(Bytes::from_static(&END_OF_STREAM));
        self.reader
            .record()
            .sent(0, END_OF_STREAM.len() as u64, false);
        Ok(())
    }

    fn send_empty(&mut self, entries: &[(&str, u64)]) -> Result<(), QueryError> {
        let empty = self.reader.run().empty.clone();
        let row = self.reader.next_row();
        if !self.has_dictionaries {
            // A batch must not come before its dictionaries.
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
            let snapshot = self.reader.run().snapshot;
            entries.push((SNAPSHOT, format!("{snapshot:016x}")));
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
                format!("a message could not be labelled: {error}"),
                "run the query again",
            )
        })?;
        metadata.extend_from_slice(&message.metadata);
        let is_small = message.body.len() <= SMALL_BODY_BYTES;
        let room = if is_small { message.body.len() } else { 0 };
        let mut head = BytesMut::with_capacity(metadata.len() + room + 128);
        put_head(&mut head, &metadata);
        let mut num_bytes = head.len() as u64;
        if is_small {
            head.put_slice(&message.body);
            self.out.push_back(head.freeze());
        } else {
            self.out.push_back(head.freeze());
            self.out.push_back(message.body.clone());
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
