//! The tables of a remote engine, listed once and reused for a short time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use colonnade_core::wire::integrity::xxh3_64;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::reader::StreamReader;
use futures::StreamExt;
use tokio::sync::Mutex;

use crate::backend::received::bad_engine;
use crate::backend::{ReceivedSchema, TableDescription, TableList};
use crate::encode;
use crate::error::{ErrorKind, QueryError};

/// How long a listing is reused.
const FRESH: Duration = Duration::from_secs(10);

/// The longest that a listing may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The most tables that are listed. SQL reaches the others, too.
const MAX_TABLES: usize = 1000;

/// Schemas that are requested at the same time.
const NUM_PARALLEL: usize = 8;

/// A table of a remote engine.
#[derive(Debug, Clone)]
pub(super) struct ListedTable {
    /// The listed name, after that of its namespace where one is needed.
    pub(super) name: String,
    /// The name as SQL text.
    pub(super) relation: String,
    /// Its columns.
    pub(super) schema: SchemaRef,
    /// A hash of the schema, because the engines do not give a version for every kind of table.
    version: String,
}

/// A table whose columns are not known yet.
pub(super) struct Named<F> {
    /// As [`ListedTable::name`].
    pub(super) name: String,
    /// As [`ListedTable::relation`].
    pub(super) relation: String,
    /// The future of its columns.
    pub(super) schema: F,
}

/// The last listing.
#[derive(Debug)]
pub(super) struct Listing {
    /// The name of the tables' format.
    format: &'static str,
    last: Mutex<Option<(Instant, Listed)>>,
}

/// What an engine has listed.
#[derive(Debug, Clone)]
struct Listed {
    tables: Arc<Vec<ListedTable>>,
    /// Why the engine cannot list its tables.
    note: Option<String>,
}

impl Listing {
    /// An empty listing, of tables in `format`.
    pub(super) fn new(format: &'static str) -> Self {
        Self {
            format,
            last: Mutex::default(),
        }
    }

    /// The tables as the listing route describes them.
    ///
    /// # Errors
    /// As [`Listing::tables`], or `bad_engine` for a schema that cannot be described.
    pub(super) async fn descriptions<F>(&self, list: F) -> Result<TableList, QueryError>
    where
        F: Future<Output = Result<Vec<ListedTable>, QueryError>>,
    {
        let Listed { tables, note } = self.tables(list).await?;
        let tables = tables.iter().map(|table| {
            Ok(TableDescription {
                name: table.name.clone(),
                format: self.format,
                num_rows: None,
                num_bytes: None,
                version: table.version.clone(),
                is_uploaded: false,
                fields: encode::describe(&table.schema)
                    .map_err(|error| bad_engine(&error.to_string()))?,
                left_out: Vec::new(),
                error: None,
            })
        });
        Ok(TableList {
            tables: tables.collect::<Result<_, QueryError>>()?,
            note,
        })
    }

    /// The table of that name.
    ///
    /// # Errors
    /// As [`Listing::tables`], or `unknown_table`.
    pub(super) async fn table<F>(&self, name: &str, list: F) -> Result<ListedTable, QueryError>
    where
        F: Future<Output = Result<Vec<ListedTable>, QueryError>>,
    {
        let Listed { tables, .. } = self.tables(list).await?;
        let found = tables.iter().find(|table| table.name == name);
        found.cloned().ok_or_else(|| {
            let names = tables.iter().map(|table| table.name.as_str());
            QueryError::unknown_table(name, names)
        })
    }

    /// The tables: those of the last listing or, if it is too old, those that `list` returns.
    ///
    /// # Errors
    /// The engine's error, or `engine_unavailable` after [`TIMEOUT`].
    async fn tables<F>(&self, list: F) -> Result<Listed, QueryError>
    where
        F: Future<Output = Result<Vec<ListedTable>, QueryError>>,
    {
        // Other callers wait for the lock and share the answer.
        let mut last = self.last.lock().await;
        if let Some((at, listed)) = last.as_ref()
            && at.elapsed() < FRESH
        {
            return Ok(listed.clone());
        }
        let tables = tokio::time::timeout(TIMEOUT, list).await.map_err(|_| {
            QueryError::new(
                ErrorKind::EngineUnavailable,
                format!(
                    "the engine did not list its tables within {} s",
                    TIMEOUT.as_secs()
                ),
                "try again when the engine is less busy; SQL works meanwhile",
            )
        })?;
        let (tables, note) = match tables {
            Err(error) if is_refusal(error.kind) => {
                let note = "the engine cannot list its tables; SQL reaches them";
                (Vec::new(), Some(format!("{note} ({})", error.message)))
            }
            tables => (tables?, None),
        };
        let listed = Listed {
            tables: Arc::new(tables),
            note,
        };
        *last = Some((Instant::now(), listed.clone()));
        Ok(listed)
    }
}

/// Whether an engine refuses a request or a statement, because it does not know it.
fn is_refusal(kind: ErrorKind) -> bool {
    use ErrorKind::{ExecutionError, NotSupported, SqlError};
    matches!(kind, NotSupported | SqlError | ExecutionError)
}

/// The tables sorted by name, each name once. A table is left out if `engine` does not return its columns.
pub(super) async fn described<F>(engine: &str, mut named: Vec<Named<F>>) -> Vec<ListedTable>
where
    F: Future<Output = Result<ReceivedSchema, QueryError>>,
{
    named.sort_by(|a, b| (&a.name, &a.relation).cmp(&(&b.name, &b.relation)));
    named.dedup_by(|a, b| a.name == b.name);
    if named.len() > MAX_TABLES {
        tracing::warn!(
            "{engine} has {} tables; the first {MAX_TABLES} are listed",
            named.len()
        );
        named.truncate(MAX_TABLES);
    }
    let described = futures::stream::iter(named).map(|table| async move {
        match table.schema.await {
            Ok(known) => Some(ListedTable {
                version: format!("{:016x}", xxh3_64(&known.message.metadata)),
                schema: known.schema,
                name: table.name,
                relation: table.relation,
            }),
            Err(error) => {
                tracing::warn!("table {:?} of {engine} is left out: {error}", table.name);
                None
            }
        }
    });
    described
        .buffered(NUM_PARALLEL)
        .filter_map(|table| async { table })
        .collect()
        .await
}

/// The batches of a complete Arrow IPC stream, whose messages were checked.
///
/// # Errors
/// `bad_engine`.
pub(super) fn decode(stream: &[u8]) -> Result<Vec<RecordBatch>, QueryError> {
    StreamReader::try_new(stream, None)
        .and_then(Iterator::collect)
        .map_err(|error| bad_engine(&error.to_string()))
}
