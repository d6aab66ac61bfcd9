//! The address of a Spark Connect server, from its connection string.
//! <https://github.com/apache/spark/blob/master/sql/connect/docs/client-connection-string.md>

use tokio::runtime::Handle;
use tonic::transport::{Channel, Endpoint};
use url::Url;

use super::error::unreachable;
use crate::backend::connection::{Entry, authority, connect, endpoint, entry, percent_decoded};
use crate::error::QueryError;

const DEFAULT_PORT: u16 = 15002;

/// A Spark Connect server and the metadata to send to it.
#[derive(Clone)]
pub(super) struct Address {
    /// `host:port`, for messages.
    pub(super) shown: String,
    /// The user that queries run as.
    pub(super) user: String,
    /// The metadata of every call: the token, and parameters that the server's proxy needs.
    pub(super) metadata: Vec<Entry>,
    endpoint: Endpoint,
}

impl Address {
    /// Reads `sc://host:port/;token=…;use_ssl=true;user_id=…`; any other parameter is sent as
    /// metadata with each call, as Spark's own clients do.
    ///
    /// # Errors
    /// What is wrong, and what would be right. Never contains a secret.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let form = "write sc://host:port, optionally with /;token=…;use_ssl=true";
        let url = Url::parse(text).map_err(|error| format!("{error}; {form}"))?;
        let (shown, is_loopback) =
            authority(&url, DEFAULT_PORT).ok_or_else(|| format!("it names no host; {form}"))?;
        if shown.contains(';') {
            return Err(format!("there is no slash before its parameters; {form}"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!("it has a user before the host; {form}"));
        }
        let parameters = match url.path() {
            "" | "/" => "",
            path => path.strip_prefix("/;").ok_or_else(|| {
                format!("the text after the host is not a list of parameters; {form}")
            })?,
        };
        let (mut user, mut token, mut use_ssl) = ("colonnade".to_owned(), None, None);
        let mut metadata = Vec::new();
        for parameter in parameters.split(';').filter(|text| !text.is_empty()) {
            let (key, value) = parameter
                .split_once('=')
                .ok_or_else(|| format!("a parameter has no value; {form}"))?;
            let value = percent_decoded(value);
            match key {
                "token" => token = Some(value),
                "user_id" => user = value,
                "use_ssl" => {
                    use_ssl = Some(
                        value
                            .parse()
                            .map_err(|_| format!("use_ssl={value} is neither true nor false"))?,
                    );
                }
                "session_id" | "user_agent" | "grpc_max_message_size" => {
                    return Err(format!(
                        "{key} cannot be chosen, because Colonnade sets it; leave it out"
                    ));
                }
                _ => metadata.push(entry(key, &value)?),
            }
        }
        let use_ssl: bool = use_ssl.unwrap_or(token.is_some() && !is_loopback);
        if let Some(token) = token {
            if !use_ssl && !is_loopback {
                return Err("it would send the token unencrypted; add use_ssl=true".to_owned());
            }
            metadata.push(entry("authorization", &format!("Bearer {token}"))?);
        }
        Ok(Self {
            endpoint: endpoint(&shown, use_ssl).map_err(|error| format!("{error}; {form}"))?,
            shown,
            user,
            metadata,
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

    fn refusal(text: &str) -> String {
        Address::parse(text).err().unwrap_or_default()
    }

    fn value(address: &Address, key: &str) -> Option<String> {
        let found = address.metadata.iter().find(|(name, _)| name == key)?;
        Some(found.1.to_str().unwrap().to_owned())
    }

    #[test]
    fn connection_strings() {
        let plain = Address::parse("sc://spark.example").unwrap();
        assert_eq!(plain.shown, "spark.example:15002");
        assert_eq!(plain.endpoint.uri().scheme_str(), Some("http"));
        let text = "sc://h.example:443/;use_ssl=true;token=a%20b+c==;user_id=me;x-cluster=1";
        let full = Address::parse(text).unwrap();
        assert_eq!(
            (full.shown.as_str(), full.user.as_str()),
            ("h.example:443", "me")
        );
        assert_eq!(full.endpoint.uri().scheme_str(), Some("https"));
        assert_eq!(value(&full, "authorization").unwrap(), "Bearer a b+c==");
        assert_eq!(value(&full, "x-cluster").unwrap(), "1");
        let implied = Address::parse("sc://h.example/;token=t").unwrap();
        assert_eq!(implied.endpoint.uri().scheme_str(), Some("https"));
        let local = Address::parse("sc://127.0.0.1/;token=t").unwrap();
        assert_eq!(local.endpoint.uri().scheme_str(), Some("http"));
    }

    #[test]
    fn refused_connection_strings() {
        for (text, why) in [
            ("sc://", "host"),
            ("sc://u:p@h", "user"),
            ("sc://h/db", "parameters"),
            ("sc://h/;token", "no value"),
            ("sc://h/;use_ssl=maybe", "neither"),
            ("sc://h/;token=secret;use_ssl=false", "use_ssl=true"),
            ("sc://h/;session_id=x", "leave it out"),
            ("sc://h/db;token=secret", "parameters"),
            ("sc://h;token=secret", "no slash"),
            ("sc://h:99999", "port"),
        ] {
            let refused = refusal(text);
            assert!(refused.contains(why), "{text}: {refused}");
            assert!(!refused.contains("secret"), "{text}: {refused}");
        }
    }
}
