//! `GET /v1/query/{id}/summary`.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use datafusion::common::TableReference;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use tokio_util::task::AbortOnDropHandle;

use crate::engine_error::execution_error;
use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::http::rows::{bad, unique};
use crate::http::stream::permit;
use crate::order::RowRange;
use crate::query::{Query as KeptQuery, QueryRuntime, timed_out};
use crate::request::{Source, parse_id};
use crate::summary::{Summary, summarise};

/// A column in short.
pub(super) async fn of_column(
    State(app): State<AppState>,
    Path(id): Path<String>,
    parameters: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Json<Summary>, QueryError> {
    let id = parse_id(&id)?;
    let mut column = None;
    for (key, value) in unique(parameters)? {
        match key.as_str() {
            "column" => column = Some(value),
            _ => {
                return Err(bad(format!("there is no parameter {key:?}"), "use column"));
            }
        }
    }
    let column = column.ok_or_else(|| bad("no column is named", "give column="))?;
    let _permit = permit(&app)?;
    let query = app.results.registry.get(id)?;
    let plan = match &query.request.source {
        // All rows of a table are the same whoever reads them, and their source has less to read.
        Source::Table(table) if query.request.range == RowRange::default() => {
            app.results.compare_sources(&query).await?;
            let (engine, table) = (Arc::clone(&app.engine), table.clone());
            tokio::task::spawn_blocking(move || engine.table_plan(&table))
                .await
                .map_err(|_| stopped())??
        }
        _ => kept_rows(&app, &query).await?,
    };
    let state = app.engine.state();
    let runtime = QueryRuntime::start(app.results.num_threads()).map_err(|error| {
        QueryError::new(
            ErrorKind::TooManyStreams,
            format!("the machine has no threads for a summary: {error}"),
            "try again in a second",
        )
    })?;
    let work = runtime
        .handle()
        .spawn(async move { summarise(&state, plan, &column).await });
    let work = AbortOnDropHandle::new(work);
    let summary = match app.results.query_timeout() {
        Some(timeout) => tokio::time::timeout(timeout, work)
            .await
            .map_err(|_| timed_out())?,
        None => work.await,
    };
    summary.map_err(|_| stopped())?.map(Json)
}

/// The rows that were asked for, as they were or will be for every other reader.
async fn kept_rows(app: &AppState, query: &KeptQuery) -> Result<LogicalPlan, QueryError> {
    let table = app.results.table(query.id).await?;
    let source = provider_as_source(table.provider);
    let name = TableReference::bare(table.name);
    LogicalPlanBuilder::scan(name, source, None)
        .and_then(|rows| rows.limit(query.request.range.offset as usize, None))
        .and_then(LogicalPlanBuilder::build)
        .map_err(|error| execution_error(&error))
}

fn stopped() -> QueryError {
    QueryError::new(
        ErrorKind::Internal,
        "the column could not be summarised",
        "summarise another column",
    )
}
