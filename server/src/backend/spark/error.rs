//! Converts Spark's errors to [`QueryError`]: one line, with the SQLSTATE and the position in the statement
//! as the user wrote it.

use std::error::Error;

use prost::Message;
use tonic::{Code, Status};

use super::proto::{ErrorInfo, RpcStatus};
use crate::backend::connection;
use crate::error::{ErrorKind, QueryError};

/// Lines that are added before a statement when it is sent; see [`read_only`](super::statement::read_only).
pub(super) const LINES_BEFORE: u64 = 1;

/// Details of an error in addition to its message.
#[derive(Debug, Default)]
pub(super) struct SparkError {
    /// The class, such as `TABLE_OR_VIEW_NOT_FOUND`, with an optional subclass after a dot.
    pub(super) class: String,
    /// The id with which the full message can be requested.
    pub(super) id: Option<String>,
}

impl SparkError {
    /// Reads the details of a status.
    pub(super) fn of(status: &Status) -> Self {
        let Ok(details) = RpcStatus::decode(status.details()) else {
            return Self::default();
        };
        let infos = details.details.iter();
        let info = infos
            .filter(|any| any.type_url.ends_with("/google.rpc.ErrorInfo"))
            .find_map(|any| ErrorInfo::decode(any.value.as_slice()).ok());
        let Some(mut info) = info else {
            return Self::default();
        };
        Self {
            class: info.metadata.remove("errorClass").unwrap_or_default(),
            id: info.metadata.remove("errorId"),
        }
    }

    /// The error, with Spark's message `text`.
    pub(super) fn into_query_error(self, status: &Status, text: &str) -> QueryError {
        let class = self.class.split('.').next().unwrap_or_default();
        let sql_state = sql_state(text).unwrap_or_default();
        let (kind, hint) = match (class, status.code()) {
            ("OPERATION_CANCELED", _) => (ErrorKind::Cancelled, "run the query again"),
            ("INVALID_HANDLE" | "INVALID_CURSOR", _) => (
                ErrorKind::EngineUnavailable,
                "Spark no longer knows the query, perhaps because its driver was restarted; run the query again",
            ),
            ("TABLE_OR_VIEW_NOT_FOUND", _) => (
                ErrorKind::UnknownTable,
                "GET /v1/tables lists the tables of the current catalog",
            ),
            ("UNRESOLVED_COLUMN", _) => (ErrorKind::UnknownColumn, "check the column's name"),
            (_, Code::Unauthenticated | Code::PermissionDenied) => (
                ErrorKind::EngineUnavailable,
                "give a valid token in the source: sc://host:port/;token=…",
            ),
            (_, Code::Unavailable | Code::DeadlineExceeded) => (
                ErrorKind::EngineUnavailable,
                "check that Spark's driver runs, and run the query again",
            ),
            (_, Code::OutOfRange | Code::ResourceExhausted) => (
                ErrorKind::ResourcesExhausted,
                "select fewer columns, or shorter values",
            ),
            _ if sql_state.starts_with("XX") || status.code() == Code::DataLoss => (
                ErrorKind::BadEngine,
                "Spark failed, and not the statement; the driver's log has more",
            ),
            _ if sql_state.starts_with("42") => (
                ErrorKind::SqlError,
                "the dialect is Spark's, with ANSI double quotes around names",
            ),
            _ => (
                ErrorKind::ExecutionError,
                "change the statement; the driver's log has more",
            ),
        };
        QueryError::new(kind, shown(text), hint)
    }
}

/// The error for a server that cannot be reached, or whose connection broke.
pub(super) fn unreachable(address: &str, error: &(dyn Error + 'static)) -> QueryError {
    connection::unreachable(
        &format!("Spark at {address}"),
        error,
        "check that its Connect server runs there, and whether it wants use_ssl=true",
    )
}

fn sql_state(text: &str) -> Option<&str> {
    let start = text.find("SQLSTATE: ")? + "SQLSTATE: ".len();
    text.get(start..start + 5)
}

/// The message without the parts that do not concern the statement, and with the position.
fn shown(text: &str) -> String {
    let end = match text.find("SQLSTATE: ") {
        Some(start) => start + "SQLSTATE: ".len() + 5,
        None => text.find("\n\n").unwrap_or(text.len()),
    };
    let message = text.get(..end).unwrap_or(text).trim();
    match place(text.get(end..).unwrap_or_default()) {
        Some((line, column)) => format!("{message} (line {line}, column {column})"),
        None => message.to_owned(),
    }
}

/// Line and column, counted from 1. Spark writes `line 2 pos 13` and `(line 2, pos 13)` with columns from 0,
/// and `(line 2, position 14)` with columns from 1.
fn place(text: &str) -> Option<(u64, u64)> {
    let (_, text) = text.split_once("line ")?;
    let (line, text) = leading_number(text)?;
    let text = text.trim_start_matches(',').trim_start();
    let (column, first) = match text.strip_prefix("position ") {
        Some(text) => (text, 1),
        None => (text.strip_prefix("pos ")?, 0),
    };
    let (column, _) = leading_number(column)?;
    let line = line.checked_sub(LINES_BEFORE).filter(|line| *line > 0)?;
    Some((line, column + 1 - first))
}

fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(class: &str, text: &str) -> QueryError {
        let error = SparkError {
            class: class.to_owned(),
            id: None,
        };
        error.into_query_error(&Status::internal(text), text)
    }

    #[test]
    fn errors_have_a_place_in_the_statement_as_it_was_written() {
        for (class, text, kind, message) in [
            (
                "PARSE_SYNTAX_ERROR",
                "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'. SQLSTATE: 42601 (line 2, pos 13)\n\n== SQL ==\nselect",
                ErrorKind::SqlError,
                "[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'. SQLSTATE: 42601 (line 1, column 14)",
            ),
            (
                "UNRESOLVED_COLUMN.WITH_SUGGESTION",
                "[UNRESOLVED_COLUMN.WITH_SUGGESTION] Did you mean `id`. SQLSTATE: 42703; line 3 pos 1;\n'Project [*]",
                ErrorKind::UnknownColumn,
                "[UNRESOLVED_COLUMN.WITH_SUGGESTION] Did you mean `id`. SQLSTATE: 42703 (line 2, column 2)",
            ),
            (
                "DIVIDE_BY_ZERO",
                "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\n== SQL (line 2, position 8) ==\nselect 1/(id-2)",
                ErrorKind::ExecutionError,
                "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012 (line 1, column 8)",
            ),
            (
                "INTERNAL_ERROR_SHUFFLE",
                "[INTERNAL_ERROR_SHUFFLE] Unexpected. SQLSTATE: XX000",
                ErrorKind::BadEngine,
                "[INTERNAL_ERROR_SHUFFLE] Unexpected. SQLSTATE: XX000",
            ),
            (
                "",
                "Job aborted\n\nDriver stacktrace: …",
                ErrorKind::ExecutionError,
                "Job aborted",
            ),
            ("", "", ErrorKind::ExecutionError, ""),
            (
                "INVALID_HANDLE.OPERATION_NOT_FOUND",
                "[INVALID_HANDLE.OPERATION_NOT_FOUND] gone. SQLSTATE: HY",
                ErrorKind::EngineUnavailable,
                "[INVALID_HANDLE.OPERATION_NOT_FOUND] gone. SQLSTATE: HY",
            ),
        ] {
            let error = error(class, text);
            assert_eq!((error.kind, error.message.as_str()), (kind, message));
        }
    }
}
