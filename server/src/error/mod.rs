//! Errors of requests, each kind with a stable code and an HTTP status; and errors of the start.

pub(crate) mod from_datafusion;

use colonnade_core::semantics::near_names;
use datafusion::arrow::datatypes::Fields;
use serde::{Deserialize, Serialize};

/// The kinds of failure a client can see. `code()` is stable; texts may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
// Only so that tests can list all kinds.
#[cfg_attr(test, derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum ErrorKind {
    /// A parameter or a JSON body is not what the route takes.
    BadParameter,
    /// The body is not JSON.
    BadJson,
    /// The SQL text cannot be planned.
    SqlError,
    /// The SQL text is longer, larger or more deeply nested than permitted.
    TooComplex,
    /// The SQL text is a statement that would change something.
    ReadOnly,
    /// The filter cannot be planned.
    BadFilter,
    /// A column that the table does not have.
    UnknownColumn,
    /// A table that is not served.
    UnknownTable,
    /// A query id that is not (or no longer) known.
    UnknownQuery,
    /// No such route.
    NotFound,
    /// The route does not accept the method.
    MethodNotAllowed,
    /// The body is not declared as JSON.
    UnsupportedMediaType,
    /// The request body is over the limit.
    BodyTooLarge,
    /// The request body did not arrive in time.
    RequestTimeout,
    /// The id belongs to another query.
    IdInUse,
    /// Uploads are not permitted.
    NotWritable,
    /// A table cannot have that name.
    BadName,
    /// The name belongs to a table that was not uploaded.
    NameInUse,
    /// An upload is not a table that can be read.
    BadUpload,
    /// An uploaded Arrow stream has no end-of-stream marker.
    MissingEndOfStream,
    /// The disk, or the part of it that uploads may use, is full.
    StorageFull,
    /// The token is missing or wrong.
    Unauthorized,
    /// Too many wrong tokens came from one address.
    TooManyAttempts,
    /// The `Host` header names a host that is not allowed.
    HostNotAllowed,
    /// The request comes from a page of another site.
    OriginNotAllowed,
    /// A row of a source file cannot be read.
    BrokenRow,
    /// A source file cannot be read.
    SourceUnreadable,
    /// A table is in a format, or has a property, that is not supported.
    UnsupportedTableFeature,
    /// A source file has changed, so its table or the rows of a result cannot be read any more.
    SourceChanged,
    /// Rows of a kept result that are no longer kept.
    RowsExpired,
    /// Rows that are no longer kept, of a query that could give other rows if it ran again.
    NotRepeatable,
    /// A result of arithmetic is beyond its type.
    ArithmeticOverflow,
    /// A value could not be computed, such as a division by zero.
    ExecutionError,
    /// A column that the format of an export cannot hold.
    NotExportable,
    /// A budget of the disk or of the remote engine is used up.
    ResourcesExhausted,
    /// The query needs more memory than its share.
    OutOfMemory,
    /// What the server permits at the same time was in use for a while.
    Busy,
    /// The process that executed the statement has ended.
    EngineDied,
    /// The query ran longer than permitted.
    QueryTimeout,
    /// The query was deleted, or its last reader left.
    Cancelled,
    /// The remote engine cannot be reached, or the connection to it was lost.
    EngineUnavailable,
    /// The remote engine sent an invalid answer.
    BadEngine,
    /// The remote engine cannot do what was requested.
    NotSupported,
    /// A bug in this program.
    Internal,
}

impl ErrorKind {
    /// The stable, snake_case name of the kind.
    pub fn code(self) -> &'static str {
        match self {
            Self::BadParameter => "bad_parameter",
            Self::BadJson => "bad_json",
            Self::SqlError => "sql_error",
            Self::TooComplex => "too_complex",
            Self::ReadOnly => "read_only",
            Self::BadFilter => "bad_filter",
            Self::UnknownColumn => "unknown_column",
            Self::UnknownTable => "unknown_table",
            Self::UnknownQuery => "unknown_query",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::BodyTooLarge => "body_too_large",
            Self::RequestTimeout => "request_timeout",
            Self::IdInUse => "id_in_use",
            Self::NotWritable => "not_writable",
            Self::BadName => "bad_name",
            Self::NameInUse => "name_in_use",
            Self::BadUpload => "bad_upload",
            Self::MissingEndOfStream => "missing_end_of_stream",
            Self::StorageFull => "storage_full",
            Self::Unauthorized => "unauthorized",
            Self::TooManyAttempts => "too_many_attempts",
            Self::HostNotAllowed => "host_not_allowed",
            Self::OriginNotAllowed => "origin_not_allowed",
            Self::BrokenRow => "broken_row",
            Self::SourceUnreadable => "source_unreadable",
            Self::UnsupportedTableFeature => "unsupported_table_feature",
            Self::SourceChanged => "source_changed",
            Self::RowsExpired => "rows_expired",
            Self::NotRepeatable => "not_repeatable",
            Self::ArithmeticOverflow => "arithmetic_overflow",
            Self::ExecutionError => "execution_error",
            Self::NotExportable => "not_exportable",
            Self::ResourcesExhausted => "resources_exhausted",
            Self::OutOfMemory => "out_of_memory",
            Self::Busy => "busy",
            Self::EngineDied => "engine_died",
            Self::QueryTimeout => "query_timeout",
            Self::Cancelled => "cancelled",
            Self::EngineUnavailable => "engine_unavailable",
            Self::BadEngine => "bad_engine",
            Self::NotSupported => "not_supported",
            Self::Internal => "internal",
        }
    }

    /// Whether the same request can succeed a little later, with nothing changed.
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::SourceUnreadable
                | Self::ResourcesExhausted
                | Self::Busy
                | Self::EngineUnavailable
        )
    }

    /// The HTTP status of an answer that consists of this failure.
    pub fn status(self) -> u16 {
        match self {
            Self::BadParameter
            | Self::BadJson
            | Self::SqlError
            | Self::BadFilter
            | Self::BadName
            | Self::BadUpload
            | Self::MissingEndOfStream
            | Self::NotSupported
            | Self::UnknownColumn => 400,
            Self::Unauthorized => 401,
            Self::ReadOnly | Self::NotWritable | Self::HostNotAllowed | Self::OriginNotAllowed => {
                403
            }
            Self::UnknownTable | Self::UnknownQuery | Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::RowsExpired => 410,
            Self::RequestTimeout => 408,
            Self::IdInUse
            | Self::NameInUse
            | Self::SourceChanged
            | Self::NotRepeatable
            | Self::Cancelled => 409,
            Self::BodyTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::TooManyAttempts => 429,
            Self::BrokenRow
            | Self::ArithmeticOverflow
            | Self::ExecutionError
            | Self::NotExportable
            | Self::SourceUnreadable
            | Self::TooComplex
            | Self::UnsupportedTableFeature => 422,
            Self::EngineDied | Self::Internal => 500,
            Self::EngineUnavailable | Self::BadEngine => 502,
            Self::ResourcesExhausted | Self::Busy => 503,
            Self::QueryTimeout => 504,
            Self::StorageFull | Self::OutOfMemory => 507,
        }
    }

    /// A short title for people, the same for every failure of the kind.
    pub fn title(self) -> &'static str {
        match self {
            Self::BadParameter => "A parameter is wrong",
            Self::BadJson => "The body is not the JSON that this call takes",
            Self::SqlError => "The SQL cannot be planned",
            Self::TooComplex => "The SQL is too complex",
            Self::ReadOnly => "Only reading is permitted",
            Self::BadFilter => "The filter cannot be planned",
            Self::UnknownColumn => "No such column",
            Self::UnknownTable => "No such table",
            Self::UnknownQuery => "No such query",
            Self::NotFound => "No such address",
            Self::MethodNotAllowed => "The method is not permitted here",
            Self::UnsupportedMediaType => "The content type is not supported",
            Self::BodyTooLarge => "The body is too large",
            Self::RequestTimeout => "The body took too long",
            Self::IdInUse => "The id is in use",
            Self::NotWritable => "Uploads are not permitted",
            Self::BadName => "The name is not valid for a table",
            Self::NameInUse => "The name is in use",
            Self::BadUpload => "The upload is not a table",
            Self::MissingEndOfStream => "The Arrow stream is not complete",
            Self::StorageFull => "The disk is full",
            Self::Unauthorized => "A token is needed",
            Self::TooManyAttempts => "Too many wrong tokens",
            Self::HostNotAllowed => "The host is not allowed",
            Self::OriginNotAllowed => "The origin is not allowed",
            Self::BrokenRow => "A row of the source cannot be read",
            Self::SourceUnreadable => "The source cannot be read",
            Self::UnsupportedTableFeature => "The table is of an unsupported kind",
            Self::SourceChanged => "The source has changed",
            Self::RowsExpired => "The rows are no longer kept",
            Self::NotRepeatable => "The same rows cannot be read again",
            Self::ArithmeticOverflow => "A result is beyond its type",
            Self::ExecutionError => "A value cannot be computed",
            Self::NotExportable => "The format cannot hold the result",
            Self::ResourcesExhausted => "The budget is used up",
            Self::OutOfMemory => "The query needs too much memory",
            Self::Busy => "The server is busy",
            Self::EngineDied => "The query's process has ended",
            Self::QueryTimeout => "The query took too long",
            Self::Cancelled => "The query was cancelled",
            Self::EngineUnavailable => "The engine cannot be reached",
            Self::BadEngine => "The engine's answer is invalid",
            Self::NotSupported => "The engine cannot do that",
            Self::Internal => "Internal error of the server",
        }
    }
}

/// One failure of one request: its kind, what was wrong, and what would be right.
#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct QueryError {
    /// The kind, which decides the code and the status.
    pub kind: ErrorKind,
    /// What was wrong, in one line.
    pub message: String,
    /// What would be right, in one line; may be empty.
    pub hint: String,
}

impl QueryError {
    /// A failure with a hint; both texts become one line each.
    pub fn new(kind: ErrorKind, message: impl AsRef<str>, hint: impl AsRef<str>) -> Self {
        Self {
            kind,
            message: one_line(message.as_ref()),
            hint: one_line(hint.as_ref()),
        }
    }

    /// The error for a column that `fields` does not have. `has` begins the message: `the result has`, or
    /// `there is`.
    pub fn unknown_column(has: &str, name: &str, fields: &Fields) -> Self {
        let names = fields.iter().map(|field| field.name().as_str());
        Self::new(
            ErrorKind::UnknownColumn,
            format!("{has} no column {name:?}"),
            near_names(name, names, "columns"),
        )
    }

    /// The error for a table that is not among `names`.
    pub fn unknown_table<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(
            ErrorKind::UnknownTable,
            format!("there is no table {name:?}"),
            near_names(name, names, "tables"),
        )
    }

    /// The failure as `GET /v1/query/{id}` shows it.
    pub fn summary(&self) -> ErrorSummary {
        ErrorSummary {
            code: self.kind.code(),
            message: self.message.clone(),
            hint: self.hint.clone(),
        }
    }
}

/// The error in a query's record.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorSummary {
    /// See [`ErrorKind::code`].
    pub code: &'static str,
    /// What was wrong.
    pub message: String,
    /// What would be right.
    pub hint: String,
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Why the program cannot start; the kind decides the exit code.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// An argument is wrong (exit code 2).
    #[error("{0}")]
    BadArgument(String),
    /// Anything else (exit code 1).
    #[error("{0}")]
    Failed(String),
}

impl StartError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::BadArgument(_) => 2,
            Self::Failed(_) => 1,
        }
    }
}

/// The error for a table whose files changed while they were read.
pub fn source_changed(table: &str) -> QueryError {
    QueryError::new(
        ErrorKind::SourceChanged,
        format!("the files of table {table:?} changed while they were read"),
        "read the table again to get its current rows",
    )
}
