//! Rows of a result as a response: an Arrow stream, or a file in the format that the client accepts.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};

use crate::backend::request::Request;
use crate::encode::Codec;
use crate::error::QueryError;
use crate::http::AppState;
use crate::http::arrow_body::ArrowBody;
use crate::http::extract::bad;
use crate::http::file_body::file_body;
use crate::http::headers::{
    ARROW_STREAM, X_RESULT_ORDER, accepted_codec, accepted_format, streaming_headers,
};
use crate::results::Reader;
use crate::results::export::{ExportOptions, ExportProgress, Format};
use crate::slots::Slot;

/// How a client wants rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowsForm {
    /// The format of the file; `None`: an Arrow stream.
    format: Option<Format>,
    /// The compression of the bodies of an Arrow stream.
    pub(super) codec: Option<Codec>,
    has_checksums: bool,
}

impl RowsForm {
    /// The form that the request's headers ask for.
    ///
    /// # Errors
    /// `bad_parameter`: a format has no checksums.
    pub(super) fn of(headers: &HeaderMap, has_checksums: bool) -> Result<Self, QueryError> {
        let format = accepted_format(headers);
        if let Some(format) = format
            && has_checksums
        {
            return Err(bad(
                format!("{} has no checksums", format.media_type()),
                format!("leave checksum out, or accept {ARROW_STREAM}"),
            ));
        }
        let codec = accepted_codec(headers).filter(|_| format.is_none());
        Ok(Self {
            format,
            codec,
            has_checksums,
        })
    }
}

/// Runs a request, or finds the result with its id, and answers with its rows.
///
/// # Errors
/// Any failure before the first byte.
pub(super) async fn respond(
    app: &AppState,
    request: Request,
    form: RowsForm,
) -> Result<Response, QueryError> {
    let slot = app.streams.take().await?;
    let reader = app.results.open(request, form.codec).await?;
    stream_rows(app, reader, form, slot).await
}

/// The rows of a reader as a response.
///
/// # Errors
/// The query failed before its first row, or the format cannot hold the rows.
pub(super) async fn stream_rows(
    app: &AppState,
    reader: Reader,
    form: RowsForm,
    slot: Slot,
) -> Result<Response, QueryError> {
    let record = Arc::clone(reader.record());
    let order = record.order().map_or("none", |order| order.name());
    let (media_type, body) = match form.format {
        Some(format) => {
            let progress = Arc::new(ExportProgress::new(format));
            let options = ExportOptions::new(format);
            let counted = Arc::clone(&record);
            let body = file_body(
                app,
                reader.into_stream(),
                &options,
                &progress,
                counted,
                slot,
            )
            .await?;
            (format.media_type().to_owned(), body)
        }
        None => {
            let media_type = match reader.codec() {
                Some(codec) => format!("{ARROW_STREAM}; codecs={}", codec.name()),
                None => ARROW_STREAM.to_owned(),
            };
            let slots = app.streams.clone();
            let has_checksums = form.has_checksums;
            let body = ArrowBody::open(
                reader,
                has_checksums,
                slot,
                slots,
                app.first_message_wait,
                app.stall_timeout,
            )
            .await?;
            (media_type, Body::from_stream(body.into_stream()))
        }
    };
    let headers = (
        streaming_headers(record.id),
        [(CONTENT_TYPE, media_type)],
        [(X_RESULT_ORDER, order)],
    );
    let mut response = (headers, body).into_response();
    let accept = HeaderValue::from_static("accept");
    response.headers_mut().insert(VARY, accept);
    Ok(response)
}
