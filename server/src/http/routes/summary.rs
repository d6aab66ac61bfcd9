//! `GET /v1/query/{id}/summary`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use datafusion::common::TableReference;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use tokio_util::task::AbortOnDropHandle;

use crate::backend::request::Source;
use crate::error::from_datafusion::execution_error;
use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::http::extract::{Id, Parameters, bad, number};
use crate::order::RowRange;
use crate::results::summary::{Summary, summarise};
use crate::results::{ReaderKind, ResultRecord, timed_out};

/// How many of the most frequent values a summary has.
const DEFAULT_TOP: u64 = 10;
const MAX_TOP: u64 = 1000;

/// The summary of a column.
pub(super) async fn of_column(
    State(app): State<AppState>,
    Id(id): Id,
    parameters: Parameters,
) -> Result<Json<Summary>, QueryError> {
    let [column, top] = parameters.named(["column", "top"])?;
    let column = column.ok_or_else(|| bad("the column is missing", "give column=NAME"))?;
    let num_top = number("top", top.as_deref())?.unwrap_or(DEFAULT_TOP);
    if !(1..=MAX_TOP).contains(&num_top) {
        let hint = format!("give 1 to {MAX_TOP} most frequent values");
        return Err(bad(format!("top={num_top} is out of range"), hint));
    }
    let _slot = app.streams.take().await?;
    let record = app.results.registry.get(id)?;
    let state = app.engine.state();
    // Planning needs the stack size of these threads.
    let threads = app.results.threads().handle();
    let plan = match &record.request.source {
        // All rows of a table are the same for every reader, and cheaper to read from its source.
        Source::Table(table)
            if is_of_files(&record)
                && !record.request.source.has_sql()
                && record.request.range == RowRange::default() =>
        {
            app.results.compare_sources(&record).await?;
            let (engine, table) = (Arc::clone(&app.engine), table.clone());
            let planning = threads.spawn(async move { engine.table_plan(&table) });
            planning.await.map_err(|_| stopped())??
        }
        _ => kept_rows(&app, &record).await?,
    };
    let work =
        threads.spawn(async move { summarise(&state, plan, &column, num_top as usize).await });
    let work = AbortOnDropHandle::new(work);
    let summary = match app.results.query_timeout() {
        Some(timeout) => tokio::time::timeout(timeout, work)
            .await
            .map_err(|_| timed_out())?,
        None => work.await,
    };
    summary.map_err(|_| stopped())?.map(Json)
}

/// The rows of the result: the same for every reader.
async fn kept_rows(app: &AppState, record: &ResultRecord) -> Result<LogicalPlan, QueryError> {
    let table = app.results.table(record.id, ReaderKind::Newcomer).await?;
    let source = provider_as_source(table.provider);
    let name = TableReference::bare(table.name);
    LogicalPlanBuilder::scan(name, source, None)
        .and_then(LogicalPlanBuilder::build)
        .map_err(|error| execution_error(&error))
}

/// Whether the embedded engine can read the rows from files.
fn is_of_files(record: &ResultRecord) -> bool {
    record
        .properties()
        .is_some_and(|properties| !properties.sources.is_empty())
}

fn stopped() -> QueryError {
    QueryError::new(
        ErrorKind::Internal,
        "the column could not be summarised",
        "summarise another column",
    )
}
