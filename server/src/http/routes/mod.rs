//! The routes, a file for each group of them.

mod export;
mod find;
mod metrics;
mod query;
mod rows;
mod summary;
mod tables;
mod uploads;

use axum::Router;
use axum::http::{Method, Uri};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use crate::error::{ErrorKind, QueryError};
use crate::http::{AppState, assets, exchange, guard, session};

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
