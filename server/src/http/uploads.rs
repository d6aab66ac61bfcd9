//! `PUT /v1/tables/{name}` and `DELETE /v1/tables/{name}`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LOCATION,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::http::exchange::body_timeout;
use crate::http::extract::Name;
use crate::http::tables::describe;
use crate::uploads::Upload;

/// Makes a table of the body.
pub(super) async fn put(
    State(app): State<AppState>,
    Name(name): Name,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match receive(&app, &name, &uri, &headers, body).await {
        Ok(response) => response,
        Err(error) => {
            let mut response = error.into_response();
            // What is left of the body would have to be read before another request.
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
            response
        }
    }
}

async fn receive(
    app: &AppState,
    name: &str,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, QueryError> {
    let text = |header: HeaderName| {
        headers
            .get(header)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    let mut upload = app.uploads.begin(name, text(CONTENT_LENGTH).parse().ok())?;
    let encoding = text(CONTENT_ENCODING).to_ascii_lowercase();
    // A compressed text is kept as it is: its first bytes say so.
    if !matches!(encoding.as_str(), "" | "identity" | "gzip" | "zstd") {
        return upload.settle(Err(QueryError::new(
            ErrorKind::UnsupportedMediaType,
            format!("the content encoding {encoding:?} is not read"),
            "send it as it is, or text as gzip or zstd",
        )));
    }
    take_body(&mut upload, text(CONTENT_TYPE), app, body).await?;

    let shared = app.clone();
    let cancel = CancellationToken::new();
    // The handler is dropped when the sender leaves.
    let _cancel_when_dropped = cancel.clone().drop_guard();
    let committed = tokio::task::spawn_blocking(move || {
        shared
            .uploads
            .commit(upload, &shared.engine, describe, &cancel)
    });
    let (committed, description) = committed.await.map_err(|_| {
        QueryError::new(
            ErrorKind::BadUpload,
            format!("{name:?} cannot be read as a table"),
            "send a whole file of a kind that is read",
        )
    })??;
    let status = if committed.is_replaced {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let mut response = (status, headers, description).into_response();
    if let Ok(location) = HeaderValue::from_str(uri.path()) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

async fn take_body(
    upload: &mut Upload,
    media_type: &str,
    app: &AppState,
    body: Body,
) -> Result<(), QueryError> {
    let mut writer = upload.open(media_type)?;
    let mut pieces = body.into_data_stream();
    loop {
        match tokio::time::timeout(app.body_timeout, pieces.next()).await {
            Ok(None) => return upload.finish(writer).await,
            Ok(Some(Ok(piece))) => upload.write(&mut writer, piece).await?,
            Ok(Some(Err(_))) => {
                return upload.settle(Err(QueryError::new(
                    ErrorKind::BadUpload,
                    "the body ended before its end",
                    "send it again, whole",
                )));
            }
            Err(_) => return upload.settle(Err(body_timeout())),
        }
    }
}

/// Removes an uploaded table.
pub(super) async fn delete(
    State(app): State<AppState>,
    Name(name): Name,
) -> Result<StatusCode, QueryError> {
    let removal = {
        let app = Arc::new(app);
        tokio::task::spawn_blocking(move || app.uploads.remove(&name, app.engine.catalog()))
    };
    removal.await.map_err(|_| {
        QueryError::new(
            ErrorKind::Internal,
            "the table could not be removed",
            "try again",
        )
    })??;
    Ok(StatusCode::NO_CONTENT)
}
