//! Connections: accepted up to a limit, each with time to say what it wants.

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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use crate::metrics::Metrics;

/// How many connections too many may read their answer in peace; more are closed at once.
const MAX_REFUSALS: usize = 128;

/// How long a connection too many may take to read that it is.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The whole answer to a connection too many.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
content-type: application/problem+json\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 197\r\n\r\n\
{\"type\":\"urn:colonnade:error:too_many_connections\",\"title\":\"Too many connections\",\"status\":503,\
\"code\":\"too_many_connections\",\"detail\":\"too many connections are open\",\"hint\":\"try again in a second\"}";

/// The address at the other end of the connection, as an extension of each request.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// What a connection may cost.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Connections at the same time.
    pub max_connections: usize,
    /// From the opening of a connection, or the end of a response, to the end of the next header.
    pub header_timeout: Duration,
}

/// The connections of one server.
pub(crate) struct Connections {
    router: Router,
    metrics: Arc<Metrics>,
    header_timeout: Duration,
    places: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    tasks: TaskTracker,
    closing: CancellationToken,
    ending: CancellationToken,
}

impl Connections {
    pub(crate) fn new(router: Router, metrics: Arc<Metrics>, limits: ConnectionLimits) -> Self {
        Self {
            router,
            metrics,
            header_timeout: limits.header_timeout,
            places: Arc::new(Semaphore::new(limits.max_connections)),
            refusals: Arc::new(Semaphore::new(MAX_REFUSALS)),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            ending: CancellationToken::new(),
        }
    }

    /// Accepts connections until `shutdown` is ready.
    pub(crate) async fn accept(&self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut shutdown => return,
            };
            match accepted {
                Ok((socket, peer)) => self.take(socket, peer.ip()),
                Err(error) if is_of_the_connection(&error) => {}
                Err(error) => {
                    // Most likely no descriptor is left: those that are open have to end first.
                    tracing::warn!("no connection can be accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Lets idle connections go, and waits until the others have answered. `false`: some have not
    /// in that time.
    pub(crate) async fn finish(&self, grace: Duration) -> bool {
        self.closing.cancel();
        self.tasks.close();
        tokio::time::timeout(grace, self.tasks.wait()).await.is_ok()
    }

    fn take(&self, socket: TcpStream, peer: IpAddr) {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            self.metrics.connections.inc();
            self.metrics.connections_open.inc();
            self.tasks.spawn(self.serve(socket, peer, place));
        } else {
            self.metrics.connections_refused.inc();
            let refused = refuse(socket);
            if let Some(socket) = refused
                && let Ok(place) = Arc::clone(&self.refusals).try_acquire_owned()
            {
                self.tasks.spawn(linger(socket, place));
            }
        }
    }

    fn serve(
        &self,
        socket: TcpStream,
        peer: IpAddr,
        place: OwnedSemaphorePermit,
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
        let (closing, ending) = (self.closing.clone(), self.ending.clone());
        let open = OpenConnection(Arc::clone(&self.metrics), place);
        async move {
            let _open = open;
            // Without it small messages wait for the acknowledgement of those before.
            let _ = socket.set_nodelay(true);
            let mut connection = pin!(builder.serve_connection(TokioIo::new(socket), service));
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = ending.cancelled() => return,
                () = closing.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    tokio::select! {
                        ended = connection => ended,
                        () = ending.cancelled() => return,
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
        self.ending.cancel();
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

/// Writes the answer and closes the writing half. A fresh socket has room for it; where it has not,
/// nobody listens.
fn refuse(socket: TcpStream) -> Option<TcpStream> {
    let written = socket.try_write(REFUSAL).ok()?;
    let socket = socket.into_std().ok()?;
    socket.shutdown(std::net::Shutdown::Write).ok()?;
    (written == REFUSAL.len())
        .then(|| TcpStream::from_std(socket).ok())
        .flatten()
}

/// Waits until the other end has read the answer: a socket that is closed with bytes unread takes
/// back what was written.
async fn linger(socket: TcpStream, _place: OwnedSemaphorePermit) {
    let read_to_end = async {
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
    let _ = tokio::time::timeout(REFUSAL_TIMEOUT, read_to_end).await;
}

/// Whether only the connection that was about to be accepted failed.
fn is_of_the_connection(error: &std::io::Error) -> bool {
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
