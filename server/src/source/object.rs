//! An object of an object store, which is only read while it is in the identified state.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, mpsc};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, OBJECT_STORE_COALESCE_DEFAULT, ObjectMeta, ObjectStore,
    coalesce_ranges,
};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::task::AbortOnDropHandle;

use crate::source::identity::{Identity, ReadError};
use crate::source::object_store_error::explained;

/// The maximum size of one request in bytes, so that it completes within its time limit.
const REQUEST_BYTES: u64 = 8 << 20;

/// The number of parallel requests of one read.
const PARALLEL: usize = 4;

/// The minimum time between two checks of one object.
const MIN_CHECK_INTERVAL: Duration = Duration::from_secs(3);

/// The maximum number of checks per second of the objects of one source.
const CHECKS_PER_SECOND: u64 = 10;

/// Requests have a runtime of their own, because a connection outlives the query that opened it.
static REQUESTS: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
    Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("store")
        .enable_all()
        .build()
});

/// An object in an object store, by path.
#[derive(Debug)]
pub(super) struct Object {
    store: Arc<dyn ObjectStore>,
    location: Path,
    /// The number of objects that share the checks per second.
    num_objects: u64,
    started: Instant,
    /// The time of the last check, in milliseconds since `started`.
    checked_ms: AtomicU64,
}

impl Object {
    /// An object of a source that has `num_objects` objects.
    pub(super) fn new(store: Arc<dyn ObjectStore>, location: Path, num_objects: usize) -> Self {
        Self {
            store,
            location,
            num_objects: num_objects as u64,
            started: Instant::now(),
            checked_ms: AtomicU64::new(0),
        }
    }

    /// The current identity of the object. Blocks.
    ///
    /// # Errors
    /// The object does not exist, is not readable, or the object store does not answer.
    pub(super) fn read_identity(self: &Arc<Self>) -> io::Result<Identity> {
        let object = Arc::clone(self);
        wait(async move { object.identity().await })?.map_err(|error| explained(&error))
    }

    /// Checks the object in the background, if the last check is long enough ago. Sets `changed` if its
    /// identity is not the `expected` one.
    pub(super) fn check_in_background(
        self: &Arc<Self>,
        expected: &Identity,
        changed: &Arc<AtomicBool>,
    ) {
        let pause_ms = (MIN_CHECK_INTERVAL.as_millis() as u64)
            .max(self.num_objects * 1000 / CHECKS_PER_SECOND);
        let now_ms = self.started.elapsed().as_millis() as u64;
        let checked_ms = self.checked_ms.load(Ordering::Relaxed);
        let is_mine = now_ms >= checked_ms + pause_ms
            && self
                .checked_ms
                .compare_exchange(checked_ms, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        let Ok(requests) = requests() else { return };
        if !is_mine {
            return;
        }
        let (object, expected, changed) = (Arc::clone(self), expected.clone(), Arc::clone(changed));
        requests.spawn(async move {
            let is_other = match object.identity().await {
                Ok(identity) => identity != expected,
                Err(Error::NotFound { .. }) => expected != Identity::default(),
                Err(_) => false,
            };
            if is_other {
                changed.store(true, Ordering::Relaxed);
            }
        });
    }

    /// The bytes of `range`. Blocks.
    ///
    /// # Errors
    /// The object is not in the `expected` state any more, or the object store fails.
    pub(super) fn read_blocking(
        self: &Arc<Self>,
        range: Range<u64>,
        expected: &Identity,
    ) -> Result<Bytes, ReadError> {
        let (object, expected) = (Arc::clone(self), expected.clone());
        wait(async move { object.read(range, &expected).await })?
    }

    /// The bytes of several ranges. Ranges that are close to each other are read together.
    ///
    /// # Errors
    /// As [`Object::read_blocking`].
    pub(super) async fn read_ranges(
        self: Arc<Self>,
        ranges: Vec<Range<u64>>,
        expected: &Identity,
    ) -> Result<Vec<Bytes>, ReadError> {
        let expected = expected.clone();
        let read = async move {
            let read = |range| self.read(range, &expected);
            coalesce_ranges(&ranges, read, OBJECT_STORE_COALESCE_DEFAULT).await
        };
        // Dropping this aborts the requests.
        let read = AbortOnDropHandle::new(requests()?.spawn(read));
        read.await.map_err(io::Error::from)?
    }

    async fn read(&self, range: Range<u64>, expected: &Identity) -> Result<Bytes, ReadError> {
        let starts = range.clone().step_by(REQUEST_BYTES as usize);
        let chunks = starts.map(|start| start..range.end.min(start + REQUEST_BYTES));
        let reads = chunks.map(|chunk| self.read_chunk(chunk, expected));
        let mut read: Vec<Bytes> = futures::stream::iter(reads)
            .buffered(PARALLEL)
            .try_collect()
            .await?;
        Ok(match read.len() {
            1 => read.swap_remove(0),
            _ => read.concat().into(),
        })
    }

    async fn read_chunk(&self, range: Range<u64>, expected: &Identity) -> Result<Bytes, ReadError> {
        let num_bytes = range.end - range.start;
        match self.get(range).await {
            Ok((identity, bytes)) if identity == *expected && bytes.len() as u64 == num_bytes => {
                Ok(bytes)
            }
            Ok((identity, _)) if identity != *expected => Err(ReadError::Changed),
            Ok(_) => Err(ReadError::Failed(io::Error::other(format!(
                "the store sent fewer or more than the requested {num_bytes} bytes"
            )))),
            Err(Error::NotFound { .. }) => Err(ReadError::Changed),
            // A truncated object refuses the range, so its identity must be requested separately.
            Err(error) => match self.identity().await {
                Ok(identity) if identity != *expected => Err(ReadError::Changed),
                _ => Err(ReadError::Failed(explained(&error))),
            },
        }
    }

    /// Reads the identity, always with a request for bytes: a signed URL may permit nothing else, and
    /// different requests may be answered with different ETags.
    async fn identity(&self) -> Result<Identity, Error> {
        match self.get(0..1).await {
            Ok((identity, _)) => Ok(identity),
            Err(error @ (Error::NotFound { .. } | Error::PermissionDenied { .. })) => Err(error),
            // An empty object has no first byte.
            Err(error) => match self.store.get_opts(&self.location, head()).await {
                Ok(empty) if empty.meta.size == 0 => Ok(identity(&empty.meta)),
                _ => Err(error),
            },
        }
    }

    /// Keeps at most one byte beyond the range, whatever the store sends.
    async fn get(&self, range: Range<u64>) -> Result<(Identity, Bytes), Error> {
        let max_bytes = (range.end - range.start) as usize + 1;
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            ..GetOptions::default()
        };
        let got = self.store.get_opts(&self.location, options).await?;
        let identity = identity(&got.meta);
        let mut body = got.into_stream();
        let mut bytes = BytesMut::with_capacity(max_bytes);
        while bytes.len() < max_bytes
            && let Some(chunk) = body.try_next().await?
        {
            bytes.extend_from_slice(&chunk[..chunk.len().min(max_bytes - bytes.len())]);
        }
        Ok((identity, bytes.freeze()))
    }
}

fn head() -> GetOptions {
    GetOptions {
        head: true,
        ..GetOptions::default()
    }
}

fn identity(meta: &ObjectMeta) -> Identity {
    Identity {
        device: 0,
        inode: 0,
        size_bytes: meta.size,
        modified: meta.e_tag.is_none().then(|| meta.last_modified.into()),
        changed: (0, 0),
        e_tag: meta.e_tag.clone(),
    }
}

fn requests() -> io::Result<&'static Handle> {
    match &*REQUESTS {
        Ok(runtime) => Ok(runtime.handle()),
        Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
    }
}

/// Runs `work` on the runtime of requests and blocks until it is done.
///
/// # Errors
/// The work was aborted.
pub(super) fn wait<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> io::Result<T> {
    let (done, result) = mpsc::sync_channel(1);
    requests()?.spawn(async move { done.send(work.await) });
    result
        .recv()
        .map_err(|_| io::Error::other("the request was aborted"))
}
