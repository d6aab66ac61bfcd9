//! Finds the next rows that contain a text.

use std::sync::Arc;
use std::time::Duration;

use colonnade_core::semantics::{Pattern, check_find, may_hold};
use colonnade_core::table::Table;
use colonnade_core::text::{CellKind, CellText, Extension};
use colonnade_core::wire::DecodeError;
use datafusion::arrow::datatypes::Schema;
use futures::StreamExt;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use crate::encode::IanaTimeZones;
use crate::encode::cells::{CellReader, unreadable};
use crate::error::{ErrorKind, QueryError};
use crate::results::stream::ResultStream;

/// A search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindRequest {
    /// The text that a cell must contain.
    pub text: String,
    /// The first row to search.
    pub from: u64,
    /// The most rows to find.
    pub limit: usize,
    /// Columns to search; `None` means all.
    pub columns: Option<Vec<String>>,
    /// Whether letter case matters.
    pub match_case: bool,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The rows, in row order.
    pub matches: Vec<Match>,
    /// The row to continue from; null when all rows were searched.
    pub next: Option<u64>,
    /// Rows that were searched.
    pub searched: u64,
}

/// A row that contains the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    /// Its number in the result.
    pub row: u64,
    /// The columns whose cells contain the text.
    pub columns: Vec<String>,
}

/// Searches the rows of `result` from `request.from` on, until enough are found or `time` is over. `result`
/// may begin at any row up to `request.from`. Even with no time left, at least one ready message is searched,
/// so that repeated searches from `next` make progress.
///
/// # Errors
/// `bad_parameter`, `unknown_column`, or an error of the result.
pub async fn find(
    mut result: ResultStream,
    schema: &Schema,
    request: &FindRequest,
    time: Duration,
) -> Result<Found, QueryError> {
    let deadline = Instant::now() + time;
    let search = Arc::new(Search::try_new(schema, request)?);
    let mut reader = CellReader::try_new(&result.schema)?;
    let mut message_row = result.first_row;
    let mut found = Found {
        matches: Vec::new(),
        next: Some(request.from),
        searched: 0,
    };
    loop {
        let message = match timeout_at(deadline, result.messages.next()).await {
            Ok(Some(message)) => message?,
            Ok(None) => {
                found.next = None;
                return Ok(found);
            }
            Err(_) => return Ok(found),
        };
        let first_row = message_row;
        message_row += message.num_rows;
        // Read even if its rows are not wanted, because it may be a dictionary.
        let rows = reader.read(&message)?;
        let Some(rows) = rows.filter(|_| message_row > request.from) else {
            continue;
        };
        let skipped = request.from.saturating_sub(first_row);
        let wanted = request.limit - found.matches.len();
        let search = Arc::clone(&search);
        let searched = tokio::task::spawn_blocking(move || search.search(&rows, skipped, wanted));
        let stopped =
            |_| QueryError::new(ErrorKind::Internal, "the search stopped", "search again");
        let (matches, end) = searched.await.map_err(stopped)?.map_err(unreadable)?;
        let matches = matches.into_iter().map(|(row, columns)| Match {
            row: first_row + row,
            columns,
        });
        found.matches.extend(matches);
        found.searched += end - skipped;
        found.next = Some(first_row + end);
        if found.matches.len() >= request.limit || Instant::now() >= deadline {
            return Ok(found);
        }
    }
}

/// Rows of a message, each with the names of the columns in which the text was found.
type Rows = Vec<(u64, Vec<String>)>;

/// The text and the columns of a search.
struct Search {
    text: String,
    pattern: Pattern,
    /// Indexes and names.
    columns: Vec<(usize, String)>,
}

impl Search {
    fn try_new(schema: &Schema, request: &FindRequest) -> Result<Self, QueryError> {
        check_find(&request.text, request.limit).map_err(|refusal| {
            QueryError::new(ErrorKind::BadParameter, refusal.message, refusal.hint)
        })?;
        let fields = schema.fields().iter().enumerate();
        let columns = match &request.columns {
            None => fields.collect(),
            Some(names) => {
                let mut columns = Vec::new();
                for name in names {
                    let named = fields.clone().filter(|(_, field)| field.name() == name);
                    let before = columns.len();
                    columns.extend(named);
                    if columns.len() == before {
                        let fields = schema.fields();
                        return Err(QueryError::unknown_column("the result has", name, fields));
                    }
                }
                columns.sort_by_key(|(index, _)| *index);
                columns.dedup_by_key(|(index, _)| *index);
                columns
            }
        };
        Ok(Self {
            text: request.text.clone(),
            pattern: Pattern::new(&request.text, request.match_case),
            columns: columns
                .into_iter()
                .map(|(index, field)| (index, field.name().clone()))
                .collect(),
        })
    }

    /// Searches rows `[start, …)` of one message for at most `limit` rows; returns them, and the row
    /// after the last one that was searched.
    fn search(&self, rows: &Table, start: u64, limit: usize) -> Result<(Rows, u64), DecodeError> {
        let mut matches = Rows::new();
        let (mut text, mut letters) = (String::new(), Vec::new());
        let fields = &rows.schema().fields;
        let columns: Vec<_> = self
            .columns
            .iter()
            .filter(|(index, _)| {
                let field = &fields[*index].field;
                Extension::of(field).is_some() || may_hold(field.data_type(), &self.text)
            })
            .collect();
        if columns.is_empty() {
            return Ok((matches, rows.num_rows()));
        }
        for row in start..rows.num_rows() {
            let Some((chunk, index)) = rows.locate(row) else {
                break;
            };
            let mut found = Vec::new();
            for (column, name) in &columns {
                text.clear();
                let mut out = CellText::new(&mut text, 0);
                let kind = rows.write_cell(*column, chunk, index, &IanaTimeZones, &mut out)?;
                if kind != CellKind::Null && self.pattern.is_in(&text, &mut letters) {
                    found.push(name.clone());
                }
            }
            if !found.is_empty() {
                matches.push((row, found));
                if matches.len() == limit {
                    return Ok((matches, row + 1));
                }
            }
        }
        Ok((matches, rows.num_rows()))
    }
}
