//! `GET /v1/tables/{name}/rows`.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use crate::backend::request::{CommonParameters, Filter, Source, TableQuery};
use crate::error::QueryError;
use crate::http::AppState;
use crate::http::column_list::{parse_columns, parse_sort};
use crate::http::extract::{Name, Parameters, checksum, number};
use crate::http::rows_response::respond;
use crate::source::name_with_options;

/// Rows of a table: all, or those that the parameters select.
pub(super) async fn rows(
    State(app): State<AppState>,
    Name(table): Name,
    headers: HeaderMap,
    parameters: Parameters,
) -> Result<Response, QueryError> {
    let (options, parameters) = parameters.text_options()?;
    let [
        columns,
        filter,
        sort,
        offset,
        limit,
        id,
        batch_bytes,
        linger_s,
        checksum_name,
    ] = parameters.named([
        "columns",
        "filter",
        "sort",
        "offset",
        "limit",
        "id",
        "batch_bytes",
        "linger_s",
        "checksum",
    ])?;
    let query = TableQuery {
        table: name_with_options(&table, &options),
        columns: columns.as_deref().map(parse_columns).transpose()?,
        filter: filter.map(Filter::Text),
        sort: sort
            .as_deref()
            .map(parse_sort)
            .transpose()?
            .unwrap_or_default(),
    };
    let common = CommonParameters {
        id,
        offset: number("offset", offset.as_deref())?,
        limit: number("limit", limit.as_deref())?,
        batch_bytes: number("batch_bytes", batch_bytes.as_deref())?,
        linger_s: number("linger_s", linger_s.as_deref())?,
    };
    let has_checksums = checksum(checksum_name.as_deref())?;
    let request = common.request(Source::Table(query))?;
    respond(&app, request, has_checksums, &headers).await
}
