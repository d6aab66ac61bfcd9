//! `/v1/query`: start, list, look at, delete.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::http::stream::respond;
use crate::plan::{Predicate, parse_list};
use crate::query::QueryStatus;
use crate::request::{CommonParameters, Filter, Request, SortKey, Source, TableQuery, parse_id};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object was expected")]
struct QueryBody {
    sql: Option<String>,
    table: Option<String>,
    query: Option<String>,
    columns: Option<Vec<String>>,
    sort: Option<Vec<SortItem>>,
    filter: Option<serde_json::Value>,
    id: Option<String>,
    offset: Option<u64>,
    limit: Option<u64>,
    batch_bytes: Option<u64>,
    linger_s: Option<u64>,
}

/// `"-a"`, or the same written out.
#[derive(Deserialize)]
#[serde(untagged)]
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
    let is_json = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|value| value.trim().eq_ignore_ascii_case("application/json"));
    if !is_json {
        return Err(QueryError::new(
            ErrorKind::UnsupportedMediaType,
            "the body is not declared as JSON",
            "send Content-Type: application/json",
        ));
    }
    respond(&app, parse(&body)?).await
}

fn parse(body: &[u8]) -> Result<Request, QueryError> {
    let hint = r#"send an object such as {"sql": "select 1"} or {"table": "t", "limit": 10}"#;
    let body: QueryBody = serde_json::from_slice(body).map_err(|error| {
        QueryError::new(
            ErrorKind::BadJson,
            format!("the body cannot be read: {error}"),
            hint,
        )
    })?;
    let bad = |message: &str, hint: &str| QueryError::new(ErrorKind::BadParameter, message, hint);
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
        (None, Some(table), None) => {
            let filter = body.filter.filter(|filter| !filter.is_null());
            let filter = filter
                .map(|filter| serde_json::from_value::<Predicate>(filter).map(Filter::Json))
                .transpose()
                .map_err(|_| {
                    QueryError::new(
                        ErrorKind::BadFilter,
                        "the filter is no predicate",
                        r#"write {"op": "eq|ne|lt|le|gt|ge|in|is_null|not_null|contains|starts_with", "column": …, "value": …}, or {"and": […]}, {"or": […]}, {"not": …}"#,
                    )
                })?;
            let sort = body
                .sort
                .unwrap_or_default()
                .into_iter()
                .map(sort_key)
                .collect::<Result<_, _>>()?;
            Source::Table(TableQuery {
                table,
                columns: body.columns,
                filter,
                sort,
            })
        }
        (None, None, Some(_)) => {
            return Err(QueryError::new(
                ErrorKind::NotImplemented,
                "results are not kept yet, so that none can be queried again",
                "use sql or table",
            ));
        }
        _ => {
            return Err(bad(
                "the body has not exactly one of sql, table and query",
                hint,
            ));
        }
    };
    common.request(source)
}

/// A name as it is, or in SQL's quotes where a `-` is part of it.
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
    match parse_list(rest, false).as_deref() {
        Ok([item]) => Ok(SortKey {
            column: item.name.clone(),
            descending,
        }),
        _ => Err(QueryError::new(
            ErrorKind::BadParameter,
            format!("sort: {text:?} is no column name"),
            "write \"a\" or \"-a\", one name an item",
        )),
    }
}

#[derive(Serialize)]
pub(super) struct QueryList {
    queries: Vec<QueryStatus>,
}

/// All queries that are known.
pub(super) async fn list(State(app): State<AppState>) -> Json<QueryList> {
    Json(QueryList {
        queries: app
            .registry
            .all()
            .iter()
            .map(|record| record.status())
            .collect(),
    })
}

/// One query.
pub(super) async fn status(
    State(app): State<AppState>,
    Path(id): Path<String>,
) -> Result<Json<QueryStatus>, QueryError> {
    Ok(Json(app.registry.get(parse_id(&id)?)?.status()))
}

/// Cancels a query that runs; forgets one that has ended.
pub(super) async fn delete(
    State(app): State<AppState>,
    Path(id): Path<String>,
) -> Result<StatusCode, QueryError> {
    app.registry.delete(parse_id(&id)?)?;
    Ok(StatusCode::NO_CONTENT)
}
