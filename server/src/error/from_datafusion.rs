//! Converts DataFusion's errors to [`QueryError`]: a one-line message and a hint.

use std::error::Error;
use std::io;

use colonnade_core::semantics::near_names;
use datafusion::arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;

use crate::error::{ErrorKind, QueryError};

/// A planning error. `columns` and `tables` are the names to suggest; `kind` applies unless a column or a
/// table is unknown.
pub(crate) fn plan_error(
    error: &DataFusionError,
    kind: ErrorKind,
    columns: &[String],
    tables: &[String],
) -> QueryError {
    let root = error.find_root();
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

fn unknown_table(message: &str) -> Option<&str> {
    let start = message.find("table '")? + 7;
    let end = start + message[start..].find("' not found")?;
    Some(&message[start..end])
}

/// An error of execution.
pub(crate) fn execution_error(error: &DataFusionError) -> QueryError {
    if let DataFusionError::External(external) = error.find_root()
        && let Some(own) = external.downcast_ref::<QueryError>()
    {
        return own.clone();
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
    match root {
        DataFusionError::ResourcesExhausted(_) => QueryError::new(
            ErrorKind::ResourcesExhausted,
            format!(
                "the query needs more {} than its budget allows",
                if message.contains("disk") {
                    "disk space"
                } else {
                    "memory"
                }
            ),
            "select fewer columns or rows, or start the server with a larger --memory",
        ),
        DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
            ArrowError::CsvError(_) | ArrowError::JsonError(_) | ArrowError::ParseError(_) => {
                QueryError::new(ErrorKind::BrokenRow, message, "correct the row in its file")
            }
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
        DataFusionError::Execution(_) => QueryError::new(
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

/// Whether the error, or one of its causes, is the system's "storage full".
fn is_disk_full(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::StorageFull)
}

/// Whether the error is about the text of a CSV or NDJSON file, so that its position can be found.
pub(crate) fn is_about_text(error: &DataFusionError) -> bool {
    matches!(
        error.find_root(),
        DataFusionError::ArrowError(inner, _)
            if matches!(inner.as_ref(), ArrowError::CsvError(_) | ArrowError::JsonError(_) | ArrowError::ParseError(_))
    )
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
        "External error: ",
    ] {
        text = text.strip_prefix(prefix).unwrap_or(text);
    }
    text.to_owned()
}
