//! The routes, a file for each group of them.

mod export;
mod find;
mod metrics;
mod openapi;
mod preview;
mod query;
mod rows;
mod summary;
mod tables;
mod uploads;

use axum::Router;
use axum::http::{Method, Uri};
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};

use crate::error::{ErrorKind, QueryError};
use crate::http::{AppState, assets, exchange, guard, session};

/// The path and the handlers of each route. `docs/openapi.json` describes them all.
fn routes() -> Vec<(&'static str, MethodRouter<AppState>)> {
    vec![
        ("/", get(assets::asset)),
        ("/healthz", get(|| async { "ok\n" })),
        ("/readyz", get(|| async { "ok\n" })),
        ("/metrics", get(metrics::metrics)),
        ("/v1/openapi.json", get(openapi::description)),
        ("/v1/session", post(session::begin).delete(session::end)),
        ("/v1/tables", get(tables::list)),
        (
            "/v1/tables/{name}",
            get(tables::one).put(uploads::put).delete(uploads::delete),
        ),
        ("/v1/tables/{name}/rows", get(rows::rows)),
        ("/v1/preview", post(preview::preview)),
        ("/v1/query", get(query::list).post(query::start)),
        ("/v1/query/{id}", get(query::status).delete(query::delete)),
        ("/v1/query/{id}/rows", get(query::rows)),
        ("/v1/query/{id}/export", get(export::file)),
        ("/v1/query/{id}/find", get(find::matches)),
        ("/v1/query/{id}/summary", get(summary::of_column)),
    ]
}

/// All routes, behind access control.
pub fn router(state: AppState) -> Router {
    let mut router = Router::new();
    for (path, handlers) in routes() {
        router = router.route(path, handlers);
    }
    router
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
