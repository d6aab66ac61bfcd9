//! `GET /v1/tables` and `GET /v1/tables/{name}`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use colonnade_core::semantics::near_names;
use serde::Serialize;

use crate::catalog::Entry;
use crate::encode::{self, wire_schema};
use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::http::extract::Name;
use crate::source::{ParquetFacts, Table};

#[derive(Serialize)]
struct TableList {
    writable: bool,
    max_upload_bytes: Option<u64>,
    tables: Vec<TableInfo>,
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
}

/// A table that is asked for by its name.
#[derive(Serialize)]
struct TableDetails {
    #[serde(flatten)]
    info: TableInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    parquet: Option<ParquetFacts>,
}

#[derive(Serialize)]
struct FieldInfo {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    nullable: bool,
}

/// All tables, and whether others may be uploaded.
pub(super) async fn list(
    State(app): State<AppState>,
    headers: HeaderMap,
) -> Result<Response, QueryError> {
    let entries = entries(&app).await?;
    let tables = entries
        .iter()
        .map(|entry| info(&entry.table))
        .collect::<Result<_, _>>()?;
    let max_upload_bytes = app.uploads.max_upload_bytes();
    let list = TableList {
        writable: max_upload_bytes.is_some(),
        max_upload_bytes,
        tables,
    };
    json_with_etag(&list, &headers)
}

/// One of them.
pub(super) async fn one(
    State(app): State<AppState>,
    Name(name): Name,
    headers: HeaderMap,
) -> Result<Response, QueryError> {
    let entries = entries(&app).await?;
    let entry = entries
        .iter()
        .find(|entry| entry.table.name == name)
        .ok_or_else(|| {
            let names = entries.iter().map(|entry| entry.table.name.as_str());
            QueryError::new(
                ErrorKind::UnknownTable,
                format!("there is no table {name:?}"),
                near_names(&name, names, "tables"),
            )
        })?;
    let info = info(&entry.table)?;
    let parquet = parquet_facts(&entry.table).await?;
    json_with_etag(&TableDetails { info, parquet }, &headers)
}

/// A table that was uploaded, as JSON.
///
/// # Errors
/// `bad_upload`: it could not be listed.
pub(super) fn describe(table: &Table) -> Result<String, QueryError> {
    let bad = |message: &str| {
        QueryError::new(
            ErrorKind::BadUpload,
            message,
            "send a table with fewer columns, or of other types",
        )
    };
    let mut info = info(table).map_err(|error| bad(&error.message))?;
    info.uploaded = true;
    serde_json::to_string(&info).map_err(|error| bad(&error.to_string()))
}

/// The tables after a look at their files, which blocks.
async fn entries(app: &AppState) -> Result<Arc<Vec<Entry>>, QueryError> {
    let engine = Arc::clone(&app.engine);
    tokio::task::spawn_blocking(move || engine.tables())
        .await
        .map_err(|_| {
            QueryError::new(
                ErrorKind::Internal,
                "the tables could not be listed",
                "try again",
            )
        })
}

/// How a table of Parquet files is stored.
async fn parquet_facts(table: &Table) -> Result<Option<ParquetFacts>, QueryError> {
    let Some(files) = table.file_table().map(Arc::clone) else {
        return Ok(None);
    };
    let read = tokio::task::spawn_blocking(move || files.parquet_facts()).await;
    match read {
        Ok(Ok(facts)) => Ok(facts),
        _ => Err(QueryError::new(
            ErrorKind::SourceChanged,
            format!("the footers of table {:?} cannot be read", table.name),
            "they are being changed; try again",
        )),
    }
}

fn info(table: &Table) -> Result<TableInfo, QueryError> {
    let internal = |error: String| {
        QueryError::new(
            ErrorKind::Internal,
            format!("table {:?} cannot be described: {error}", table.name),
            "",
        )
    };
    let fields = encode::describe(&wire_schema(&table.schema))
        .map_err(|error| internal(error.to_string()))?;
    Ok(TableInfo {
        name: table.name.clone(),
        format: table.format,
        rows: table.num_rows,
        bytes: table.num_bytes,
        version: table.version.clone(),
        uploaded: table.is_uploaded(),
        fields: fields
            .into_iter()
            .map(|field| FieldInfo {
                name: field.name,
                type_name: field.type_name,
                nullable: field.nullable,
            })
            .collect(),
    })
}

fn json_with_etag(value: &impl Serialize, headers: &HeaderMap) -> Result<Response, QueryError> {
    let body = serde_json::to_string(value)
        .map_err(|error| QueryError::new(ErrorKind::Internal, error.to_string(), ""))?;
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    let etag = format!("\"{:016x}\"", hasher.finish());
    let known = headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|value| matches!(value.trim().trim_start_matches("W/"), tag if tag == etag || tag == "*"));
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(CONTENT_TYPE, "application/json")], body).into_response()
    };
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        response.headers_mut().insert(ETAG, etag);
    }
    Ok(response)
}
