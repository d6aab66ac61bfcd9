//! The HTTP interface.

mod assets;
mod guard;
mod problem;
mod query;
mod rows;
mod stream;
mod tables;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, Uri};
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use tokio::sync::Semaphore;

pub use guard::GuardConfig;

use crate::data_dir::DataDir;
use crate::engine::Engine;
use crate::error::{ErrorKind, QueryError};
use crate::query::Results;

/// The largest JSON body.
const MAX_BODY_BYTES: usize = 1 << 20;

/// What every handler may use.
#[derive(Clone)]
pub struct AppState {
    /// The engine with its tables.
    pub engine: Arc<Engine>,
    /// The queries and their rows.
    pub results: Arc<Results>,
    /// One permit a running stream.
    pub streams: Arc<Semaphore>,
    /// Who may ask.
    pub guard: Arc<GuardConfig>,
    /// Where the server keeps what it writes.
    pub data_dir: Arc<DataDir>,
}

/// All routes, behind the guard.
pub fn router(state: AppState) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/v1/tables", get(tables::list))
        .route("/v1/tables/{name}", get(tables::one))
        .route("/v1/tables/{name}/rows", get(rows::rows))
        .route("/v1/query", get(query::list).post(query::start))
        .route("/v1/query/{id}", get(query::status).delete(query::delete))
        .route("/v1/query/{id}/rows", get(query::rows))
        .route("/", get(assets::asset))
        .fallback(assets::asset_or_not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(state.clone(), guard::guard))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(state)
}

async fn method_not_allowed(method: Method, uri: Uri) -> QueryError {
    QueryError::new(
        ErrorKind::MethodNotAllowed,
        format!("{} does not take {method}", uri.path()),
        "the Allow header lists the methods that it takes",
    )
}
