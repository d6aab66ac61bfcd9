//! TCP connections: accepted up to a limit, each with a timeout for the headers of its requests.

use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
#[cfg(any(target_os = "linux", target_os = "macos"))]
use nix::{setsockopt_impl, sockopt_impl, sys::socket::setsockopt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use crate::metrics::Metrics;

/// Refused connections that are kept open until the client has read the refusal; others are closed
/// at once.
const MAX_REFUSALS: usize = 128;

/// Bytes that the system may hold for a connection although its client has no room for them. They are in no memory that
/// the server counts, and a system that has too many of them resets connections. Measured: with half as many, one reader
/// at full speed is slower.
#[cfg(any(target_os = "linux", target_os = "macos"))]
const MAX_UNSENT_BYTES: u32 = 256 << 10;

/// How long a client may take to read the refusal.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The response on a connection beyond the limit.
pub(super) const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
content-type: application/problem+json\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 197\r\n\r\n\
{\"type\":\"urn:colonnade:error:too_many_connections\",\"title\":\"Too many connections\",\"status\":503,\
\"code\":\"too_many_connections\",\"detail\":\"too many connections are open\",\"hint\":\"try again in a second\"}";

#[cfg(any(target_os = "linux", target_os = "macos"))]
sockopt_impl!(
    /// The bytes that the system may hold although they cannot be sent yet.
    UnsentLimit,
    SetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_NOTSENT_LOWAT,
    u32
);

/// The client's address, an extension of each request.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// The limits of connections.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Open connections at the same time.
    pub max_connections: usize,
    /// From the start of a connection, or the end of a response, to the end of the next request's
    /// headers.
    pub header_timeout: Duration,
}

/// The connections of one server.
pub(crate) struct Connections {
    router: Router,
    metrics: Arc<Metrics>,
    header_timeout: Duration,
    slots: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    tasks: TaskTracker,
    /// Idle connections close, the others after their response.
    closing: CancellationToken,
    /// All connections close at once.
    aborting: CancellationToken,
}

impl Connections {
    pub(crate) fn new(router: Router, metrics: Arc<Metrics>, limits: ConnectionLimits) -> Self {
        Self {
            router,
            metrics,
            header_timeout: limits.header_timeout,
            slots: Arc::new(Semaphore::new(limits.max_connections)),
            refusals: Arc::new(Semaphore::new(MAX_REFUSALS)),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            aborting: CancellationToken::new(),
        }
    }

    /// Accepts connections until `shutdown` is ready.
    pub(crate) async fn accept(&self, listener: &TcpListener, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut shutdown => return,
            };
            match accepted {
                Ok((socket, peer)) => self.serve_or_refuse(socket, peer.ip()),
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    // Most likely no file descriptor is free until a connection ends.
                    tracing::warn!("no connection can be accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Closes idle connections and waits for the responses on the others. Returns false if some
    /// have not ended within `grace`.
    pub(crate) async fn finish(&self, grace: Duration) -> bool {
        self.closing.cancel();
        self.tasks.close();
        tokio::time::timeout(grace, self.tasks.wait()).await.is_ok()
    }

    fn serve_or_refuse(&self, socket: TcpStream, peer: IpAddr) {
        if let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
            self.metrics.connections.inc();
            self.metrics.connections_open.inc();
            self.tasks.spawn(self.serve(socket, peer, slot));
        } else {
            self.metrics.connections_refused.inc();
            let refused = refuse(socket);
            if let Some(socket) = refused
                && let Ok(slot) = Arc::clone(&self.refusals).try_acquire_owned()
            {
                self.tasks.spawn(read_to_end(socket, slot));
            }
        }
    }

    fn serve(
        &self,
        socket: TcpStream,
        peer: IpAddr,
        slot: OwnedSemaphorePermit,
    ) -> impl Future<Output = ()> + Send + 'static {
        let router = self.router.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            answer(router.clone(), request)
        });
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(self.header_timeout);
        let (closing, aborting) = (self.closing.clone(), self.aborting.clone());
        let open = OpenConnection(Arc::clone(&self.metrics), slot);
        async move {
            let _open = open;
            // Otherwise small messages wait for the acknowledgement of earlier ones.
            let _ = socket.set_nodelay(true);
            #[cfg(any(target_os = "linux", target_os = "macos"))]
            let _ = setsockopt(&socket, UnsentLimit, &MAX_UNSENT_BYTES);
            let mut connection = pin!(builder.serve_connection(TokioIo::new(socket), service));
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = aborting.cancelled() => return,
                () = closing.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    tokio::select! {
                        ended = connection => ended,
                        () = aborting.cancelled() => return,
                    }
                }
            };
            if let Err(error) = ended {
                tracing::debug!("a connection ended: {error}");
            }
        }
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.aborting.cancel();
    }
}

struct OpenConnection(
    Arc<Metrics>,
    #[expect(dead_code, reason = "held")] OwnedSemaphorePermit,
);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connections_open.dec();
    }
}

async fn answer(
    mut router: Router,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    router.call(request).await
}

/// Writes the refusal and closes the writing half. A new socket's send buffer has room for it; if
/// it has not, the socket is dropped.
fn refuse(socket: TcpStream) -> Option<TcpStream> {
    let written = socket.try_write(REFUSAL).ok()?;
    let socket = socket.into_std().ok()?;
    socket.shutdown(std::net::Shutdown::Write).ok()?;
    (written == REFUSAL.len())
        .then(|| TcpStream::from_std(socket).ok())
        .flatten()
}

/// Reads until the client closes: closing a socket with unread bytes resets the connection, and the
/// client loses the refusal.
async fn read_to_end(socket: TcpStream, _slot: OwnedSemaphorePermit) {
    let read = async {
        let mut unread = [0; 4096];
        loop {
            socket.readable().await?;
            match socket.try_read(&mut unread) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    };
    let _ = tokio::time::timeout(REFUSAL_TIMEOUT, read).await;
}

/// Whether the error concerns the connection to be accepted, and not the listener.
fn is_of_one_connection(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

#[cfg(test)]
mod tests {
    use super::REFUSAL;

    #[test]
    fn the_refusal_has_the_length_it_says() {
        let text = std::str::from_utf8(REFUSAL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("content-length: {}", body.len())));
        assert!(serde_json::from_str::<serde_json::Value>(body).is_ok());
    }
}
