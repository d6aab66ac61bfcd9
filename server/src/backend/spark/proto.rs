//! The messages of Spark Connect that are used, copied by hand from `spark/connect/base.proto` and
//! `relations.proto` of Apache Spark. Other fields and messages are skipped when they are received.
//! <https://github.com/apache/spark/tree/v4.1.0/sql/connect/common/src/main/protobuf/spark/connect>

#![allow(
    missing_docs,
    reason = "the fields are documented where they come from"
)]

use std::collections::HashMap;

use bytes::Bytes;
use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub struct UserContext {
    #[prost(string, tag = "1")]
    pub user_id: String,
    #[prost(string, tag = "2")]
    pub user_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Plan {
    #[prost(message, optional, tag = "1")]
    pub root: Option<Relation>,
    #[prost(message, optional, tag = "2")]
    pub command: Option<Command>,
}

impl Plan {
    /// A query, whose rows are the result.
    pub fn query(sql: &str) -> Self {
        Self {
            root: Some(Relation::sql(sql)),
            command: None,
        }
    }

    /// A command, whose rows come in one response and without a job.
    pub fn command(sql: &str) -> Self {
        let input = Some(Relation::sql(sql));
        Self {
            root: None,
            command: Some(Command {
                sql_command: Some(SqlCommand { input }),
            }),
        }
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct Command {
    #[prost(message, optional, tag = "5")]
    pub sql_command: Option<SqlCommand>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SqlCommand {
    #[prost(message, optional, tag = "6")]
    pub input: Option<Relation>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Relation {
    #[prost(message, optional, tag = "10")]
    pub sql: Option<Sql>,
    #[prost(message, optional, tag = "11")]
    pub local_relation: Option<LocalRelation>,
}

impl Relation {
    fn sql(sql: &str) -> Self {
        Self {
            sql: Some(Sql {
                query: sql.to_owned(),
            }),
            local_relation: None,
        }
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct LocalRelation {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub data: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Sql {
    #[prost(string, tag = "1")]
    pub query: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExecutePlanRequest {
    #[prost(string, tag = "1")]
    pub session_id: String,
    #[prost(message, optional, tag = "2")]
    pub user_context: Option<UserContext>,
    #[prost(message, optional, tag = "3")]
    pub plan: Option<Plan>,
    #[prost(string, optional, tag = "4")]
    pub client_type: Option<String>,
    #[prost(message, repeated, tag = "5")]
    pub request_options: Vec<RequestOption>,
    #[prost(string, optional, tag = "6")]
    pub operation_id: Option<String>,
    #[prost(string, optional, tag = "8")]
    pub client_observed_server_side_session_id: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RequestOption {
    #[prost(message, optional, tag = "1")]
    pub reattach_options: Option<ReattachOptions>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReattachOptions {
    #[prost(bool, tag = "1")]
    pub reattachable: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExecutePlanResponse {
    #[prost(string, tag = "1")]
    pub session_id: String,
    #[prost(string, tag = "12")]
    pub operation_id: String,
    #[prost(string, tag = "13")]
    pub response_id: String,
    #[prost(string, tag = "15")]
    pub server_side_session_id: String,
    #[prost(oneof = "ResponseType", tags = "2, 5, 14, 18")]
    pub response_type: Option<ResponseType>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum ResponseType {
    #[prost(message, tag = "2")]
    ArrowBatch(ArrowBatch),
    #[prost(message, tag = "5")]
    SqlCommandResult(SqlCommandResult),
    #[prost(message, tag = "14")]
    ResultComplete(Empty),
    #[prost(message, tag = "18")]
    ExecutionProgress(ExecutionProgress),
}

#[derive(Clone, PartialEq, Message)]
pub struct SqlCommandResult {
    #[prost(message, optional, tag = "1")]
    pub relation: Option<Relation>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Empty {}

#[derive(Clone, PartialEq, Message)]
pub struct ArrowBatch {
    #[prost(int64, tag = "1")]
    pub row_count: i64,
    #[prost(bytes = "bytes", tag = "2")]
    pub data: Bytes,
    #[prost(int64, optional, tag = "3")]
    pub start_offset: Option<i64>,
    #[prost(int64, optional, tag = "5")]
    pub num_chunks_in_batch: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExecutionProgress {
    #[prost(message, repeated, tag = "1")]
    pub stages: Vec<StageInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub struct StageInfo {
    #[prost(int64, tag = "1")]
    pub stage_id: i64,
    #[prost(int64, tag = "2")]
    pub num_tasks: i64,
    #[prost(int64, tag = "3")]
    pub num_completed_tasks: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReattachExecuteRequest {
    #[prost(string, tag = "1")]
    pub session_id: String,
    #[prost(message, optional, tag = "2")]
    pub user_context: Option<UserContext>,
    #[prost(string, tag = "3")]
    pub operation_id: String,
    #[prost(string, optional, tag = "4")]
    pub client_type: Option<String>,
    #[prost(string, optional, tag = "5")]
    pub last_response_id: Option<String>,
    #[prost(string, optional, tag = "6")]
    pub client_observed_server_side_session_id: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReleaseExecuteRequest {
    #[prost(string, tag = "1")]
    pub session_id: String,
    #[prost(message, optional, tag = "2")]
    pub user_context: Option<UserContext>,
    #[prost(string, tag = "3")]
    pub operation_id: String,
    #[prost(message, optional, tag = "5")]
    pub release_all: Option<Empty>,
}

#[derive(Clone, PartialEq, Message)]
pub struct InterruptRequest {
    #[prost(string, tag = "1")]
    pub session_id: String,
    #[prost(message, optional, tag = "2")]
    pub user_context: Option<UserContext>,
    #[prost(int32, tag = "4")]
    pub interrupt_type: i32,
    #[prost(string, optional, tag = "6")]
    pub operation_id: Option<String>,
}

/// `InterruptRequest.InterruptType.INTERRUPT_TYPE_OPERATION_ID`.
pub const INTERRUPT_OPERATION: i32 = 3;

#[derive(Clone, PartialEq, Message)]
pub struct ReleaseSessionRequest {
    #[prost(string, tag = "1")]
    pub session_id: String,
    #[prost(message, optional, tag = "2")]
    pub user_context: Option<UserContext>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ConfigRequest {
    #[prost(string, tag = "1")]
    pub session_id: String,
    #[prost(message, optional, tag = "2")]
    pub user_context: Option<UserContext>,
    #[prost(message, optional, tag = "3")]
    pub operation: Option<ConfigOperation>,
    #[prost(string, optional, tag = "4")]
    pub client_type: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ConfigOperation {
    #[prost(message, optional, tag = "1")]
    pub set: Option<ConfigSet>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ConfigSet {
    #[prost(message, repeated, tag = "1")]
    pub pairs: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub struct KeyValue {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
}

/// The answer to [`ConfigRequest`].
#[derive(Clone, PartialEq, Message)]
pub struct ConfigResponse {
    #[prost(string, tag = "4")]
    pub server_side_session_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct FetchErrorDetailsRequest {
    #[prost(string, tag = "1")]
    pub session_id: String,
    #[prost(message, optional, tag = "2")]
    pub user_context: Option<UserContext>,
    #[prost(string, tag = "3")]
    pub error_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct FetchErrorDetailsResponse {
    #[prost(int32, optional, tag = "1")]
    pub root_error_idx: Option<i32>,
    #[prost(message, repeated, tag = "2")]
    pub errors: Vec<ErrorDetails>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ErrorDetails {
    #[prost(string, tag = "2")]
    pub message: String,
}

/// `google.rpc.Status`, as in `grpc-status-details-bin`.
#[derive(Clone, PartialEq, Message)]
pub struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
pub struct Any {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// `google.rpc.ErrorInfo`.
#[derive(Clone, PartialEq, Message)]
pub struct ErrorInfo {
    #[prost(string, tag = "1")]
    pub reason: String,
    #[prost(map = "string, string", tag = "3")]
    pub metadata: HashMap<String, String>,
}
