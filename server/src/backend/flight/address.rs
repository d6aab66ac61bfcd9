//! The address of a Flight SQL server.

use tokio::runtime::Handle;
use tonic::transport::{Channel, Endpoint};
use url::Url;

use super::error::unreachable;
use crate::backend::connection::{Entry, authority, connect, endpoint, entry, percent_decoded};
use crate::error::QueryError;

const DEFAULT_PORT: u16 = 32010;

const FORM: &str =
    "write flightsql://host:port, optionally with user:password@ and ?tls=true&token=…";

/// A Flight SQL server and the metadata to send to it.
#[derive(Debug, Clone)]
pub(super) struct Address {
    /// `host:port`, for messages.
    pub(super) shown: String,
    /// User and password.
    pub(super) user: Option<(String, String)>,
    /// The metadata of every call: the token, and parameters that the server needs.
    pub(super) metadata: Vec<Entry>,
    endpoint: Endpoint,
}

/// Scheme, host and port of the source; its other parts may be secret.
pub(in crate::backend) fn shown(source: &str) -> String {
    let scheme = source.split("://").next().unwrap_or_default();
    let url = Url::parse(source).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let port = url.as_ref().and_then(Url::port);
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    format!("{scheme}://{host}{port}")
}

impl Address {
    /// Reads `flightsql://user:password@host:port?tls=true&token=…`, or `flightsql+tls://…`; any other
    /// parameter is sent as metadata with each call.
    ///
    /// # Errors
    /// What is wrong, and what would be right. Never contains a secret.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        // A `+` in a token means itself, although in a query string it means a space.
        let url = Url::parse(&text.replace('+', "%2B").replacen(
            "flightsql%2Btls",
            "flightsql+tls",
            1,
        ))
        .map_err(|error| format!("{error}; {FORM}"))?;
        let (shown, is_loopback) =
            authority(&url, DEFAULT_PORT).ok_or_else(|| format!("it names no host; {FORM}"))?;
        if !matches!(url.path(), "" | "/") {
            return Err(format!("the address cannot have a path; {FORM}"));
        }
        let mut tls = url.scheme() == "flightsql+tls";
        let mut metadata = Vec::new();
        let mut has_secret = false;
        for (key, value) in url.query_pairs() {
            match key.as_ref() {
                "tls" => {
                    let wanted: bool = value
                        .parse()
                        .map_err(|_| format!("tls={value} is neither true nor false"))?;
                    tls |= wanted;
                }
                "token" => {
                    metadata.push(entry("authorization", &format!("Bearer {value}"))?);
                    has_secret = true;
                }
                _ => metadata.push(entry(&key, &value)?),
            }
        }
        let user = (!url.username().is_empty()).then(|| {
            (
                percent_decoded(url.username()),
                percent_decoded(url.password().unwrap_or_default()),
            )
        });
        if user.is_some() && has_secret {
            return Err(format!("it has a user and a token; {FORM}"));
        }
        if (user.is_some() || has_secret) && !tls && !is_loopback {
            return Err(
                "it would send the password or token unencrypted; add ?tls=true".to_owned(),
            );
        }
        Ok(Self {
            endpoint: endpoint(&shown, tls).map_err(|error| format!("{error}; {FORM}"))?,
            shown,
            user,
            metadata,
        })
    }

    /// A location that the server names in an endpoint, such as `grpc+tls://host:port`. `None` if it is not
    /// such a location, or would be sent secrets unencrypted.
    pub(super) fn elsewhere(&self, location: &str) -> Option<Self> {
        let (scheme, rest) = location.split_once("://")?;
        let tls = match scheme {
            "grpc" | "grpc+tcp" => false,
            "grpc+tls" => true,
            _ => return None,
        };
        let shown = rest.split(['/', '?']).next()?.to_owned();
        if !tls && shown == self.shown {
            // The same server, which may be behind TLS without knowing it.
            return Some(self.clone());
        }
        if !tls && !self.metadata.is_empty() {
            return None;
        }
        Some(Self {
            endpoint: endpoint(&shown, tls).ok()?,
            shown,
            ..self.clone()
        })
    }

    /// Opens a connection, which `runtime` drives.
    ///
    /// # Errors
    /// `engine_unavailable`.
    pub(super) async fn connect(&self, runtime: &Handle) -> Result<Channel, QueryError> {
        connect(&self.endpoint, runtime, |error| {
            unreachable(&self.shown, error)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let plain = Address::parse("flightsql://engine.example").unwrap();
        assert_eq!(plain.shown, "engine.example:32010");
        assert!(plain.metadata.is_empty());
        let full = Address::parse("flightsql+tls://h:1?token=a+b%3D&database=x").unwrap();
        assert_eq!(full.endpoint.uri().to_string(), "https://h:1/");
        let values: Vec<_> = full
            .metadata
            .iter()
            .map(|(_, value)| value.to_str().unwrap())
            .collect();
        assert_eq!(values, ["Bearer a+b=", "x"]);
        let user = Address::parse("flightsql://me:p%40ss@127.0.0.1:5")
            .unwrap()
            .user
            .unwrap();
        assert_eq!(user, ("me".to_owned(), "p@ss".to_owned()));
        assert!(full.elsewhere("grpc+tls://other:2").is_some());
        assert!(full.elsewhere("grpc://other:2").is_none());
        let same = full.elsewhere("grpc+tcp://h:1").unwrap();
        assert_eq!(same.endpoint.uri().scheme_str(), Some("https"));
        assert!(full.elsewhere("file:///etc/passwd").is_none());
    }

    #[test]
    fn refused_addresses() {
        for (text, why) in [
            ("flightsql://", "host"),
            ("flightsql://h/db", "path"),
            ("flightsql://h/;token=secret", "path"),
            ("flightsql://u:p;secret@h", "tls=true"),
            ("flightsql://u:p?secret@h", "port"),
            ("flightsql://h?tls=maybe", "neither"),
            ("flightsql://h?token=secret", "tls=true"),
            ("flightsql://u:secret@h", "tls=true"),
            (
                "flightsql://u:secret@h?tls=true&token=secret",
                "a user and a token",
            ),
            ("flightsql://h:99999", "port"),
        ] {
            let refused = Address::parse(text).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
            assert!(
                !refused.contains("secret") && !shown(text).contains("secret"),
                "{text}"
            );
        }
    }
}
