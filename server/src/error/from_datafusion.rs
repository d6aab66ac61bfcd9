//! Converts DataFusion's errors to [`QueryError`]: a one-line message and a hint.

use std::error::Error;
use std::io;

use colonnade_core::semantics::near_names;
use datafusion::arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;

use crate::error::{ErrorKind, QueryError};

/// The error for spill files beyond their limit names this setting; it has no type of its own.
const SPILL_SETTING: &str = "datafusion.runtime.max_temp_directory_size";

/// A planning error. `columns` and `tables` are the names to suggest; `kind` applies unless a column or a
/// table is unknown.
pub(crate) fn plan_error(
    error: &DataFusionError,
    kind: ErrorKind,
    columns: &[String],
    tables: &[String],
) -> QueryError {
    if let Some(own) = own_error(error) {
        return own;
    }
    let root = error.find_root();
    if let Some(overflow) = arithmetic_overflow(root) {
        return overflow;
    }
    if let DataFusionError::SchemaError(schema_error, _) = root
        && let SchemaError::FieldNotFound {
            field,
            valid_fields,
        } = schema_error.as_ref()
    {
        let valid: Vec<&str> = if valid_fields.is_empty() {
            columns.iter().map(String::as_str).collect()
        } else {
            valid_fields
                .iter()
                .map(|column| column.name.as_str())
                .collect()
        };
        return QueryError::new(
            ErrorKind::UnknownColumn,
            format!("there is no column {:?}", field.name),
            near_names(&field.name, valid, "columns"),
        );
    }
    if let DataFusionError::SQL(parser_error, _) = root
        && matches!(parser_error.as_ref(), ParserError::RecursionLimitExceeded)
    {
        return QueryError::new(
            ErrorKind::TooComplex,
            "the SQL is nested too deeply",
            "write a flatter statement, or use WITH",
        );
    }
    let message = clean(root);
    if let Some(name) = unknown_table(&message) {
        let dotted = name.strip_prefix("datafusion.").unwrap_or(name);
        let bare = dotted.strip_prefix("public.").unwrap_or(dotted);
        let mut unknown = QueryError::unknown_table(bare, tables.iter().map(String::as_str));
        if let Some(table) = tables
            .iter()
            .find(|table| *table == dotted || *table == name)
        {
            unknown.hint = format!("a name with a dot needs quotes: \"{table}\"");
        }
        return unknown;
    }
    if let DataFusionError::NotImplemented(_) = root {
        return QueryError::new(kind, message, "rewrite the query without it");
    }
    let hint = if let DataFusionError::SQL(..) = root {
        "check the syntax near that position; the dialect is DataFusion's, close to PostgreSQL's"
    } else if kind == ErrorKind::BadFilter {
        "write one boolean SQL expression over this table's columns, such as a > 5"
    } else {
        "the dialect is DataFusion's, close to PostgreSQL's"
    };
    QueryError::new(kind, message, hint)
}

/// The error of this program inside an error of DataFusion.
fn own_error(error: &DataFusionError) -> Option<QueryError> {
    let own = causes(error).find_map(|cause| cause.downcast_ref::<QueryError>());
    own.cloned()
}

fn unknown_table(message: &str) -> Option<&str> {
    let start = message.find("table '")? + 7;
    let end = start + message[start..].find("' not found")?;
    Some(&message[start..end])
}

/// An error of execution.
pub(crate) fn execution_error(error: &DataFusionError) -> QueryError {
    if let Some(own) = own_error(error) {
        return own;
    }
    let root = error.find_root();
    let message = clean(root);
    if is_disk_full(root) {
        return QueryError::new(
            ErrorKind::StorageFull,
            format!("the query needs more disk space than is free: {message}"),
            "select fewer columns or rows, or free space in --data-dir",
        );
    }
    if message.contains(SPILL_SETTING) {
        return QueryError::new(
            ErrorKind::ResourcesExhausted,
            "the query needs more disk space than its budget allows",
            "select fewer columns or rows, or start the server with a larger --spool",
        );
    }
    if let Some(overflow) = arithmetic_overflow(root) {
        return overflow;
    }
    match root {
        DataFusionError::ResourcesExhausted(_) => out_of_memory(None),
        DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
            ArrowError::IpcError(_) | ArrowError::ParquetError(_) => QueryError::new(
                ErrorKind::SourceUnreadable,
                message,
                "check the file, or write it again",
            ),
            _ => QueryError::new(
                ErrorKind::ExecutionError,
                message,
                "change the expression, or filter such rows out",
            ),
        },
        DataFusionError::ParquetError(_)
        | DataFusionError::ObjectStore(_)
        | DataFusionError::IoError(_) => QueryError::new(
            ErrorKind::SourceUnreadable,
            message,
            "check that the file still exists and is complete",
        ),
        // Functions report a wrong argument in any of these ways.
        DataFusionError::Execution(_)
        | DataFusionError::Plan(_)
        | DataFusionError::Configuration(_)
        | DataFusionError::Internal(_)
        | DataFusionError::External(_) => QueryError::new(
            ErrorKind::ExecutionError,
            message,
            "change the expression, or filter such rows out",
        ),
        DataFusionError::NotImplemented(_) => QueryError::new(
            ErrorKind::ExecutionError,
            message,
            "rewrite the query without it",
        ),
        _ => QueryError::new(
            ErrorKind::Internal,
            message,
            "run the query again; if it fails again, report it",
        ),
    }
}

/// The error for a result that is beyond its type.
fn arithmetic_overflow(root: &DataFusionError) -> Option<QueryError> {
    let DataFusionError::ArrowError(error, _) = root else {
        return None;
    };
    let ArrowError::ArithmeticOverflow(what) = &**error else {
        return None;
    };
    Some(QueryError::new(
        ErrorKind::ArithmeticOverflow,
        what,
        "cast an operand to a wider type, such as decimal(38, 0) or double",
    ))
}

/// The error for a query that needs more memory than its share, if that is known, in bytes.
pub(crate) fn out_of_memory(share_bytes: Option<u64>) -> QueryError {
    let share = share_bytes.map_or(String::new(), |bytes| {
        format!(" of {} MiB", bytes.div_ceil(1 << 20))
    });
    QueryError::new(
        ErrorKind::OutOfMemory,
        format!("the query needs more memory than its share{share}"),
        "select fewer columns or rows, or start the server with a larger --memory",
    )
}

/// The error and its causes.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// Whether the error, or one of its causes, is the system's "storage full".
fn is_disk_full(error: &(dyn Error + 'static)) -> bool {
    causes(error)
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::StorageFull)
}

/// The message, without the names of error types in front.
fn clean(error: &DataFusionError) -> String {
    let text = match error {
        DataFusionError::ArrowError(inner, _) => inner.to_string(),
        DataFusionError::Plan(text)
        | DataFusionError::Execution(text)
        | DataFusionError::NotImplemented(text)
        | DataFusionError::ResourcesExhausted(text) => text.clone(),
        DataFusionError::SQL(parser_error, _) => parser_error.to_string(),
        other => other.strip_backtrace(),
    };
    let mut text = text
        .split("\n\nbacktrace:")
        .flat_map(|text| text.split("This issue was likely caused by a bug"))
        .next()
        .unwrap_or_default()
        .trim();
    for prefix in [
        "sql parser error: ",
        "SQL error: ",
        "Error during planning: ",
        "Arrow error: ",
        "Csv error: ",
        "Json error: ",
        "Parser error: ",
        "Compute error: ",
        "Ipc error: ",
        "Execution error: ",
        "Internal error: ",
        "External error: ",
    ] {
        text = text.strip_prefix(prefix).unwrap_or(text);
    }
    text.to_owned()
}
