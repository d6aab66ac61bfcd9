//! How engines elsewhere are connected to.

use std::net::IpAddr;
use std::time::Duration;

use tonic::metadata::{Ascii, MetadataKey, MetadataValue};
use tonic::transport::{ClientTlsConfig, Endpoint};
use url::Host;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a peer that has vanished is found out by.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Bytes that the server may send before they are read: with the part's budget, all that a slow
/// reader costs.
const WINDOW_BYTES: u32 = 4 << 20;

/// A name and a value that every call carries.
pub(super) type Entry = (MetadataKey<Ascii>, MetadataValue<Ascii>);

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

/// Whether a host is this machine, so that a secret may go to it as it is.
pub(super) fn is_loopback(host: &Host<&str>) -> bool {
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
