//! The HTTP interface.

mod assets;
pub mod body;
mod column_list;
pub mod connections;
mod exchange;
mod export;
mod extract;
mod find;
mod guard;
mod metrics;
mod problem;
mod query;
mod rows;
mod session;
mod stream;
mod summary;
mod tables;
mod uploads;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Method, Uri};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tokio::sync::Semaphore;

pub use guard::GuardConfig;
pub use session::Sessions;

use crate::backend::Backend;
use crate::backend::embedded::Engine;
use crate::data_dir::DataDir;
use crate::error::{ErrorKind, QueryError};
use crate::metrics::Metrics;
use crate::results::Results;
use crate::uploads::Uploads;

/// The largest JSON body.
const MAX_BODY_BYTES: usize = 1 << 20;

/// What every handler may use.
#[derive(Clone)]
pub struct AppState {
    /// The embedded engine, for tables of files and kept rows.
    pub engine: Arc<Engine>,
    /// Who answers for SQL and tables.
    pub backend: Arc<dyn Backend>,
    /// The queries and their rows.
    pub results: Arc<Results>,
    /// One permit a running stream.
    pub streams: Arc<Semaphore>,
    /// Who may ask.
    pub guard: Arc<GuardConfig>,
    /// The uploaded tables.
    pub uploads: Arc<Uploads>,
    /// Who has shown the token.
    pub sessions: Arc<Sessions>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// How long a body may take, or pause where it may be large.
    pub body_timeout: Duration,
    /// Where the server keeps what it writes.
    pub data_dir: Arc<DataDir>,
}

/// All routes, behind the guard.
pub fn router(state: AppState) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/metrics", get(metrics::metrics))
        .route("/v1/session", post(session::begin).delete(session::end))
        .route("/v1/tables", get(tables::list))
        .route(
            "/v1/tables/{name}",
            get(tables::one).put(uploads::put).delete(uploads::delete),
        )
        .route("/v1/tables/{name}/rows", get(rows::rows))
        .route("/v1/query", get(query::list).post(query::start))
        .route("/v1/query/{id}", get(query::status).delete(query::delete))
        .route("/v1/query/{id}/rows", get(query::rows))
        .route("/v1/query/{id}/export", get(export::file))
        .route("/v1/query/{id}/find", get(find::matches))
        .route("/v1/query/{id}/summary", get(summary::of_column))
        .route("/", get(assets::asset))
        .fallback(assets::asset_or_not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(state.clone(), exchange::read_body))
        .layer(from_fn_with_state(state.clone(), guard::guard))
        .layer(from_fn_with_state(state.clone(), exchange::observe))
        .with_state(state)
}

async fn method_not_allowed(method: Method, uri: Uri) -> QueryError {
    QueryError::new(
        ErrorKind::MethodNotAllowed,
        format!("{} does not take {method}", uri.path()),
        "the Allow header lists the methods that it takes",
    )
}
