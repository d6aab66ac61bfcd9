//! `GET /v1/query/{id}/find`.

use std::time::Duration;

use axum::Json;
use axum::extract::State;

use crate::error::QueryError;
use crate::http::AppState;
use crate::http::column_list::parse_columns;
use crate::http::extract::{Id, Parameters, bad, number, unknown};
use crate::http::rows_response::permit;
use crate::results::export::schema_of;
use crate::results::find::{FindRequest, Found, find};

/// The longest time of one answer, so that a client can show progress and stop.
const MAX_TIME: Duration = Duration::from_secs(2);

const DEFAULT_LIMIT: u64 = 100;
const MAX_LIMIT: u64 = 10_000;

/// The next rows that contain a text.
pub(super) async fn matches(
    State(app): State<AppState>,
    Id(id): Id,
    Parameters(parameters): Parameters,
) -> Result<Json<Found>, QueryError> {
    let mut request = parse(parameters)?;
    let _permit = permit(&app)?;
    let record = app.results.registry.get(id)?;
    let range = record.request.range;
    request.from = request.from.max(range.first_row);
    let range = range.from_row(request.from);
    let result = app.results.stream(&record, range).await?;
    let schema = schema_of(&result.schema)?;
    find(result, &schema, &request, MAX_TIME).await.map(Json)
}

fn parse(parameters: Vec<(String, String)>) -> Result<FindRequest, QueryError> {
    let mut request = FindRequest {
        text: String::new(),
        from: 0,
        limit: DEFAULT_LIMIT as usize,
        columns: None,
        match_case: false,
    };
    for (key, value) in parameters {
        match key.as_str() {
            "text" => request.text = value,
            "from" => request.from = number(&key, &value)?,
            "limit" => {
                let limit = number(&key, &value)?;
                if limit > MAX_LIMIT {
                    return Err(bad(
                        format!("limit={limit} is too large"),
                        format!("give 1 to {MAX_LIMIT}"),
                    ));
                }
                request.limit = limit as usize;
            }
            "columns" => request.columns = Some(parse_columns(&value)?),
            "case" => {
                request.match_case = match value.as_str() {
                    "exact" => true,
                    "ignore" => false,
                    _ => {
                        return Err(bad(
                            format!("case={value:?} is not known"),
                            "give case=exact or case=ignore",
                        ));
                    }
                };
            }
            _ => return Err(unknown(&key, "text, from, limit, columns or case")),
        }
    }
    Ok(request)
}
