//! The bytes that a response sends next.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::byte_pool::BytesLease;
use crate::results::Results;
use crate::spool::ParkedBytes;

/// Bytes that a connection gets at once when memory is short. A connection holds several such pieces until its client
/// has read them.
const SLICE_BYTES: usize = 64 << 10;

/// Bytes in order. Those of large messages count as memory of the server until the connection has written them; when
/// this memory is used up, the connection gets copies of small slices, so that it holds little of a message whose
/// rest can go to disk.
pub(super) struct Outgoing {
    results: Arc<Results>,
    parts: VecDeque<Part>,
}

enum Part {
    Whole(Bytes),
    Slices(Bytes),
    /// On the way to disk. Without room there, the bytes come back.
    Parking(JoinHandle<Result<ParkedBytes, Bytes>>),
    Parked(ParkedBytes),
}

/// Bytes that count as memory of the server.
struct Counted {
    bytes: Bytes,
    _lease: BytesLease,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Outgoing {
    pub(super) fn new(results: Arc<Results>) -> Self {
        Self {
            results,
            parts: VecDeque::new(),
        }
    }

    /// Adds a few bytes.
    pub(super) fn push(&mut self, bytes: Bytes) {
        self.parts.push_back(Part::Whole(bytes));
    }

    /// Adds the body of a message.
    pub(super) fn push_body(&mut self, bytes: Bytes) {
        let lease = self.results.lease_memory(bytes.len() as u64);
        self.parts.push_back(match lease {
            Some(lease) => Part::Whole(Bytes::from_owner(Counted {
                bytes,
                _lease: lease,
            })),
            None => Part::Slices(bytes),
        });
    }

    /// Puts a few bytes before the others, in one piece with the first of them.
    pub(super) fn prepend(&mut self, bytes: &Bytes) {
        let first = match self.parts.pop_front() {
            Some(Part::Whole(first)) => first,
            Some(part) => {
                self.parts.push_front(part);
                Bytes::new()
            }
            None => Bytes::new(),
        };
        let joined = [bytes.as_ref(), &first].concat();
        self.parts.push_front(Part::Whole(joined.into()));
    }

    pub(super) fn clear(&mut self) {
        self.parts.clear();
    }

    /// Moves to disk what a client who reads nothing would keep in memory.
    pub(super) fn park(&mut self) {
        for part in &mut self.parts {
            if let Part::Slices(bytes) = part {
                let bytes = std::mem::take(bytes);
                let storage = Arc::clone(&self.results.spool_storage);
                let parking = spawn_blocking(move || storage.park(&bytes).map_err(|_| bytes));
                *part = Part::Parking(parking);
            }
        }
    }

    /// The next piece; `None` if there is none. Not safe to cancel.
    ///
    /// # Errors
    /// Bytes cannot be read from disk.
    pub(super) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            match self.parts.pop_front() {
                None => return Ok(None),
                Some(Part::Whole(bytes)) => return Ok(Some(bytes)),
                Some(Part::Slices(mut bytes)) => {
                    let slice = bytes.split_to(SLICE_BYTES.min(bytes.len()));
                    if !bytes.is_empty() {
                        self.parts.push_front(Part::Slices(bytes));
                    }
                    return Ok(Some(Bytes::copy_from_slice(&slice)));
                }
                Some(Part::Parking(parking)) => self.parts.push_front(match parking.await? {
                    Ok(parked) => Part::Parked(parked),
                    Err(bytes) => Part::Slices(bytes),
                }),
                Some(Part::Parked(mut parked)) => {
                    let take = move || Ok((parked.take(SLICE_BYTES as u64)?, parked));
                    let (slice, parked) = spawn_blocking(take)
                        .await
                        .map_err(io::Error::other)
                        .flatten()?;
                    if parked.num_bytes() > 0 {
                        self.parts.push_front(Part::Parked(parked));
                    }
                    return Ok(Some(slice));
                }
            }
        }
    }
}
