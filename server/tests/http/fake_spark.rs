//! A Spark Connect server that behaves as a test wants, in ways that a real one does not on demand.

use std::collections::HashMap;
use std::future::{Ready, ready};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::IntoResponse;
use axum::routing::post;
use colonnade_server::backend::spark::proto::{
    Any, ArrowBatch, ConfigRequest, ConfigResponse, Empty, ErrorInfo, ExecutePlanRequest,
    ExecutePlanResponse, ExecutionProgress, ReattachExecuteRequest, ResponseType, RpcStatus,
    StageInfo,
};
use datafusion::arrow::ipc::writer::StreamWriter;
use futures::StreamExt;
use futures::stream::BoxStream;
use prost::Message;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;
use tonic::server::{Grpc, ServerStreamingService, UnaryService};
use tonic::{Code, Status};
use tonic_prost::ProstCodec;
use tower_service::Service;

use crate::played;
use crate::support::{batch, until};

const SERVER_SIDE_ID: &str = "the driver's own";

/// The steps of the answer to a statement, in order.
#[derive(Clone)]
pub(crate) enum Answer {
    /// Rows `[start, start + num_rows)`, with their real position.
    Rows { start: i64, num_rows: i64 },
    /// The same, with another position.
    Misplaced { start: i64, said: i64 },
    /// These bytes, announced with this number of rows.
    Bytes { bytes: Vec<u8>, row_count: i64 },
    /// Progress: tasks done, and tasks known.
    Progress { done: i64, tasks: i64 },
    /// Waits.
    Delay(Duration),
    /// The call ends without an error; the next steps need a reattach.
    EndCall,
    /// The connection breaks; the next steps need a reattach.
    BreakCall,
    /// The statement fails with an error of this class.
    Fail(&'static str, &'static str),
    /// Another driver answers.
    OtherDriver,
    /// Rows without end.
    Endless,
    /// Spark's `ResultComplete`.
    Complete,
}

/// A server in this process.
pub(crate) struct FakeSpark {
    pub(crate) url: String,
    pub(crate) seen: Arc<Seen>,
    _serving: AbortOnDropHandle<()>,
}

/// The calls that the server has received.
#[derive(Default)]
pub(crate) struct Seen {
    calls: Mutex<Vec<String>>,
    statements: Mutex<Vec<String>>,
    /// Rows that were sent in total.
    pub(crate) num_rows: AtomicI64,
    running: AtomicUsize,
    script: Mutex<Script>,
}

#[derive(Default)]
struct Script {
    answers: Vec<Answer>,
    next: usize,
    operation_id: String,
    last_response: usize,
}

impl Seen {
    pub(crate) fn calls(&self, method: &str) -> usize {
        let calls = self.calls.lock().unwrap();
        calls.iter().filter(|call| *call == method).count()
    }

    pub(crate) fn statements(&self) -> Vec<String> {
        self.statements.lock().unwrap().clone()
    }

    /// Polls until the query was interrupted or released, and its session released.
    pub(crate) async fn until_released(&self) {
        let is_released =
            || self.calls("ReleaseSession") >= 1 && self.running.load(Ordering::SeqCst) == 0;
        until(is_released, "Spark still works").await;
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }
}

impl FakeSpark {
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        Self::start_with(answers, None).await
    }

    /// A server that speaks TLS with this certificate.
    pub(crate) async fn start_with_tls(answers: Vec<Answer>, tls: TlsAcceptor) -> Self {
        Self::start_with(answers, Some(tls)).await
    }

    async fn start_with(answers: Vec<Answer>, tls: Option<TlsAcceptor>) -> Self {
        let seen = Arc::new(Seen::default());
        seen.script().answers = answers;
        let router = Router::new()
            .route("/spark.connect.SparkConnectService/{method}", post(answer))
            .with_state(Arc::clone(&seen));
        let parameters = if tls.is_some() { "/;use_ssl=true" } else { "" };
        let (place, serving) =
            played::serve(tls, move |request| router.clone().call(request)).await;
        Self {
            url: format!("sc://{place}{parameters}"),
            seen,
            _serving: serving,
        }
    }
}

async fn answer(
    State(seen): State<Arc<Seen>>,
    Path(method): Path<String>,
    request: Request,
) -> axum::response::Response {
    seen.calls.lock().unwrap().push(method.clone());
    match method.as_str() {
        "Config" => {
            let codec = ProstCodec::<ConfigResponse, ConfigRequest>::default();
            let response = Grpc::new(codec).unary(Configured, request).await;
            response.into_response()
        }
        "ExecutePlan" => {
            let codec = ProstCodec::<ExecutePlanResponse, ExecutePlanRequest>::default();
            let mut grpc = Grpc::new(codec);
            let response = grpc.server_streaming(Execute(seen), request).await;
            response.into_response()
        }
        "ReattachExecute" => {
            let codec = ProstCodec::<ExecutePlanResponse, ReattachExecuteRequest>::default();
            let mut grpc = Grpc::new(codec);
            let response = grpc.server_streaming(Reattach(seen), request).await;
            response.into_response()
        }
        _ => {
            let codec = ProstCodec::<Empty, Empty>::default();
            Grpc::new(codec)
                .unary(Nothing, request)
                .await
                .into_response()
        }
    }
}

struct Configured;

impl UnaryService<ConfigRequest> for Configured {
    type Response = ConfigResponse;
    type Future = Ready<Result<tonic::Response<ConfigResponse>, Status>>;

    fn call(&mut self, _: tonic::Request<ConfigRequest>) -> Self::Future {
        ready(Ok(tonic::Response::new(ConfigResponse {
            server_side_session_id: SERVER_SIDE_ID.to_owned(),
        })))
    }
}

struct Nothing;

impl UnaryService<Empty> for Nothing {
    type Response = Empty;
    type Future = Ready<Result<tonic::Response<Empty>, Status>>;

    fn call(&mut self, _: tonic::Request<Empty>) -> Self::Future {
        ready(Ok(tonic::Response::new(Empty {})))
    }
}

type Responses = BoxStream<'static, Result<ExecutePlanResponse, Status>>;

struct Execute(Arc<Seen>);

impl ServerStreamingService<ExecutePlanRequest> for Execute {
    type Response = ExecutePlanResponse;
    type ResponseStream = Responses;
    type Future = Ready<Result<tonic::Response<Responses>, Status>>;

    fn call(&mut self, request: tonic::Request<ExecutePlanRequest>) -> Self::Future {
        let request = request.into_inner();
        let operation_id = request.operation_id.unwrap_or_default();
        let sql = request.plan.unwrap().root.unwrap().sql.unwrap().query;
        self.0.statements.lock().unwrap().push(sql.clone());
        let stream = if sql.ends_with("limit 0") {
            let answers = [
                ResponseType::ArrowBatch(rows(0, 0, 0)),
                ResponseType::ResultComplete(Empty {}),
            ];
            let answers = answers.map(|answer| Ok(response(&operation_id, 0, answer)));
            futures::stream::iter(answers).boxed()
        } else {
            self.0.script().operation_id = operation_id;
            play(Arc::clone(&self.0))
        };
        ready(Ok(tonic::Response::new(stream)))
    }
}

struct Reattach(Arc<Seen>);

impl ServerStreamingService<ReattachExecuteRequest> for Reattach {
    type Response = ExecutePlanResponse;
    type ResponseStream = Responses;
    type Future = Ready<Result<tonic::Response<Responses>, Status>>;

    fn call(&mut self, request: tonic::Request<ReattachExecuteRequest>) -> Self::Future {
        let request = request.into_inner();
        let script = self.0.script();
        let last = (script.last_response > 0).then(|| script.last_response.to_string());
        let is_next =
            request.last_response_id == last && request.operation_id == script.operation_id;
        drop(script);
        ready(if is_next {
            Ok(tonic::Response::new(play(Arc::clone(&self.0))))
        } else {
            Err(failure(
                "INVALID_CURSOR.POSITION_NOT_AVAILABLE",
                "does not continue after the last response",
            ))
        })
    }
}

/// Continues with the step after the last call.
fn play(seen: Arc<Seen>) -> Responses {
    struct Playing(Arc<Seen>, bool);
    impl Drop for Playing {
        fn drop(&mut self) {
            self.0.running.fetch_sub(1, Ordering::SeqCst);
        }
    }
    seen.running.fetch_add(1, Ordering::SeqCst);
    futures::stream::unfold(Playing(seen, false), |mut playing| async move {
        if playing.1 {
            return None;
        }
        loop {
            let answer = {
                let mut script = playing.0.script();
                let answer = script.answers.get(script.next).cloned();
                if !matches!(answer, Some(Answer::Endless)) {
                    script.next += 1;
                }
                answer
            };
            let said = match answer? {
                Answer::EndCall => return None,
                Answer::BreakCall => {
                    playing.1 = true;
                    return Some((Err(Status::unavailable("lost")), playing));
                }
                Answer::Fail(class, text) => {
                    playing.1 = true;
                    return Some((Err(failure(class, text)), playing));
                }
                Answer::Delay(pause) => {
                    tokio::time::sleep(pause).await;
                    continue;
                }
                Answer::Rows { start, num_rows } => {
                    playing.0.num_rows.fetch_add(num_rows, Ordering::SeqCst);
                    ResponseType::ArrowBatch(rows(start, num_rows, start))
                }
                Answer::Endless => {
                    let start = playing.0.num_rows.fetch_add(10_000, Ordering::SeqCst);
                    ResponseType::ArrowBatch(rows(start, 10_000, start))
                }
                Answer::Misplaced { start, said } => {
                    ResponseType::ArrowBatch(rows(start, 10, said))
                }
                Answer::Bytes { bytes, row_count } => ResponseType::ArrowBatch(ArrowBatch {
                    row_count,
                    data: bytes.into(),
                    start_offset: None,
                    num_chunks_in_batch: None,
                }),
                Answer::Progress { done, tasks } => {
                    ResponseType::ExecutionProgress(ExecutionProgress {
                        stages: vec![StageInfo {
                            stage_id: 0,
                            num_tasks: tasks,
                            num_completed_tasks: done,
                        }],
                    })
                }
                Answer::OtherDriver | Answer::Complete => ResponseType::ResultComplete(Empty {}),
            };
            let mut script = playing.0.script();
            script.last_response += 1;
            let mut said = response(&script.operation_id, script.last_response, said);
            if matches!(
                script.answers.get(script.next.wrapping_sub(1)),
                Some(Answer::OtherDriver)
            ) {
                said.server_side_session_id = "another driver's".to_owned();
            }
            drop(script);
            return Some((Ok(said), playing));
        }
    })
    .boxed()
}

fn response(operation_id: &str, id: usize, said: ResponseType) -> ExecutePlanResponse {
    ExecutePlanResponse {
        session_id: String::new(),
        operation_id: operation_id.to_owned(),
        response_id: id.to_string(),
        server_side_session_id: SERVER_SIDE_ID.to_owned(),
        response_type: Some(said),
    }
}

fn failure(class: &str, text: &str) -> Status {
    let info = ErrorInfo {
        reason: String::new(),
        metadata: HashMap::from([("errorClass".to_owned(), class.to_owned())]),
    };
    let details = RpcStatus {
        code: Code::Internal as i32,
        message: text.to_owned(),
        details: vec![Any {
            type_url: "type.googleapis.com/google.rpc.ErrorInfo".to_owned(),
            value: info.encode_to_vec(),
        }],
    };
    Status::with_details(Code::Internal, text, details.encode_to_vec().into())
}

/// A batch as Spark sends it, as a complete stream.
fn rows(start: i64, num_rows: i64, said: i64) -> ArrowBatch {
    ArrowBatch {
        row_count: num_rows,
        data: stream_of(start, num_rows).into(),
        start_offset: Some(said),
        num_chunks_in_batch: None,
    }
}

/// Rows `[start, start + num_rows)` as an Arrow stream.
pub(crate) fn stream_of(start: i64, num_rows: i64) -> Vec<u8> {
    let batch = batch(start, num_rows);
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}
