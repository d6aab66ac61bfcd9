//! Bodies that hold a slot while their client reads.

use std::io;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt};
use tokio::sync::mpsc;

use crate::error::QueryError;
use crate::slots::{Promise, Slot, Slots};

/// The wait between the last good bytes and the abort. Without it, hyper drops its buffer when a body fails
/// right after it was ready, and a browser drops what its page has not read.
const ABORT_DELAY: Duration = Duration::from_millis(250);

/// How long a client may read nothing while other requests wait for a slot.
const WANTED_STALL: Duration = Duration::from_millis(100);

/// A part of a body, or the error that aborts it.
pub(crate) type Chunk = io::Result<Bytes>;

/// The slot of a body. It is given back when the client reads nothing, and taken again when it does.
pub(crate) struct Pace {
    slots: Slots,
    slot: Option<Slot>,
    /// The wait for the next slot.
    waiting: Option<BoxFuture<'static, Slot>>,
    stall_timeout: Duration,
}

impl Pace {
    /// A body that has one of the `slots`. A client may read nothing for `stall_timeout` if nobody waits for a slot.
    pub(crate) fn new(slots: Slots, slot: Slot, stall_timeout: Duration) -> Self {
        Self {
            slots,
            slot: Some(slot),
            waiting: None,
            stall_timeout,
        }
    }

    /// Waits for a slot, unless it has one. Safe to cancel: the next call goes on with the wait.
    pub(crate) async fn take_slot(&mut self) {
        if self.slot.is_none() {
            let slots = self.slots.clone();
            let wait = || async move { slots.take_patiently().await }.boxed();
            self.slot = Some(self.waiting.get_or_insert_with(wait).await);
            self.waiting = None;
        }
    }

    /// Sends a chunk when the client reads. Calls `pause` if it stalls, after the slot was given back. Returns false if
    /// it has left.
    pub(crate) async fn send(
        &mut self,
        sender: &mpsc::Sender<Chunk>,
        chunk: Chunk,
        pause: impl FnOnce(),
    ) -> bool {
        let room = tokio::select! {
            biased;
            room = sender.reserve() => room,
            promise = stalls(&self.slots, self.stall_timeout) => {
                self.slot = None;
                self.waiting = None;
                drop(promise);
                pause();
                sender.reserve().await
            }
        };
        let Ok(room) = room else {
            return false;
        };
        if chunk.is_err() {
            tokio::time::sleep(ABORT_DELAY).await;
        }
        room.send(chunk);
        true
    }
}

/// Waits until a client that reads nothing must give back its slot: after `timeout`, or sooner if another request
/// waits for one.
async fn stalls(slots: &Slots, timeout: Duration) -> Option<Promise> {
    let wanted = async {
        tokio::time::sleep(WANTED_STALL).await;
        slots.wanted().await
    };
    tokio::time::timeout(timeout, wanted).await.ok()
}

/// A body whose chunks `send` sends in a task of its own, as long as the client is there.
pub(crate) fn body<F>(
    send: impl FnOnce(mpsc::Sender<Chunk>) -> F,
) -> impl Stream<Item = Chunk> + Send + 'static
where
    F: Future<Output = ()> + Send + 'static,
{
    let (sender, mut chunks) = mpsc::channel(1);
    let sending = AssertUnwindSafe(send(sender.clone())).catch_unwind();
    tokio::spawn(async move {
        if sending.await.is_err() {
            // Otherwise the response would end like a complete one.
            let error = io::Error::other("the response could not be continued");
            let _ = sender.send(Err(error)).await;
        }
    });
    futures::stream::poll_fn(move |context| chunks.poll_recv(context))
}

/// Sends a file. After an error, the body is aborted.
pub(crate) async fn send_file(
    mut pieces: BoxStream<'static, Result<Bytes, QueryError>>,
    mut pace: Pace,
    sender: mpsc::Sender<Chunk>,
) {
    loop {
        let next = async {
            pace.take_slot().await;
            pieces.next().await
        };
        let piece = tokio::select! {
            biased;
            () = sender.closed() => return,
            piece = next => piece,
        };
        let Some(piece) = piece else {
            return;
        };
        let is_last = piece.is_err();
        let chunk = piece.map_err(io::Error::other);
        if !pace.send(&sender, chunk, || {}).await || is_last {
            return;
        }
    }
}
