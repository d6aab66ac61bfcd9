//! Connections to remote engines.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use axum::http::uri::PathAndQuery;
use percent_encoding::percent_decode_str;
use tokio::runtime::Handle;
use tonic::client::Grpc;
use tonic::metadata::{Ascii, MetadataKey, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;
use url::{Host, Url};

use crate::error::{ErrorKind, QueryError};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The idle time after which TCP probes whether the peer still exists.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// How long an engine may send nothing until it is asked for a sign of life.
const SILENCE: Duration = Duration::from_secs(10);

/// How long its answer may take.
const SIGN_TIMEOUT: Duration = Duration::from_secs(15);

/// The status of an engine that gives no sign of life.
const STANDS_STILL: &str = "the engine has stood still for 25 s";

/// HTTP/2 flow control window: bytes that the engine may send before they are read. With the partition's
/// budget, this is the whole memory cost of a slow reader.
const WINDOW_BYTES: u32 = 4 << 20;

/// A metadata name and value that every call carries.
pub(super) type Entry = (MetadataKey<Ascii>, MetadataValue<Ascii>);

/// Opens a connection, which `runtime` drives. `unreachable` makes the error if that fails.
///
/// # Errors
/// `engine_unavailable`.
pub(super) async fn connect(
    endpoint: &Endpoint,
    runtime: &Handle,
    unreachable: impl Fn(&(dyn Error + 'static)) -> QueryError,
) -> Result<Channel, QueryError> {
    let endpoint = endpoint.clone();
    let connected = runtime.spawn(async move { endpoint.connect().await });
    let connected = connected.await.map_err(|error| unreachable(&error))?;
    connected.map_err(|error| unreachable(&error))
}

/// The error for an `engine` that cannot be reached, or whose connection broke.
pub(super) fn unreachable(engine: &str, error: &(dyn Error + 'static), hint: &str) -> QueryError {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let root = causes.last().map_or_else(String::new, ToString::to_string);
    QueryError::new(
        ErrorKind::EngineUnavailable,
        format!("{engine} cannot be reached: {root}"),
        hint,
    )
}

/// Waits for what an engine sends over `channel`. While it sends nothing, it is asked for a sign of life, because one
/// that computes for long and one that stands still look the same. The question is a call that no engine knows: after
/// some pings of HTTP/2 without data, the servers of gRPC's C++ and Java libraries end the connection
/// (<https://github.com/grpc/grpc/blob/master/doc/keepalive.md>, `too_many_pings`).
///
/// # Errors
/// Those of `sent`; `unavailable` without a sign of life, see [`stands_still`].
pub(super) async fn awaited<T>(
    channel: &Channel,
    sent: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    tokio::pin!(sent);
    loop {
        let silent = async {
            tokio::time::sleep(SILENCE).await;
            tokio::time::timeout(SIGN_TIMEOUT, sign_of_life(channel)).await
        };
        tokio::select! {
            biased;
            sent = &mut sent => return sent,
            Err(_) = silent => return Err(Status::unavailable(STANDS_STILL)),
            else => {}
        }
    }
}

/// Whether the status is that of an engine that gives no sign of life.
pub(super) fn stands_still(status: &Status) -> bool {
    status.message() == STANDS_STILL
}

/// Returns when the engine answers, whatever it says.
async fn sign_of_life(channel: &Channel) {
    let mut client = Grpc::new(channel.clone());
    if client.ready().await.is_ok() {
        let path = PathAndQuery::from_static("/colonnade.Life/Sign");
        let _ = client
            .unary(Request::new(()), path, ProstCodec::<(), ()>::default())
            .await;
    }
}

/// The endpoint of `authority` (`host:port`). TLS trusts the system's certificates.
///
/// # Errors
/// The authority is invalid, or TLS cannot be set up.
pub(super) fn endpoint(authority: &str, tls: bool) -> Result<Endpoint, String> {
    let scheme = if tls { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{authority}"))
        .map_err(|error| error.to_string())?
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(Some(KEEPALIVE))
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES);
    if !tls {
        return Ok(endpoint);
    }
    endpoint
        .tls_config(ClientTlsConfig::new().with_native_roots())
        .map_err(|error| format!("TLS cannot be set up: {error}"))
}

/// A metadata entry.
///
/// # Errors
/// The name or the value cannot be sent. The value is never shown, because it may be a secret.
pub(super) fn entry(key: &str, value: &str) -> Result<Entry, String> {
    let key = MetadataKey::from_bytes(key.to_ascii_lowercase().as_bytes())
        .map_err(|_| format!("{key:?} is not a parameter name"))?;
    let value = MetadataValue::try_from(value)
        .map_err(|_| format!("the value of {key} has characters that cannot be sent"))?;
    Ok((key, value))
}

/// A call that carries `metadata`.
pub(super) fn request<T>(message: T, metadata: &[Entry]) -> Request<T> {
    let mut request = Request::new(message);
    for (key, value) in metadata {
        request.metadata_mut().insert(key.clone(), value.clone());
    }
    request
}

/// The `host:port` of an address, and whether it is this machine, to which a secret may be sent in plain
/// text. `None` if the address names no host.
pub(super) fn authority(url: &Url, default_port: u16) -> Option<(String, bool)> {
    let host = url.host().filter(|host| *host != Host::Domain(""))?;
    let port = url.port().unwrap_or(default_port);
    Some((format!("{host}:{port}"), is_loopback(&host)))
}

/// The text with `%20` and the like decoded.
pub(super) fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        // The `url` crate parses IPv4 addresses only for web schemes such as https; here they are names.
        Host::Domain(name) => {
            *name == "localhost"
                || name
                    .parse::<IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}
