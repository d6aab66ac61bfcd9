//! Calls of Flight RPC.

use std::sync::Arc;
use std::time::Duration;

use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::sql::Any;
use arrow_flight::{
    Action, CancelFlightInfoRequest, FlightData, FlightDescriptor, FlightEndpoint, FlightInfo,
    HandshakeRequest,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use tokio::runtime::Handle;
use tonic::transport::Channel;
use tonic::{Code, Request, Streaming};

use super::address::Address;
use super::error::refused;
use crate::backend::connection::{Entry, awaited, entry, request};
use crate::backend::received::bad_engine;
use crate::error::QueryError;

/// The largest accepted message.
const MAX_MESSAGE_BYTES: usize = 128 << 20;

/// The longest time for the request that cancels a query.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// A client of one server.
#[derive(Debug)]
pub(super) struct Caller {
    address: Address,
    runtime: Handle,
}

/// The messages of an endpoint.
pub(super) struct Messages {
    messages: Streaming<FlightData>,
    channel: Channel,
}

impl Messages {
    /// The next message; `None` after gRPC's status reports completion.
    ///
    /// # Errors
    /// The engine's error.
    pub(super) async fn next(&mut self) -> Result<Option<FlightData>, QueryError> {
        let next = awaited(&self.channel, self.messages.message()).await;
        next.map_err(|status| refused(&status))
    }
}

impl Caller {
    /// Signs in if there is a user. `runtime` must outlive all calls, because it drives their connections.
    ///
    /// # Errors
    /// `engine_unavailable`.
    pub(super) async fn open(mut address: Address, runtime: &Handle) -> Result<Self, QueryError> {
        if let Some(authorization) = sign_in(&address, runtime).await? {
            address.metadata.push(authorization);
        }
        Ok(Self {
            address,
            runtime: runtime.clone(),
        })
    }

    /// Plans a command.
    ///
    /// # Errors
    /// The engine's error.
    pub(super) async fn info(&self, command: &Any) -> Result<FlightInfo, QueryError> {
        let descriptor = FlightDescriptor::new_cmd(command.encode_to_vec());
        let channel = self.address.connect(&self.runtime).await?;
        let mut client = client(channel.clone());
        let answer = awaited(&channel, client.get_flight_info(self.request(descriptor))).await;
        Ok(answer.map_err(|status| refused(&status))?.into_inner())
    }

    /// Starts to read an endpoint, on a connection of its own. On a shared connection, endpoints that wait
    /// for their turn would fill the flow control window and block the one whose turn it is.
    ///
    /// # Errors
    /// The engine's error, or none of its locations can be reached.
    pub(super) async fn get(&self, endpoint: &FlightEndpoint) -> Result<Messages, QueryError> {
        let ticket = endpoint.ticket.clone();
        let ticket = ticket.ok_or_else(|| bad_engine("an endpoint has no ticket"))?;
        let channel = self.connect_to(endpoint).await?;
        let mut client = client(channel.clone());
        let answer = awaited(&channel, client.do_get(self.request(ticket))).await;
        Ok(Messages {
            messages: answer.map_err(|status| refused(&status))?.into_inner(),
            channel,
        })
    }

    async fn connect_to(&self, endpoint: &FlightEndpoint) -> Result<Channel, QueryError> {
        let mut failed = None;
        for location in &endpoint.location {
            let is_here = location.uri.is_empty()
                || location.uri.starts_with("arrow-flight-reuse-connection:");
            let address = match is_here {
                true => Some(self.address.clone()),
                false => self.address.elsewhere(&location.uri),
            };
            match address {
                Some(address) => match address.connect(&self.runtime).await {
                    Ok(channel) => return Ok(channel),
                    Err(error) => failed = Some(error),
                },
                None => {
                    failed = failed.or_else(|| {
                        Some(bad_engine("an endpoint has a location that cannot be used"))
                    });
                }
            }
        }
        match failed {
            Some(error) => Err(error),
            None => self.address.connect(&self.runtime).await,
        }
    }

    /// Cancels a query in the engine. Not every engine supports the call.
    pub(super) fn cancel(self: &Arc<Self>, info: FlightInfo) {
        let caller = Arc::clone(self);
        let cancel = async move {
            let action = Action {
                r#type: "CancelFlightInfo".to_owned(),
                body: CancelFlightInfoRequest { info: Some(info) }
                    .encode_to_vec()
                    .into(),
            };
            let channel = caller.address.connect(&caller.runtime).await?;
            let done = client(channel).do_action(caller.request(action)).await;
            done.map(drop).map_err(|status| refused(&status))
        };
        self.runtime.spawn(async move {
            if let Ok(Err(error)) = tokio::time::timeout(CANCEL_TIMEOUT, cancel).await {
                tracing::debug!("a query could not be cancelled: {error}");
            }
        });
    }

    fn request<T>(&self, message: T) -> Request<T> {
        request(message, &self.address.metadata)
    }
}

/// The metadata that identifies the user: a token from the server, or user and password if it has no
/// handshake.
async fn sign_in(address: &Address, runtime: &Handle) -> Result<Option<Entry>, QueryError> {
    let channel = address.connect(runtime).await?;
    let Some((user, password)) = &address.user else {
        return Ok(None);
    };
    let basic = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
    let basic = entry("authorization", &basic).map_err(|error| bad_engine(&error))?;
    let hello = futures::stream::iter([HandshakeRequest::default()]);
    let mut metadata = address.metadata.clone();
    metadata.push(basic.clone());
    let mut client = client(channel.clone());
    match awaited(&channel, client.handshake(request(hello, &metadata))).await {
        Ok(answer) => {
            let given = answer.metadata().get("authorization").cloned();
            Ok(Some(given.map_or(basic.clone(), |given| (basic.0, given))))
        }
        Err(status) if status.code() == Code::Unimplemented => Ok(Some(basic)),
        Err(status) => Err(refused(&status)),
    }
}

fn client(channel: Channel) -> FlightServiceClient<Channel> {
    FlightServiceClient::new(channel).max_decoding_message_size(MAX_MESSAGE_BYTES)
}
