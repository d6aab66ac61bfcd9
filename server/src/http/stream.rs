//! A query as an Arrow response.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{ACCEPT_RANGES, CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio_util::task::AbortOnDropHandle;

use crate::encode::{empty_batch_message, schema_message};
use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::order::{StitchPlan, Stitcher};
use crate::query::{QueryObserver, QueryRuntime, RunningQuery};
use crate::request::Request;
use crate::stream::{Delivery, Run};

/// The media type, <https://www.iana.org/assignments/media-types/application/vnd.apache.arrow.stream>.
pub(super) const ARROW_STREAM: &str = "application/vnd.apache.arrow.stream";

/// What a part needs while it runs, beside the messages that wait: pages, a batch, its encoded
/// form. Measured with TPC-H's lineitem: 10 MiB.
const PART_WORKING_BYTES: u64 = 16 << 20;

/// The id of the query.
pub(super) const X_QUERY_ID: HeaderName = HeaderName::from_static("x-query-id");

/// What the order of the rows means.
pub(super) const X_RESULT_ORDER: HeaderName = HeaderName::from_static("x-result-order");

/// Runs a request and answers with its stream.
///
/// # Errors
/// Whatever went wrong before the first byte.
pub(super) async fn respond(app: &AppState, request: Request) -> Result<Response, QueryError> {
    let permit = Arc::clone(&app.streams).try_acquire_owned().map_err(|_| {
        QueryError::new(
            ErrorKind::TooManyStreams,
            "all streams that this server permits are in use",
            "try again in a second, or start the server with a larger --max-streams",
        )
    })?;
    let id = request.id;
    let record = RunningQuery::new(app.registry.begin(id, request.range.offset)?);
    record.observe(QueryObserver::new(Arc::clone(&app.metrics), &request));
    let failed = |error: QueryError| {
        record.fail(error.clone());
        error
    };

    let runtime = QueryRuntime::start(app.num_threads).map_err(|error| {
        failed(QueryError::new(
            ErrorKind::TooManyStreams,
            format!("the machine has no threads for one more query: {error}"),
            "try again in a second",
        ))
    })?;
    let engine = Arc::clone(&app.engine);
    let planning = AbortOnDropHandle::new(
        runtime
            .handle()
            .spawn(async move { engine.start(&request).await }),
    );
    let planned = tokio::select! {
        () = record.cancel.cancelled() => {
            Err(QueryError::new(ErrorKind::Cancelled, "the query was cancelled", "run it again"))
        }
        planned = planning => planned.unwrap_or_else(|_| {
            Err(QueryError::new(ErrorKind::Internal, "the query could not be planned", "write it another way"))
        }),
    };
    let started = planned.map_err(failed)?;
    record.set_order(started.order);
    let order = started.order;

    let cannot_encode = |error: datafusion::arrow::error::ArrowError| {
        QueryError::new(
            ErrorKind::ExecutionError,
            format!("the columns cannot be written as Arrow IPC: {error}"),
            "leave the column out, or cast it to another type",
        )
    };
    let schema = schema_message(&started.schema)
        .map_err(cannot_encode)
        .map_err(failed)?;
    let heartbeat = empty_batch_message(started.schema)
        .map_err(cannot_encode)
        .map_err(failed)?;
    let plan = StitchPlan {
        schema: schema.clone(),
        range: started.range,
        num_parallel: (app.stream_memory_bytes / PART_WORKING_BYTES)
            .clamp(1, app.num_threads as u64) as usize,
        budget_bytes: app.stream_memory_bytes / 8 * 3,
    };
    let stitcher = Stitcher::start(started.parts, plan, runtime.handle());
    let run = Run {
        stitcher,
        record,
        sources: started.sources,
        runtime,
        permit,
    };
    let delivery = Delivery::open(run, schema, heartbeat, app.query_timeout).await?;

    let mut response = (StatusCode::OK, Body::from_stream(delivery.into_body())).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(ARROW_STREAM));
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("no-store, no-transform"),
    );
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("none"));
    headers.insert(X_RESULT_ORDER, HeaderValue::from_static(order.name()));
    if let Ok(id) = HeaderValue::from_str(&id.to_string()) {
        headers.insert(X_QUERY_ID, id);
    }
    Ok(response)
}
