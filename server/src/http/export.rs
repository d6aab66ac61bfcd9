//! `GET /v1/query/{id}/export`.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;

use crate::backend::request::{Request, Source};
use crate::error::QueryError;
use crate::http::AppState;
use crate::http::body::FLUSH_MS;
use crate::http::extract::{Id, Parameters, bad};
use crate::http::stream::{X_QUERY_ID, permit};
use crate::results::export::{ExportOptions, ExportProgress, export};
use crate::results::stream::ResultStream;

/// The status waits this long for the first rows, so that an early failure is one.
const HOLD_MS: u64 = 100;

/// The longest name of a file that is taken.
const MAX_NAME_CHARS: usize = 128;

/// The whole result as one file.
pub(super) async fn file(
    State(app): State<AppState>,
    Id(id): Id,
    Parameters(mut parameters): Parameters,
) -> Result<Response, QueryError> {
    let name = take_name(&mut parameters)?;
    let options = ExportOptions::parse(&parameters)?;
    let permit = permit(&app)?;
    let record = app.results.registry.get(id)?;
    let mut result = app.results.whole(&record).await?;
    hold(&mut result).await?;
    let progress = Arc::new(ExportProgress::new(options.format));
    let file = export(
        result,
        &options,
        app.results.num_threads(),
        Arc::clone(&progress),
    )?;
    record.set_export(progress);
    let name = name.unwrap_or_else(|| file_name(&record.request));
    let body = file.then(move |piece| {
        // The place among the streams is held as long as the file is read.
        let _permit = &permit;
        async move {
            match piece {
                Ok(bytes) => Ok(bytes),
                Err(error) => {
                    tokio::time::sleep(Duration::from_millis(FLUSH_MS)).await;
                    Err(io::Error::other(error))
                }
            }
        }
    });

    let mut response = Body::from_stream(body).into_response();
    let headers = response.headers_mut();
    let mut put = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    put(CONTENT_TYPE, options.format.media_type());
    put(
        CONTENT_DISPOSITION,
        &disposition(&name, options.format.name()),
    );
    put(CACHE_CONTROL, "no-store, no-transform");
    put(X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(HeaderName::from_static("x-accel-buffering"), "no");
    put(ACCEPT_RANGES, "none");
    put(X_QUERY_ID, &id.to_string());
    Ok(response)
}

/// Waits a short time for the first message.
async fn hold(result: &mut ResultStream) -> Result<(), QueryError> {
    let hold = Duration::from_millis(HOLD_MS);
    let Ok(first) = tokio::time::timeout(hold, result.messages.next()).await else {
        return Ok(());
    };
    let first = first.transpose()?;
    let rest = std::mem::replace(&mut result.messages, futures::stream::empty().boxed());
    result.messages = futures::stream::iter(first.map(Ok)).chain(rest).boxed();
    Ok(())
}

/// Takes `name=` out of the parameters.
fn take_name(parameters: &mut Vec<(String, String)>) -> Result<Option<String>, QueryError> {
    let Some(index) = parameters.iter().position(|(key, _)| key == "name") else {
        return Ok(None);
    };
    let (_, name) = parameters.remove(index);
    let is_name = (1..=MAX_NAME_CHARS).contains(&name.chars().count())
        && !name.contains(|c: char| c.is_control() || c == '/' || c == '\\');
    if is_name {
        return Ok(Some(name));
    }
    Err(bad(
        format!("name={name:?} is no name of a file"),
        "give 1 to 128 characters, none of them a control character, / or \\",
    ))
}

/// The table's name, or the beginning of the query's id.
fn file_name(request: &Request) -> String {
    match &request.source {
        Source::Table(query) => query.table.clone(),
        Source::Sql(_) | Source::Query(_) => format!("query-{}", &request.id.to_string()[..8]),
    }
}

/// RFC 6266: a plain name for all, and the exact one where it differs.
fn disposition(name: &str, extension: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let plain = name.replace(|c| !is_plain(c), "_");
    let mut value = format!("attachment; filename=\"{plain}.{extension}\"");
    if plain != name {
        value.push_str("; filename*=UTF-8''");
        for byte in name.bytes() {
            match byte {
                byte if is_plain(char::from(byte)) => value.push(char::from(byte)),
                byte => value.push_str(&format!("%{byte:02X}")),
            }
        }
        value.push('.');
        value.push_str(extension);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        assert_eq!(
            disposition("sales.2024", "csv"),
            "attachment; filename=\"sales.2024.csv\""
        );
        assert_eq!(
            disposition("a\"ü", "csv"),
            "attachment; filename=\"a__.csv\"; filename*=UTF-8''a%22%C3%BC.csv"
        );
    }
}
