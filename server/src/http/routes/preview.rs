//! `POST /v1/preview`: the first rows of a text file, before it is uploaded.

use axum::body::Bytes;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse, Response};
use colonnade_text::TextOptions;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::writer::StreamWriter;

use crate::error::{ErrorKind, QueryError};
use crate::http::extract::{Parameters, bad};
use crate::http::headers::ARROW_STREAM;
use crate::source::Preview;

/// How the text is read, as a query string.
const TEXT_OPTIONS: HeaderName = HeaderName::from_static("x-text-options");

/// The first rows of the text in the body, as an Arrow stream.
pub(super) async fn preview(parameters: Parameters, start: Bytes) -> Result<Response, QueryError> {
    let (pairs, parameters) = parameters.text_options()?;
    let [name, whole] = parameters.named(["name", "whole"])?;
    let is_whole = match whole.as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(bad("whole is neither true nor false", "write whole=true")),
    };
    let mut options = TextOptions::default();
    for (key, value) in &pairs {
        options.set(key, value).map_err(|error| bad(error, ""))?;
    }
    let name = name.unwrap_or_else(|| "preview.csv".to_owned());
    let read = move || Preview::read(&name, &start, is_whole, &options);
    let read = tokio::task::spawn_blocking(read).await;
    let read = read.map_err(|_| unreadable("the text is damaged".to_owned()))?;
    let preview = read.map_err(unreadable)?;
    let body = stream(&preview.rows).map_err(|error| unreadable(error.to_string()))?;
    let mut options = url::form_urlencoded::Serializer::new(String::new());
    options.extend_pairs(preview.options);
    let headers = [
        (CONTENT_TYPE, ARROW_STREAM.to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
        (TEXT_OPTIONS, options.finish()),
    ];
    Ok((headers, body).into_response())
}

fn stream(rows: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), rows.schema_ref())?;
    writer.write(rows)?;
    writer.into_inner()
}

fn unreadable(reason: String) -> QueryError {
    QueryError::new(
        ErrorKind::BadUpload,
        reason,
        "say how the text is written, such as delimiter=; or encoding=latin-1",
    )
}
