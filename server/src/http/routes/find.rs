//! `GET /v1/query/{id}/find`.

use std::time::Duration;

use axum::Json;
use axum::extract::State;

use crate::error::QueryError;
use crate::http::AppState;
use crate::http::column_list::parse_columns;
use crate::http::extract::{Id, Parameters, bad, number};
use crate::results::export::schema_of;
use crate::results::find::{FindRequest, Found, find};

/// The longest time of one answer, so that a client can show progress and stop.
const MAX_TIME: Duration = Duration::from_secs(2);

/// How long the query goes on for the next search, if this one has not come to any row.
const LINGER: Duration = Duration::from_secs(60);

const DEFAULT_LIMIT: u64 = 100;
const MAX_LIMIT: u64 = 10_000;

/// The next rows that contain a text.
pub(super) async fn matches(
    State(app): State<AppState>,
    Id(id): Id,
    parameters: Parameters,
) -> Result<Json<Found>, QueryError> {
    let mut request = parse(parameters)?;
    let _slot = app.streams.take().await?;
    let record = app.results.registry.get(id)?;
    let range = record.request.range;
    request.from = request.from.max(range.first_row);
    let range = range.from_row(request.from);
    let result = app.results.stream(&record, range, Some(LINGER)).await?;
    let schema = schema_of(&result.schema)?;
    find(result, &schema, &request, MAX_TIME).await.map(Json)
}

fn parse(parameters: Parameters) -> Result<FindRequest, QueryError> {
    let [text, from, limit, columns, case] =
        parameters.named(["text", "from", "limit", "columns", "case"])?;
    let limit = number("limit", limit.as_deref())?.unwrap_or(DEFAULT_LIMIT);
    if limit > MAX_LIMIT {
        return Err(bad(
            format!("limit={limit} is too large"),
            format!("give 1 to {MAX_LIMIT}"),
        ));
    }
    let match_case = match case.as_deref() {
        Some("exact") => true,
        Some("ignore") | None => false,
        Some(case) => {
            return Err(bad(
                format!("case={case:?} is not known"),
                "give case=exact or case=ignore",
            ));
        }
    };
    Ok(FindRequest {
        text: text.unwrap_or_default(),
        from: number("from", from.as_deref())?.unwrap_or(0),
        limit: limit as usize,
        columns: columns.as_deref().map(parse_columns).transpose()?,
        match_case,
    })
}
