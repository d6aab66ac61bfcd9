//! How engines elsewhere are connected to.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio::runtime::Handle;
use tonic::Request;
use tonic::metadata::{Ascii, MetadataKey, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use url::{Host, Url};

use crate::error::{ErrorKind, QueryError};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a peer that has vanished is found out by.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Bytes that the server may send before they are read: with the part's budget, all that a slow
/// reader costs.
const WINDOW_BYTES: u32 = 4 << 20;

/// A name and a value that every call carries.
pub(super) type Entry = (MetadataKey<Ascii>, MetadataValue<Ascii>);

/// A connection, for which `runtime` works; `unreachable` is the error where there is none.
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

/// The `engine` cannot be connected to, or the connection broke.
pub(super) fn unreachable(engine: &str, error: &(dyn Error + 'static), hint: &str) -> QueryError {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let root = causes.last().map_or_else(String::new, ToString::to_string);
    QueryError::new(
        ErrorKind::EngineUnavailable,
        format!("{engine} cannot be reached: {root}"),
        hint,
    )
}

/// Where `authority` (`host:port`) is connected to; with TLS, by the certificates that the system trusts.
///
/// # Errors
/// It is no place, or TLS cannot be set up.
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

/// A name and a value of metadata.
///
/// # Errors
/// They cannot be sent; the value is never shown, since it may be a secret.
pub(super) fn entry(key: &str, value: &str) -> Result<Entry, String> {
    let key = MetadataKey::from_bytes(key.to_ascii_lowercase().as_bytes())
        .map_err(|_| format!("{key:?} is no name of a parameter"))?;
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

/// The `host:port` of an address, and whether it is this machine, so that a secret may go to it as it is;
/// `None` where it names no host.
pub(super) fn authority(url: &Url, default_port: u16) -> Option<(String, bool)> {
    let host = url.host().filter(|host| *host != Host::Domain(""))?;
    let port = url.port().unwrap_or(default_port);
    Some((format!("{host}:{port}"), is_loopback(&host)))
}

/// The text behind `%20` and the like.
pub(super) fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        // Only the schemes of the web have addresses for hosts.
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
