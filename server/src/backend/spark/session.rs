//! A session of Spark Connect. Each query has its own, so that no statement sees the settings of another.

use std::sync::Arc;

use axum::http::uri::PathAndQuery;
use prost::Message;
use tokio::runtime::Handle;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;
use uuid::Uuid;

use super::address::Address;
use super::error::{SparkError, unreachable};
use super::proto::{
    ConfigOperation, ConfigRequest, ConfigResponse, ConfigSet, Empty, ExecutePlanRequest,
    ExecutePlanResponse, FetchErrorDetailsRequest, FetchErrorDetailsResponse, INTERRUPT_OPERATION,
    InterruptRequest, KeyValue, Plan, ReattachExecuteRequest, ReattachOptions,
    ReleaseExecuteRequest, ReleaseSessionRequest, RequestOption, UserContext,
};
use crate::backend::connection::{awaited, request, stands_still};
use crate::error::QueryError;

/// The largest accepted message, which is Spark's own limit.
const MAX_MESSAGE_BYTES: usize = 128 << 20;

const CLIENT_TYPE: &str = concat!("colonnade/", env!("CARGO_PKG_VERSION"));

/// Settings of a session, made before its first statement.
const SETTINGS: [(&str, &str); 3] = [
    // Double quotes enclose names, as in the dashboard and in other engines; by default they enclose text.
    ("spark.sql.ansi.enabled", "true"),
    ("spark.sql.ansi.doubleQuotedIdentifiers", "true"),
    // The messages are also sent to readers that do not accept compressed bodies.
    ("spark.sql.execution.arrow.compression.codec", "none"),
];

/// A session with a connection of its own. Dropping it stops everything that runs in it.
pub(super) struct Session {
    client: Client,
    server_side_id: String,
    runtime: Handle,
}

/// The client for the calls of one session.
#[derive(Clone)]
struct Client {
    address: Arc<Address>,
    channel: Channel,
    session_id: String,
}

impl Session {
    /// Starts a session. `runtime` must outlive it, because it drives the connection.
    ///
    /// # Errors
    /// `engine_unavailable`.
    pub(super) async fn open(
        address: &Arc<Address>,
        runtime: &Handle,
    ) -> Result<Arc<Self>, QueryError> {
        let client = Client {
            address: Arc::clone(address),
            channel: address.connect(runtime).await?,
            session_id: Uuid::new_v4().to_string(),
        };
        let pairs = SETTINGS.map(|(key, value)| KeyValue {
            key: key.to_owned(),
            value: Some(value.to_owned()),
        });
        let request = ConfigRequest {
            session_id: client.session_id.clone(),
            user_context: client.user(),
            operation: Some(ConfigOperation {
                set: Some(ConfigSet {
                    pairs: pairs.into(),
                }),
            }),
            client_type: Some(CLIENT_TYPE.to_owned()),
        };
        let answer: Result<ConfigResponse, Status> = client.call("Config", request).await;
        match answer {
            Ok(answer) => Ok(Arc::new(Self {
                client,
                server_side_id: answer.server_side_session_id,
                runtime: runtime.clone(),
            })),
            Err(status) => Err(client.error(&status).await),
        }
    }

    /// Whether an answer comes from the session that was started, and not from one with the same id in a
    /// restarted driver.
    pub(super) fn is_of(&self, server_side_id: &str) -> bool {
        self.server_side_id == server_side_id
    }

    /// Starts a statement as an operation that can be reattached to.
    pub(super) async fn execute(
        &self,
        operation_id: &str,
        plan: Plan,
    ) -> Result<Streaming<ExecutePlanResponse>, Status> {
        let request = ExecutePlanRequest {
            session_id: self.client.session_id.clone(),
            user_context: self.client.user(),
            plan: Some(plan),
            client_type: Some(CLIENT_TYPE.to_owned()),
            request_options: vec![RequestOption {
                reattach_options: Some(ReattachOptions { reattachable: true }),
            }],
            operation_id: Some(operation_id.to_owned()),
            client_observed_server_side_session_id: Some(self.server_side_id.clone()),
        };
        self.client.call_streaming("ExecutePlan", request).await
    }

    /// Continues an operation after the last response that was received.
    pub(super) async fn reattach(
        &self,
        operation_id: &str,
        last_response_id: Option<&str>,
    ) -> Result<Streaming<ExecutePlanResponse>, Status> {
        let request = ReattachExecuteRequest {
            session_id: self.client.session_id.clone(),
            user_context: self.client.user(),
            operation_id: operation_id.to_owned(),
            client_type: Some(CLIENT_TYPE.to_owned()),
            last_response_id: last_response_id.map(str::to_owned),
            client_observed_server_side_session_id: Some(self.server_side_id.clone()),
        };
        self.client.call_streaming("ReattachExecute", request).await
    }

    /// Releases an operation in Spark. If it is not complete, it is interrupted first.
    pub(super) fn release(self: &Arc<Self>, operation_id: String, is_complete: bool) {
        let session = Arc::clone(self);
        self.runtime.spawn(async move {
            if !is_complete {
                let interrupt = InterruptRequest {
                    session_id: session.client.session_id.clone(),
                    user_context: session.client.user(),
                    interrupt_type: INTERRUPT_OPERATION,
                    operation_id: Some(operation_id.clone()),
                };
                session.client.notify("Interrupt", interrupt).await;
            }
            let release = ReleaseExecuteRequest {
                session_id: session.client.session_id.clone(),
                user_context: session.client.user(),
                operation_id,
                release_all: Some(Empty {}),
            };
            session.client.notify("ReleaseExecute", release).await;
        });
    }

    /// The next response of a call; `None` at its end.
    pub(super) async fn response(
        &self,
        responses: &mut Streaming<ExecutePlanResponse>,
    ) -> Result<Option<ExecutePlanResponse>, Status> {
        awaited(&self.client.channel, responses.message()).await
    }

    /// The error for a status, with Spark's full message if it can be fetched.
    pub(super) async fn error(&self, status: &Status) -> QueryError {
        self.client.error(status).await
    }
}

impl Client {
    /// The error for a status, with Spark's full message if it can be fetched.
    async fn error(&self, status: &Status) -> QueryError {
        if is_broken(status) && !stands_still(status) {
            return unreachable(&self.address.shown, status);
        }
        let error = SparkError::of(status);
        let mut text = status.message().to_owned();
        if let Some(error_id) = &error.id {
            let request = FetchErrorDetailsRequest {
                session_id: self.session_id.clone(),
                user_context: self.user(),
                error_id: error_id.clone(),
            };
            let details: Result<FetchErrorDetailsResponse, Status> =
                self.call("FetchErrorDetails", request).await;
            // Without the details, the message of the status is used.
            let mut details = details.unwrap_or_default();
            let root = details
                .root_error_idx
                .and_then(|index| usize::try_from(index).ok());
            if let Some(whole) = root.and_then(|index| details.errors.get_mut(index)) {
                text = std::mem::take(&mut whole.message);
            }
        }
        error.into_query_error(status, &text)
    }

    fn user(&self) -> Option<UserContext> {
        Some(UserContext {
            user_id: self.address.user.clone(),
            user_name: self.address.user.clone(),
        })
    }

    fn request<M>(&self, message: M) -> Request<M> {
        request(message, &self.address.metadata)
    }

    async fn client(&self) -> Result<Grpc<Channel>, Status> {
        let mut client =
            Grpc::new(self.channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES);
        client
            .ready()
            .await
            .map_err(|error| Status::unavailable(error.to_string()))?;
        Ok(client)
    }

    async fn call<M, A>(&self, method: &'static str, message: M) -> Result<A, Status>
    where
        M: Message + 'static,
        A: Message + Default + 'static,
    {
        let codec = ProstCodec::<M, A>::default();
        let mut client = self.client().await?;
        let answer = client.unary(self.request(message), path(method)?, codec);
        Ok(awaited(&self.channel, answer).await?.into_inner())
    }

    async fn call_streaming<M>(
        &self,
        method: &'static str,
        message: M,
    ) -> Result<Streaming<ExecutePlanResponse>, Status>
    where
        M: Message + 'static,
    {
        let codec = ProstCodec::<M, ExecutePlanResponse>::default();
        let mut client = self.client().await?;
        let answer = client.server_streaming(self.request(message), path(method)?, codec);
        Ok(awaited(&self.channel, answer).await?.into_inner())
    }

    /// A call whose failure needs no handling: a driver that is gone has released everything.
    async fn notify<M: Message + 'static>(&self, method: &'static str, message: M) {
        if let Err(status) = self.call::<M, Empty>(method, message).await {
            tracing::debug!("Spark's {method}: {}", status.message());
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let client = self.client.clone();
        self.runtime.spawn(async move {
            let request = ReleaseSessionRequest {
                session_id: client.session_id.clone(),
                user_context: client.user(),
            };
            client.notify("ReleaseSession", request).await;
        });
    }
}

/// Whether a status concerns the connection and not the query.
pub(super) fn is_broken(status: &Status) -> bool {
    let is_of_transport = std::error::Error::source(status).is_some();
    is_of_transport || status.code() == tonic::Code::Unavailable
}

fn path(method: &str) -> Result<PathAndQuery, Status> {
    format!("/spark.connect.SparkConnectService/{method}")
        .parse()
        .map_err(|_| Status::internal("no such method"))
}
