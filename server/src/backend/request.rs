//! A request for rows, from the URL or from JSON.

use std::collections::HashSet;
use std::time::Duration;

use colonnade_core::semantics::exact_json;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::backend::predicate_expr::refused;
use crate::error::{ErrorKind, QueryError};
use crate::order::RowRange;

/// The smallest and the largest target for one message.
const BATCH_BYTES: std::ops::RangeInclusive<u64> = 16 << 10..=16 << 20;

/// The default target for one message. Measured: from 256 KiB to 1 MiB the first rows come early and the
/// framing costs nothing.
pub(crate) const DEFAULT_BATCH_BYTES: usize = 512 << 10;

/// The longest time that a result may wait for its next reader.
const MAX_LINGER_S: u64 = 600;

/// Where the rows come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// A SELECT.
    Sql(String),
    /// A table, optionally filtered, projected and sorted.
    Table(TableQuery),
    /// The rows of a known result, with the same options; the table's name is the result's id.
    Query(TableQuery),
}

impl Source {
    /// The names of its tables, and of a statement also other words.
    pub fn names(&self) -> HashSet<String> {
        match self {
            Self::Sql(sql) => words(sql),
            Self::Table(query) | Self::Query(query) => HashSet::from([query.table.clone()]),
        }
    }

    /// Whether its rows are those of a table, all of them and in their order.
    pub fn is_whole_table(&self) -> bool {
        match self {
            Self::Table(query) => query.filter.is_none() && query.sort.is_empty(),
            Self::Sql(_) | Self::Query(_) => false,
        }
    }

    /// Whether its rows are sorted.
    pub fn has_sort(&self) -> bool {
        match self {
            Self::Sql(_) => false,
            Self::Table(query) | Self::Query(query) => !query.sort.is_empty(),
        }
    }

    /// Whether it contains SQL of the client: a statement, or the text of a filter.
    pub fn has_sql(&self) -> bool {
        match self {
            Self::Sql(_) => true,
            Self::Table(query) | Self::Query(query) => {
                matches!(query.filter, Some(Filter::Text(_)))
            }
        }
    }
}

/// The words of a statement, as they are written or between their quotes. None if it is no SQL.
fn words(sql: &str) -> HashSet<String> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize();
    let words = tokens
        .into_iter()
        .flatten()
        .filter_map(|token| match token {
            Token::Word(word) => Some(word.value),
            _ => None,
        });
    words.collect()
}

/// Rows and columns of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableQuery {
    /// The table's name.
    pub table: String,
    /// The columns, in this order; `None` means all.
    pub columns: Option<Vec<String>>,
    /// The filter for the rows.
    pub filter: Option<Filter>,
    /// Sort keys; empty means the order of the source.
    pub sort: Vec<SortKey>,
}

impl TableQuery {
    /// A column of the table with this `schema`.
    ///
    /// # Errors
    /// `unknown_column`.
    pub fn field<'a>(&self, name: &str, schema: &'a Schema) -> Result<&'a Field, QueryError> {
        schema.field_with_name(name).map_err(|_| {
            let has = format!("table {:?} has", self.table);
            QueryError::unknown_column(&has, name, schema.fields())
        })
    }

    /// The names of the requested columns, or of all.
    ///
    /// # Errors
    /// `unknown_column`, or `bad_parameter` for a column that is named twice.
    pub fn column_names<'a>(&'a self, schema: &'a Schema) -> Result<Vec<&'a str>, QueryError> {
        let names: Vec<&str> = match &self.columns {
            Some(columns) => columns.iter().map(String::as_str).collect(),
            None => schema.fields().iter().map(|f| f.name().as_str()).collect(),
        };
        let mut seen = HashSet::new();
        for name in &names {
            self.field(name, schema)?;
            if !seen.insert(name) {
                return Err(QueryError::new(
                    ErrorKind::BadParameter,
                    format!("column {name:?} is named twice"),
                    "name each column once",
                ));
            }
        }
        Ok(names)
    }
}

/// A filter for rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Filter {
    /// One SQL expression.
    Text(String),
    /// A predicate as JSON, parsed during planning.
    Json(serde_json::Value),
}

impl Filter {
    /// The predicate in a JSON text.
    ///
    /// # Errors
    /// `bad_filter`: a number has digits that JSON loses.
    pub fn of_json(text: &str) -> Result<Self, QueryError> {
        exact_json(text).map(Self::Json).map_err(refused)
    }
}

/// One column to sort by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SortKey {
    /// Its name.
    pub column: String,
    /// Whether the largest value is first; nulls are last in both directions.
    pub descending: bool,
}

/// One query.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the client, or else by the server.
    pub id: Uuid,
    /// Where the rows come from.
    pub source: Source,
    /// The requested range of the rows.
    pub range: RowRange,
    /// Target size of one message.
    pub batch_bytes: usize,
    /// How long the result waits for its next reader.
    pub linger: Duration,
}

impl Request {
    /// The id of the result whose rows it reads, if it reads one.
    ///
    /// # Errors
    /// `bad_parameter`.
    pub fn base(&self) -> Result<Option<Uuid>, QueryError> {
        match &self.source {
            Source::Query(query) => parse_id(&query.table).map(Some),
            Source::Sql(_) | Source::Table(_) => Ok(None),
        }
    }

    /// Whether all rows of `other` are rows of this request.
    pub fn has_rows_of(&self, other: &Self) -> bool {
        let ends_within = match (self.range.end(), other.range.end()) {
            (None, _) => true,
            (Some(end), Some(wanted)) => wanted <= end,
            (Some(_), None) => false,
        };
        self.source == other.source && ends_within
    }
}

/// The parameters that every query takes, as numbers and text.
#[derive(Debug, Clone, Default)]
pub struct CommonParameters {
    /// `id=`.
    pub id: Option<String>,
    /// `offset=`.
    pub offset: Option<u64>,
    /// `limit=`.
    pub limit: Option<u64>,
    /// `batch_bytes=`.
    pub batch_bytes: Option<u64>,
    /// `linger_s=`.
    pub linger_s: Option<u64>,
}

impl CommonParameters {
    /// A query of `source` with these parameters.
    ///
    /// # Errors
    /// `bad_parameter`.
    pub fn request(self, source: Source) -> Result<Request, QueryError> {
        let id = match self.id {
            Some(text) => parse_id(&text)?,
            None => Uuid::new_v4(),
        };
        let batch_bytes = self.batch_bytes.map(batch_bytes).transpose()?;
        Ok(Request {
            id,
            source,
            range: RowRange {
                first_row: self.offset.unwrap_or(0),
                limit: self.limit,
            },
            batch_bytes: batch_bytes.unwrap_or(DEFAULT_BATCH_BYTES),
            linger: linger(self.linger_s.unwrap_or(0))?,
        })
    }
}

fn batch_bytes(bytes: u64) -> Result<usize, QueryError> {
    if !BATCH_BYTES.contains(&bytes) {
        let (least, most) = (BATCH_BYTES.start(), BATCH_BYTES.end());
        return Err(QueryError::new(
            ErrorKind::BadParameter,
            format!("batch_bytes={bytes} is out of range"),
            format!("give {least} to {most} bytes"),
        ));
    }
    Ok(bytes as usize)
}

/// `linger_s=` as a duration.
///
/// # Errors
/// `bad_parameter`.
pub fn linger(linger_s: u64) -> Result<Duration, QueryError> {
    if linger_s > MAX_LINGER_S {
        return Err(QueryError::new(
            ErrorKind::BadParameter,
            format!("linger_s={linger_s} is too long"),
            format!("give 0 to {MAX_LINGER_S} seconds"),
        ));
    }
    Ok(Duration::from_secs(linger_s))
}

/// Parses an id: a UUID in its usual form of 36 characters.
///
/// # Errors
/// `bad_parameter`.
pub fn parse_id(text: &str) -> Result<Uuid, QueryError> {
    let parsed = (text.len() == 36)
        .then(|| Uuid::try_parse(text).ok())
        .flatten();
    parsed.ok_or_else(|| {
        let shown: String = text.chars().take(60).collect();
        QueryError::new(
            ErrorKind::BadParameter,
            format!("{shown:?} is not a query id"),
            "give a UUID such as 6f1c8f2e-3a5b-4c1d-9e2f-0a1b2c3d4e5f",
        )
    })
}
