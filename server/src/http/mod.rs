//! The HTTP interface: routes, access control, requests and responses.

mod assets;
pub mod body;
mod column_list;
pub mod connections;
mod exchange;
mod export;
mod extract;
mod find;
mod guard;
mod headers;
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

/// The state that handlers share.
#[derive(Clone)]
pub struct AppState {
    /// The embedded engine, for tables of files and kept rows.
    pub engine: Arc<Engine>,
    /// The engine that plans SQL and lists tables.
    pub backend: Arc<dyn Backend>,
    /// The results by id.
    pub results: Arc<Results>,
    /// One permit a running stream.
    pub streams: Arc<Semaphore>,
    /// Which hosts, origins and tokens are accepted.
    pub guard: Arc<GuardConfig>,
    /// The uploaded tables.
    pub uploads: Arc<Uploads>,
    /// The sessions that stand in for the token.
    pub sessions: Arc<Sessions>,
    /// The counters of `/metrics`.
    pub metrics: Arc<Metrics>,
    /// How long a small body may take, or an upload may pause.
    pub body_timeout: Duration,
    /// The folder for uploads, results and spilled sorts.
    pub data_dir: Arc<DataDir>,
}

/// All routes, behind access control.
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
