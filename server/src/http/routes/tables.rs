//! `GET /v1/tables` and `GET /v1/tables/{name}`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use colonnade_core::semantics::near_names;
use serde::Serialize;

use crate::backend::embedded::describe_table;
use crate::backend::{TableDescription, TableList};
use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::http::extract::Name;
use crate::http::headers::is_not_modified;
use crate::source::{LeftOutFile, ParquetDescription, Table};

#[derive(Serialize)]
struct TableListInfo {
    writable: bool,
    max_upload_bytes: Option<u64>,
    tables: Vec<TableInfo>,
    /// Files of folders that are no tables.
    left_out: Vec<LeftOutFile>,
    /// Why there are none, if an engine cannot list them.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Serialize)]
struct TableInfo {
    name: String,
    format: &'static str,
    rows: Option<u64>,
    bytes: Option<u64>,
    version: String,
    uploaded: bool,
    fields: Vec<FieldInfo>,
    left_out: Vec<LeftOutFile>,
    /// Why the table cannot be read at present.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The answer to `GET /v1/tables/{name}`: the table as in the list, and how its Parquet files are stored.
#[derive(Serialize)]
struct TableDetails {
    #[serde(flatten)]
    info: TableInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    parquet: Option<ParquetDescription>,
}

#[derive(Serialize)]
struct FieldInfo {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    nullable: bool,
}

/// All tables, and whether uploads are permitted.
pub(super) async fn list(
    State(app): State<AppState>,
    headers: HeaderMap,
) -> Result<Response, QueryError> {
    let TableList { tables, note } = app.backend.tables(None).await?;
    let tables = tables.into_iter().map(TableInfo::from).collect();
    let max_upload_bytes = app.uploads.max_upload_bytes();
    let list = TableListInfo {
        writable: max_upload_bytes.is_some(),
        max_upload_bytes,
        tables,
        left_out: app.engine.catalog().left_out(),
        note,
    };
    json_with_etag(&list, &headers)
}

/// One table.
pub(super) async fn one(
    State(app): State<AppState>,
    Name(name): Name,
    headers: HeaderMap,
) -> Result<Response, QueryError> {
    let mut tables = app.backend.tables(Some(&name)).await?.tables;
    let Some(index) = tables.iter().position(|table| table.name == name) else {
        let names = tables.iter().map(|table| table.name.as_str());
        return Err(QueryError::new(
            ErrorKind::UnknownTable,
            format!("there is no table {name:?}"),
            near_names(&name, names, "tables"),
        ));
    };
    let parquet = parquet_description(&app, &name).await?;
    let info = TableInfo::from(tables.swap_remove(index));
    json_with_etag(&TableDetails { info, parquet }, &headers)
}

/// An uploaded table as JSON.
///
/// # Errors
/// `bad_upload`: the table cannot be described.
pub(super) fn describe(table: &Table) -> Result<String, QueryError> {
    let bad = |message: &str| {
        QueryError::new(
            ErrorKind::BadUpload,
            message,
            "send a table with fewer columns, or of other types",
        )
    };
    let description = describe_table(table).map_err(|error| bad(&error.message))?;
    let info = TableInfo {
        uploaded: true,
        ..description.into()
    };
    serde_json::to_string(&info).map_err(|error| bad(&error.to_string()))
}

/// How a table of Parquet files is stored.
async fn parquet_description(
    app: &AppState,
    name: &str,
) -> Result<Option<ParquetDescription>, QueryError> {
    let entries = app.engine.catalog().entries();
    let entry = entries.iter().find(|entry| entry.table.name == name);
    let Some(files) = entry.and_then(|entry| entry.table.file_table().map(Arc::clone)) else {
        return Ok(None);
    };
    let read = tokio::task::spawn_blocking(move || files.parquet_description()).await;
    match read {
        Ok(Ok(layout)) => Ok(layout),
        _ => Err(QueryError::new(
            ErrorKind::SourceChanged,
            format!("the footers of table {name:?} cannot be read"),
            "the files are changing; try again",
        )),
    }
}

impl From<TableDescription> for TableInfo {
    fn from(description: TableDescription) -> Self {
        let fields = description.fields.into_iter().map(|field| FieldInfo {
            name: field.name,
            type_name: field.type_name,
            nullable: field.nullable,
        });
        Self {
            name: description.name,
            format: description.format,
            rows: description.num_rows,
            bytes: description.num_bytes,
            version: description.version,
            uploaded: description.is_uploaded,
            fields: fields.collect(),
            left_out: description.left_out,
            error: description.error,
        }
    }
}

fn json_with_etag(value: &impl Serialize, headers: &HeaderMap) -> Result<Response, QueryError> {
    let body = serde_json::to_string(value)
        .map_err(|error| QueryError::new(ErrorKind::Internal, error.to_string(), ""))?;
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    let etag = format!("\"{:016x}\"", hasher.finish());
    let validators = [(CACHE_CONTROL, "no-cache"), (ETAG, etag.as_str())];
    Ok(if is_not_modified(headers, &etag) {
        (StatusCode::NOT_MODIFIED, validators).into_response()
    } else {
        (validators, [(CONTENT_TYPE, "application/json")], body).into_response()
    })
}
