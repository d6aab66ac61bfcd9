//! `/v1/query`: start a query; list results, show one, read its rows, delete it.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::backend::request::{
    CommonParameters, Filter, Request, SortKey, Source, TableQuery, linger, parse_id,
};
use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::http::column_list::parse_columns;
use crate::http::extract::{Id, Parameters, bad, checksum, number};
use crate::http::headers::{accepted_codec, is_json};
use crate::http::rows_response::{respond, stream_rows};
use crate::order::RowRange;
use crate::results::{ReadOptions, ResultStatus};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object was expected")]
struct QueryBody {
    sql: Option<String>,
    table: Option<String>,
    query: Option<String>,
    columns: Option<Vec<String>>,
    sort: Option<Vec<SortItem>>,
    filter: Option<Box<RawValue>>,
    id: Option<String>,
    offset: Option<u64>,
    limit: Option<u64>,
    batch_bytes: Option<u64>,
    linger_s: Option<u64>,
    checksum: Option<String>,
}

/// `"-a"`, or the same as an object.
#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = r#"sort takes texts such as "-a" and objects such as {"column": "a", "descending": true}"#
)]
enum SortItem {
    Text(String),
    Key {
        column: String,
        #[serde(default)]
        descending: bool,
    },
}

/// Starts a query and answers with its stream.
pub(super) async fn start(
    State(app): State<AppState>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, QueryError> {
    if !is_json(&headers) {
        return Err(QueryError::new(
            ErrorKind::UnsupportedMediaType,
            "the body is not declared as JSON",
            "send Content-Type: application/json",
        ));
    }
    let (request, has_checksums) = parse(&body)?;
    respond(&app, request, has_checksums, &headers).await
}

fn parse(body: &[u8]) -> Result<(Request, bool), QueryError> {
    let hint = r#"send an object such as {"sql": "select 1"} or {"table": "t", "limit": 10}"#;
    let body: QueryBody = serde_json::from_slice(body).map_err(|error| {
        QueryError::new(
            ErrorKind::BadJson,
            format!("the body cannot be read: {error}"),
            hint,
        )
    })?;
    let common = CommonParameters {
        id: body.id,
        offset: body.offset,
        limit: body.limit,
        batch_bytes: body.batch_bytes,
        linger_s: body.linger_s,
    };
    let source = match (body.sql, body.table, body.query) {
        (Some(sql), None, None) => {
            if body.columns.is_some() || body.sort.is_some() || body.filter.is_some() {
                return Err(bad(
                    "columns, sort and filter belong to a table",
                    "write them into the SQL",
                ));
            }
            Source::Sql(sql)
        }
        (None, table, query) if table.is_some() != query.is_some() => {
            let is_table = table.is_some();
            let filter = body.filter.as_deref().map(RawValue::get);
            let sort = body
                .sort
                .unwrap_or_default()
                .into_iter()
                .map(sort_key)
                .collect::<Result<_, _>>()?;
            let table = match query {
                Some(id) => parse_id(&id)?.to_string(),
                None => table.unwrap_or_default(),
            };
            let rows = TableQuery {
                table,
                columns: body.columns,
                filter: filter.map(Filter::of_json).transpose()?,
                sort,
            };
            if is_table {
                Source::Table(rows)
            } else {
                Source::Query(rows)
            }
        }
        _ => {
            return Err(bad(
                "the body must have exactly one of sql, table and query",
                hint,
            ));
        }
    };
    let has_checksums = checksum(body.checksum.as_deref())?;
    Ok((common.request(source)?, has_checksums))
}

/// A column name, SQL-quoted if it starts with `-`; a `-` in front means descending.
fn sort_key(item: SortItem) -> Result<SortKey, QueryError> {
    let text = match item {
        SortItem::Key { column, descending } => return Ok(SortKey { column, descending }),
        SortItem::Text(text) => text,
    };
    let (descending, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.as_str()),
    };
    if !rest.starts_with('"') {
        return Ok(SortKey {
            column: rest.to_owned(),
            descending,
        });
    }
    match parse_columns(rest).as_deref() {
        Ok([column]) => Ok(SortKey {
            column: column.clone(),
            descending,
        }),
        _ => Err(QueryError::new(
            ErrorKind::BadParameter,
            format!("sort: {text:?} is not a column name"),
            "write \"a\" or \"-a\", one name per item",
        )),
    }
}

#[derive(Serialize)]
pub(super) struct QueryList {
    queries: Vec<ResultStatus>,
}

/// The running and kept results.
pub(super) async fn list(State(app): State<AppState>) -> Json<QueryList> {
    Json(QueryList {
        queries: app
            .results
            .registry
            .all()
            .iter()
            .map(|record| record.status())
            .collect(),
    })
}

/// The state of one result.
pub(super) async fn status(
    State(app): State<AppState>,
    Id(id): Id,
) -> Result<Json<ResultStatus>, QueryError> {
    Ok(Json(app.results.registry.get(id)?.status()))
}

/// Rows of a running or kept result: the same for every reader.
pub(super) async fn rows(
    State(app): State<AppState>,
    Id(id): Id,
    headers: HeaderMap,
    parameters: Parameters,
) -> Result<Response, QueryError> {
    let [offset, limit, linger_s, checksum_name] =
        parameters.named(["offset", "limit", "linger_s", "checksum"])?;
    let options = ReadOptions {
        range: RowRange {
            first_row: number("offset", offset.as_deref())?.unwrap_or(0),
            limit: number("limit", limit.as_deref())?,
        },
        codec: accepted_codec(&headers),
        linger: number("linger_s", linger_s.as_deref())?
            .map(linger)
            .transpose()?,
        ..ReadOptions::default()
    };
    let has_checksums = checksum(checksum_name.as_deref())?;
    let slot = app.streams.take().await?;
    let reader = app.results.reopen(id, options).await?;
    stream_rows(&app, reader, has_checksums, &headers, slot).await
}

/// Cancels a query at once and deletes its result.
pub(super) async fn delete(
    State(app): State<AppState>,
    Id(id): Id,
) -> Result<StatusCode, QueryError> {
    app.results.registry.delete(id)?;
    Ok(StatusCode::NO_CONTENT)
}
