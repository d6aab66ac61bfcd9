//! `GET /v1/tables/{name}/rows`.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use crate::backend::request::{CommonParameters, Filter, Source, TableQuery};
use crate::error::QueryError;
use crate::http::AppState;
use crate::http::column_list::{parse_columns, parse_sort};
use crate::http::extract::{Name, Parameters, checksum, number, unknown};
use crate::http::rows_response::respond;

/// Rows of a table: all, or those that the parameters select.
pub(super) async fn rows(
    State(app): State<AppState>,
    Name(table): Name,
    headers: HeaderMap,
    Parameters(parameters): Parameters,
) -> Result<Response, QueryError> {
    let mut query = TableQuery {
        table,
        ..TableQuery::default()
    };
    let mut common = CommonParameters::default();
    let mut has_checksums = false;
    for (key, value) in parameters {
        match key.as_str() {
            "columns" => query.columns = Some(parse_columns(&value)?),
            "sort" => query.sort = parse_sort(&value)?,
            "filter" => query.filter = Some(Filter::Text(value)),
            "id" => common.id = Some(value),
            "offset" => common.offset = Some(number(&key, &value)?),
            "limit" => common.limit = Some(number(&key, &value)?),
            "batch_bytes" => common.batch_bytes = Some(number(&key, &value)?),
            "linger_s" => common.linger_s = Some(number(&key, &value)?),
            "checksum" => has_checksums = checksum(&value)?,
            _ => {
                let known =
                    "columns, filter, sort, offset, limit, id, batch_bytes, linger_s or checksum";
                return Err(unknown(&key, known));
            }
        }
    }
    let request = common.request(Source::Table(query))?;
    respond(&app, request, has_checksums, &headers).await
}
