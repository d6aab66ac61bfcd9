//! `GET /v1/query/{id}/export`.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::backend::request::{Request, Source};
use crate::error::QueryError;
use crate::http::AppState;
use crate::http::extract::{Id, Parameters, bad};
use crate::http::headers::streaming_headers;
use crate::http::pace::{body, send_file};
use crate::results::export::{ExportOptions, ExportProgress, export};
use crate::source::without_options;

/// The longest `name=`.
const MAX_NAME_CHARS: usize = 128;

/// How long an export waits for its first piece, which for Parquet is a whole row group, before it says 200.
const FIRST_PIECE_WAIT: Duration = Duration::from_secs(5);

/// All characters but those that every system accepts in a file name.
const NOT_PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-');

type Pieces = BoxStream<'static, Result<Bytes, QueryError>>;

/// The whole result as one file.
pub(super) async fn file(
    State(app): State<AppState>,
    Id(id): Id,
    parameters: Parameters,
) -> Result<Response, QueryError> {
    let names = [
        "format",
        "name",
        "compression",
        "delimiter",
        "decimal",
        "bom",
        "escape_formulas",
    ];
    let [format, name, compression, csv @ ..] = parameters.named(names)?;
    let csv: [Option<String>; 4] = csv;
    let name = name.map(checked_name).transpose()?;
    let options = ExportOptions::parse(
        format.as_deref(),
        compression.as_deref(),
        &std::array::from_fn::<_, 4, _>(|index| (names[3 + index], csv[index].as_deref())),
    )?;
    let slot = app.streams.take().await?;
    let record = app.results.registry.get(id)?;
    let result = app.results.whole(&record).await?;
    let progress = Arc::new(ExportProgress::new(options.format));
    let file = export(
        result,
        &options,
        app.results.num_threads(),
        Arc::clone(&progress),
    )?;
    record.set_export(progress);
    let file = begun(file).await?;
    let name = name.unwrap_or_else(|| file_name(&record.request));
    let pace = app.pace(slot);
    let body = body(|sender| send_file(file, pace, sender));
    let headers = [
        (CONTENT_TYPE, options.format.media_type().to_owned()),
        (
            CONTENT_DISPOSITION,
            disposition(&name, options.format.name()),
        ),
    ];
    Ok((streaming_headers(&record), headers, Body::from_stream(body)).into_response())
}

/// Waits for the first piece of the file, so that an early failure still decides the status.
async fn begun(mut file: Pieces) -> Result<Pieces, QueryError> {
    let Ok(first) = tokio::time::timeout(FIRST_PIECE_WAIT, file.next()).await else {
        return Ok(file);
    };
    Ok(match first.transpose()? {
        Some(first) => futures::stream::iter([Ok(first)]).chain(file).boxed(),
        None => futures::stream::empty().boxed(),
    })
}

/// The value of `name=`, if a file can have that name.
///
/// # Errors
/// `bad_parameter`.
fn checked_name(name: String) -> Result<String, QueryError> {
    let is_name = (1..=MAX_NAME_CHARS).contains(&name.chars().count())
        && !name.contains(|c: char| c.is_control() || c == '/' || c == '\\');
    if is_name {
        return Ok(name);
    }
    Err(bad(
        format!("name={name:?} is not a file name"),
        "give 1 to 128 characters, none of them a control character, / or \\",
    ))
}

/// The table's name, or the first part of the result's id.
fn file_name(request: &Request) -> String {
    match &request.source {
        Source::Table(query) => without_options(&query.table).to_owned(),
        Source::Sql(_) | Source::Query(_) => format!("query-{}", &request.id.to_string()[..8]),
    }
}

/// RFC 6266: a plain ASCII name, and the exact name where it differs.
fn disposition(name: &str, extension: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let plain = name.replace(|c| !is_plain(c), "_");
    let mut value = format!("attachment; filename=\"{plain}.{extension}\"");
    if plain != name {
        let exact = utf8_percent_encode(name, NOT_PLAIN);
        value.push_str(&format!("; filename*=UTF-8''{exact}.{extension}"));
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
