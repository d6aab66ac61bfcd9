//! A Flight SQL server that behaves as a test wants, in ways that a real one does not on demand.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::sql::{Any, Command};
use arrow_flight::utils::batches_to_flight_data;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightEndpoint, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use axum::body::Body;
use datafusion::arrow::array::RecordBatch;
use futures::StreamExt;
use futures::stream::BoxStream;
use prost::Message;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;
use tonic::{Request, Response, Result, Status, Streaming, async_trait};
use tower_service::Service;

use crate::played;
use crate::support::{batch, until};

/// The ticket of the list of tables.
const TABLES: &str = "tables";

/// The steps of an endpoint, in order. The schema is sent before the first.
#[derive(Clone)]
pub(crate) enum Sent {
    /// Rows `[start, start + num_rows)`.
    Rows { start: i64, num_rows: i64 },
    /// These rows, of any schema, after a message with that schema.
    Batch(RecordBatch),
    /// These bytes.
    Bytes { header: Vec<u8>, body: Vec<u8> },
    /// Waits.
    Delay(Duration),
    /// The endpoint fails.
    Fail(&'static str),
    /// Rows without end.
    Endless,
}

/// The behaviour of the server.
#[derive(Clone, Default)]
pub(crate) struct Script {
    pub(crate) endpoints: Vec<Vec<Sent>>,
    pub(crate) ordered: bool,
    /// Whether endpoints end without a gRPC status.
    pub(crate) is_silent: bool,
    /// The password with which a user must sign in.
    pub(crate) password: Option<&'static str>,
    /// The TLS certificate, if it speaks TLS.
    pub(crate) tls: Option<TlsAcceptor>,
    /// The answer to `CommandGetTables`, if it supports that.
    pub(crate) tables: Option<RecordBatch>,
}

/// A server in this process.
pub(crate) struct FakeFlight {
    pub(crate) url: String,
    pub(crate) seen: Arc<Seen>,
    _serving: AbortOnDropHandle<()>,
}

/// The calls that the server has received.
#[derive(Default)]
pub(crate) struct Seen {
    running: AtomicUsize,
    statements: Mutex<Vec<String>>,
    /// Endpoints that were started.
    pub(crate) begun: AtomicUsize,
    /// Queries that were cancelled.
    pub(crate) cancelled: AtomicUsize,
}

impl Seen {
    /// The statements that were planned.
    pub(crate) fn statements(&self) -> Vec<String> {
        self.statements.lock().unwrap().clone()
    }

    /// Polls until no endpoint is being read.
    pub(crate) async fn until_idle(&self) {
        let is_idle = || self.running.load(Ordering::SeqCst) == 0;
        until(is_idle, "endpoints are still read").await;
    }

    /// Polls until a query was cancelled.
    pub(crate) async fn until_cancelled(&self) {
        let is_cancelled = || self.cancelled.load(Ordering::SeqCst) > 0;
        until(is_cancelled, "nothing is cancelled").await;
    }
}

impl FakeFlight {
    pub(crate) async fn start(script: Script) -> Self {
        let seen = Arc::new(Seen::default());
        let (is_silent, tls) = (script.is_silent, script.tls.clone());
        let scheme = if tls.is_some() {
            "flightsql+tls"
        } else {
            "flightsql"
        };
        let service = FlightServiceServer::new(Played {
            script: Arc::new(script),
            seen: Arc::clone(&seen),
        });
        let (place, serving) = played::serve(tls, move |request| {
            let is_rows = request.uri().path().ends_with("DoGet");
            let answer = service.clone().call(request);
            async move {
                let (head, body) = answer.await.unwrap_or_else(|e| match e {}).into_parts();
                let body = match is_silent && is_rows {
                    // Only the body; the trailers with the status are dropped.
                    true => Body::from_stream(Body::new(body).into_data_stream()),
                    false => Body::new(body),
                };
                Ok(hyper::Response::from_parts(head, body))
            }
        })
        .await;
        Self {
            url: format!("{scheme}://{place}"),
            seen,
            _serving: serving,
        }
    }
}

#[derive(Clone)]
struct Played {
    script: Arc<Script>,
    seen: Arc<Seen>,
}

/// Counts an endpoint while it is read.
struct Reading(Arc<Seen>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

fn data_of(rows: RecordBatch) -> Vec<FlightData> {
    batches_to_flight_data(&rows.schema(), vec![rows]).unwrap()
}

fn rows_of(start: i64, num_rows: i64) -> FlightData {
    data_of(batch(start, num_rows)).remove(1)
}

impl Played {
    fn check<T>(&self, request: &Request<T>, expected: &str) -> Result<()> {
        let given = request.metadata().get("authorization");
        let given = given.map_or("", |value| value.to_str().unwrap());
        match self.script.password {
            Some(_) if given != expected => Err(Status::unauthenticated("who are you?")),
            _ => Ok(()),
        }
    }
}

type Answers<T> = BoxStream<'static, Result<T>>;

#[async_trait]
impl FlightService for Played {
    type HandshakeStream = Answers<HandshakeResponse>;
    type ListFlightsStream = Answers<FlightInfo>;
    type DoGetStream = Answers<FlightData>;
    type DoPutStream = Answers<PutResult>;
    type DoActionStream = Answers<arrow_flight::Result>;
    type ListActionsStream = Answers<ActionType>;
    type DoExchangeStream = Answers<FlightData>;

    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>> {
        // "me:" and the password, which is "secret", in base64.
        self.check(&request, "Basic bWU6c2VjcmV0")?;
        let mut response = Response::new(futures::stream::empty().boxed());
        let token = "Bearer granted".parse().unwrap();
        response.metadata_mut().insert("authorization", token);
        Ok(response)
    }

    async fn get_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>> {
        self.check(&request, "Bearer granted")?;
        let any = Any::decode(request.get_ref().cmd.as_ref()).unwrap();
        match Command::try_from(any).unwrap() {
            Command::CommandGetTables(_) => {
                let Some(tables) = &self.script.tables else {
                    return Err(Status::unimplemented("no tables"));
                };
                let ticket = Ticket::new(TABLES);
                let info = FlightInfo::new().try_with_schema(&tables.schema()).unwrap();
                let endpoint = FlightEndpoint::new().with_ticket(ticket);
                return Ok(Response::new(info.with_endpoint(endpoint)));
            }
            Command::CommandStatementQuery(statement) => {
                self.seen.statements.lock().unwrap().push(statement.query);
            }
            other => return Err(Status::unimplemented(other.type_url())),
        }
        let mut info = FlightInfo::new()
            .try_with_schema(&batch(0, 0).schema())
            .unwrap()
            .with_ordered(self.script.ordered);
        for index in 0..self.script.endpoints.len() {
            let ticket = Ticket::new(index.to_string());
            info = info.with_endpoint(FlightEndpoint::new().with_ticket(ticket));
        }
        Ok(Response::new(info))
    }

    async fn do_get(&self, request: Request<Ticket>) -> Result<Response<Self::DoGetStream>> {
        self.check(&request, "Bearer granted")?;
        let ticket = std::str::from_utf8(&request.get_ref().ticket).unwrap();
        if ticket == TABLES {
            let data = data_of(self.script.tables.clone().unwrap());
            return Ok(Response::new(
                futures::stream::iter(data.into_iter().map(Ok)).boxed(),
            ));
        }
        let index: usize = ticket.parse().unwrap();
        let script = self.script.endpoints[index].clone();
        self.seen.running.fetch_add(1, Ordering::SeqCst);
        self.seen.begun.fetch_add(1, Ordering::SeqCst);
        let reading = Reading(Arc::clone(&self.seen));
        let has_own = script
            .iter()
            .any(|sent| matches!(sent, Sent::Batch(_) | Sent::Bytes { .. }));
        let schema = (!has_own).then(|| Ok(data_of(batch(0, 0)).remove(0)));
        let sent = futures::stream::iter(script).flat_map(|sent| match sent {
            Sent::Rows { start, num_rows } => {
                let pieces = (start..start + num_rows).step_by(100);
                futures::stream::iter(pieces.map(|start| Ok(rows_of(start, 100)))).boxed()
            }
            Sent::Batch(rows) => futures::stream::iter(data_of(rows).into_iter().map(Ok)).boxed(),
            Sent::Bytes { header, body } => {
                let data = FlightData {
                    data_header: header.into(),
                    data_body: body.into(),
                    ..FlightData::default()
                };
                futures::stream::iter([Ok(data)]).boxed()
            }
            Sent::Delay(time) => futures::stream::once(tokio::time::sleep(time))
                .filter_map(|()| async { None })
                .boxed(),
            Sent::Fail(text) => futures::stream::iter([Err(Status::internal(text))]).boxed(),
            Sent::Endless => {
                let starts = (0..).step_by(1000);
                futures::stream::iter(starts.map(|start| Ok(rows_of(start, 1000)))).boxed()
            }
        });
        let answers = futures::stream::iter(schema).chain(sent).map(move |sent| {
            let _ = &reading;
            sent
        });
        Ok(Response::new(answers.boxed()))
    }

    async fn do_action(&self, request: Request<Action>) -> Result<Response<Self::DoActionStream>> {
        self.check(&request, "Bearer granted")?;
        assert_eq!(request.get_ref().r#type, "CancelFlightInfo");
        self.seen.cancelled.fetch_add(1, Ordering::SeqCst);
        Ok(Response::new(futures::stream::empty().boxed()))
    }

    async fn list_flights(
        &self,
        _: Request<Criteria>,
    ) -> Result<Response<Self::ListFlightsStream>> {
        Err(Status::unimplemented("list_flights"))
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Result<Response<PollInfo>> {
        Err(Status::unimplemented("poll_flight_info"))
    }

    async fn get_schema(&self, _: Request<FlightDescriptor>) -> Result<Response<SchemaResult>> {
        Err(Status::unimplemented("get_schema"))
    }

    async fn do_put(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoPutStream>> {
        Err(Status::unimplemented("do_put"))
    }

    async fn list_actions(&self, _: Request<Empty>) -> Result<Response<Self::ListActionsStream>> {
        Err(Status::unimplemented("list_actions"))
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>> {
        Err(Status::unimplemented("do_exchange"))
    }
}
