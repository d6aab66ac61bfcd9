//! `PUT /v1/tables/{name}` and `DELETE /v1/tables/{name}`.

use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::error::{ErrorKind, QueryError};
use crate::http::AppState;
use crate::http::exchange::body_timeout;
use crate::http::extract::{Name, Parameters, bad};
use crate::http::headers::text;
use crate::http::routes::tables::describe;
use crate::uploads::Upload;

/// Stores the body as a table.
pub(super) async fn put(
    State(app): State<AppState>,
    Name(name): Name,
    parameters: Result<Parameters, QueryError>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let response = match parameters.and_then(Requested::parse) {
        Ok(requested) => receive(&app, &name, requested, &uri, &headers, body).await,
        Err(error) => Err(error),
    };
    // Otherwise the rest of the body would have to be read before the next request.
    response.unwrap_or_else(|error| ([(CONNECTION, "close")], error).into_response())
}

/// What the parameters of an upload say.
struct Requested {
    /// Whether all checks are requested: `validate=full`.
    is_validated: bool,
    /// How text is read.
    options: Vec<(String, String)>,
}

impl Requested {
    fn parse(parameters: Parameters) -> Result<Self, QueryError> {
        let (options, parameters) = parameters.text_options()?;
        let [value] = parameters.named(["validate"])?;
        let is_validated = match value.as_deref() {
            None => false,
            Some("full") => true,
            Some(value) => {
                return Err(bad(
                    format!("validate={value:?} is not known"),
                    "write validate=full, or leave it out",
                ));
            }
        };
        Ok(Self {
            is_validated,
            options,
        })
    }
}

async fn receive(
    app: &AppState,
    name: &str,
    requested: Requested,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, QueryError> {
    let mut upload = app.uploads.begin(name, body.size_hint().exact())?;
    if requested.is_validated {
        upload.validate();
    }
    upload.set_options(requested.options);
    let encoding = text(headers, CONTENT_ENCODING)
        .unwrap_or_default()
        .to_ascii_lowercase();
    // Compressed text is stored compressed; its first bytes name the codec.
    if !matches!(encoding.as_str(), "" | "identity" | "gzip" | "zstd") {
        return upload.settle(Err(QueryError::new(
            ErrorKind::UnsupportedMediaType,
            format!("the content encoding {encoding:?} is not supported"),
            "send the body uncompressed, or text as gzip or zstd",
        )));
    }
    let media_type = text(headers, CONTENT_TYPE).unwrap_or_default();
    receive_body(&mut upload, media_type, app, body).await?;

    let slot = app.uploads.check_slot().await;
    let shared = app.clone();
    let cancel = CancellationToken::new();
    // The handler is dropped when the client disconnects.
    let _cancel_when_dropped = cancel.clone().drop_guard();
    let committed = tokio::task::spawn_blocking(move || {
        let _slot = slot;
        shared
            .uploads
            .commit(upload, &shared.engine, describe, &cancel)
    });
    let (committed, description) = committed.await.map_err(|_| {
        QueryError::new(
            ErrorKind::BadUpload,
            format!("{name:?} cannot be read as a table"),
            "send a complete file in a supported format",
        )
    })??;
    let status = if committed.is_replaced {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    let headers = [
        (CONTENT_TYPE, "application/json"),
        (CACHE_CONTROL, "no-store"),
    ];
    let location = HeaderValue::from_str(uri.path()).ok();
    let location = location.map(|location| [(LOCATION, location)]);
    Ok((status, headers, location, description).into_response())
}

async fn receive_body(
    upload: &mut Upload,
    media_type: &str,
    app: &AppState,
    body: Body,
) -> Result<(), QueryError> {
    let mut file = upload.open(media_type)?;
    let mut pieces = body.into_data_stream();
    loop {
        match tokio::time::timeout(app.body_timeout, pieces.next()).await {
            Ok(None) => return upload.finish(file).await,
            Ok(Some(Ok(piece))) => upload.write(&mut file, &piece).await?,
            Ok(Some(Err(_))) => {
                return upload.settle(Err(QueryError::new(
                    ErrorKind::BadUpload,
                    "the body ended early",
                    "send it again, complete",
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
