//! `GET /v1/tables/{name}/rows`.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;

use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::http::stream::respond;
use crate::plan::parse_list;
use crate::request::{CommonParameters, Filter, SortKey, Source, TableQuery};

/// Rows of a table.
pub(super) async fn rows(
    State(app): State<AppState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    parameters: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Response, QueryError> {
    let mut query = TableQuery {
        table: name,
        ..TableQuery::default()
    };
    let mut common = CommonParameters::default();
    let mut has_checksums = false;
    for (key, value) in unique(parameters)? {
        match key.as_str() {
            "columns" => {
                let items = parse_list(&value, false)
                    .map_err(|error| bad(format!("columns: {error}"), ""))?;
                query.columns = Some(items.into_iter().map(|item| item.name).collect());
            }
            "sort" => {
                let items =
                    parse_list(&value, true).map_err(|error| bad(format!("sort: {error}"), ""))?;
                query.sort = items
                    .into_iter()
                    .map(|item| SortKey {
                        column: item.name,
                        descending: item.descending,
                    })
                    .collect();
            }
            "filter" => query.filter = Some(Filter::Text(value)),
            "id" => common.id = Some(value),
            "offset" => common.offset = Some(number(&key, &value)?),
            "limit" => common.limit = Some(number(&key, &value)?),
            "batch_bytes" => common.batch_bytes = Some(number(&key, &value)?),
            "linger_s" => common.linger_s = Some(number(&key, &value)?),
            "checksum" => has_checksums = checksum(&value)?,
            _ => {
                return Err(bad(
                    format!("there is no parameter {key:?}"),
                    "use columns, filter, sort, offset, limit, id, batch_bytes, linger_s or checksum",
                ));
            }
        }
    }
    let request = common.request(Source::Table(query))?;
    respond(&app, request, has_checksums, &headers).await
}

/// The parameters of a URL, each of which may be given once.
///
/// # Errors
/// `bad_parameter`.
pub(super) fn unique(
    parameters: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Vec<(String, String)>, QueryError> {
    let Query(parameters) = parameters.map_err(|error| {
        bad(
            format!("the parameters cannot be read: {error}"),
            "write name=value apart by &",
        )
    })?;
    for (index, (key, _)) in parameters.iter().enumerate() {
        if parameters[..index].iter().any(|(before, _)| before == key) {
            return Err(bad(
                format!("{key} is given twice"),
                "give each parameter once",
            ));
        }
    }
    Ok(parameters)
}

/// `checksum=xxh3`.
///
/// # Errors
/// `bad_parameter`.
pub(super) fn checksum(value: &str) -> Result<bool, QueryError> {
    match value {
        "xxh3" => Ok(true),
        _ => Err(bad(
            format!("checksum={value:?} is not known"),
            "write checksum=xxh3, or leave it out",
        )),
    }
}

pub(super) fn number(key: &str, value: &str) -> Result<u64, QueryError> {
    let parsed = value
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| value.parse().ok())
        .flatten();
    parsed.ok_or_else(|| {
        bad(
            format!("{key}={value:?} is no whole number of 0 or more"),
            format!("give {key} as digits, such as {key}=1000"),
        )
    })
}

pub(super) fn bad(message: impl AsRef<str>, hint: impl AsRef<str>) -> QueryError {
    QueryError::new(ErrorKind::BadParameter, message, hint)
}
