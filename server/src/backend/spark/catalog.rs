//! The tables and views that Spark knows.

use std::sync::Arc;

use colonnade_core::wire::integrity::xxh3_64;
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::reader::StreamReader;
use futures::StreamExt;

use super::execution::Execution;
use super::messages::{order_of, schema_of};
use super::proto::Plan;
use super::session::Session;
use super::sql::{quoted, without_rows};
use crate::backend::listing::{MAX_TABLES, NUM_PARALLEL};
use crate::backend::received::bad_engine;
use crate::backend::{EngineProgress, ReceivedSchema, TableDescription, split_stream};
use crate::encode;
use crate::error::QueryError;
use crate::order::Order;

/// The bytes of a listing, which must fit into memory.
const MAX_LISTING_BYTES: usize = 16 << 20;

/// A table of Spark.
#[derive(Debug, Clone)]
pub(super) struct SparkTable {
    /// As it is listed: the current namespace's by their own names, others behind their namespace's.
    pub(super) name: String,
    /// As SQL writes it.
    pub(super) relation: String,
    /// Its columns.
    pub(super) schema: SchemaRef,
    /// Changes with the schema; Spark has no version for all kinds of tables.
    version: String,
}

impl SparkTable {
    /// The table as it is listed for everybody.
    ///
    /// # Errors
    /// Its schema is none that could be sent.
    pub(super) fn facts(&self) -> Result<TableDescription, QueryError> {
        Ok(TableDescription {
            name: self.name.clone(),
            format: "spark",
            num_rows: None,
            num_bytes: None,
            version: self.version.clone(),
            is_uploaded: false,
            fields: encode::describe(&self.schema)
                .map_err(|error| bad_engine(&error.to_string()))?,
        })
    }
}

/// The tables and their columns.
///
/// # Errors
/// What the engine says.
pub(super) async fn list(session: &Arc<Session>) -> Result<Vec<SparkTable>, QueryError> {
    let current = texts(session, Plan::command("show current namespace"), 1).await?;
    let mut names = Vec::new();
    for namespace in texts(session, Plan::command("show namespaces"), 0).await? {
        let is_current = current.contains(&namespace);
        let sql = format!("show tables in {}", quoted_path(&namespace));
        for table in texts(session, Plan::command(&sql), 1).await? {
            let relation = format!("{}.{}", quoted_path(&namespace), quoted(&table));
            let name = match is_current {
                true => table,
                false => format!("{namespace}.{table}"),
            };
            names.push((name, relation));
        }
    }
    names.sort_unstable();
    names.dedup_by(|a, b| a.0 == b.0);
    if names.len() > MAX_TABLES {
        tracing::warn!(
            "Spark has {} tables; the first {MAX_TABLES} are listed",
            names.len()
        );
        names.truncate(MAX_TABLES);
    }
    let described = futures::stream::iter(names)
        .map(|(name, relation)| async move {
            match schema(session, &format!("select * from {relation}")).await {
                Ok((received, _)) => Some(SparkTable {
                    version: format!("{:016x}", xxh3_64(&received.message.metadata)),
                    schema: received.schema,
                    name,
                    relation,
                }),
                Err(error) => {
                    tracing::warn!("table {name:?} of Spark is left out: {error}");
                    None
                }
            }
        })
        .buffered(NUM_PARALLEL)
        .collect::<Vec<_>>()
        .await;
    Ok(described.into_iter().flatten().collect())
}

/// A namespace with each of its names in quotes; `SHOW NAMESPACES` quotes those that need it itself.
fn quoted_path(namespace: &str) -> String {
    if namespace.contains('`') {
        return namespace.to_owned();
    }
    let names: Vec<String> = namespace.split('.').map(quoted).collect();
    names.join(".")
}

/// The schema of a query's result, and what the order of its rows means.
///
/// # Errors
/// Whatever Spark says of the query.
pub(super) async fn schema(
    session: &Arc<Session>,
    query: &str,
) -> Result<(ReceivedSchema, Order), QueryError> {
    let sql = without_rows(query);
    let plan = Plan::query(&sql);
    let mut execution = Execution::start(session, plan, Arc::default()).await?;
    let batch = execution.next().await?;
    let batch = batch.ok_or_else(|| bad_engine("a result without a batch"))?;
    // To its end, or it would be taken for one that is to be stopped.
    while execution.next().await?.is_some() {}
    Ok((schema_of(&batch)?, order_of(&batch)))
}

/// The texts of one column of a small result.
async fn texts(
    session: &Arc<Session>,
    plan: Plan,
    column: usize,
) -> Result<Vec<String>, QueryError> {
    let progress = Arc::<EngineProgress>::default();
    let mut execution = Execution::start(session, plan, progress).await?;
    let mut texts = Vec::new();
    let mut num_bytes = 0;
    while let Some(batch) = execution.next().await? {
        num_bytes += batch.data.len();
        if num_bytes > MAX_LISTING_BYTES {
            return Err(bad_engine("it lists more names than fit into 16 MiB"));
        }
        for batch in decode(&batch.data)? {
            let names = batch
                .columns()
                .get(column)
                .and_then(|names| names.as_string_opt::<i32>());
            let names = names.ok_or_else(|| bad_engine("a listing has no column of names"))?;
            texts.extend(names.iter().flatten().map(str::to_owned));
        }
    }
    Ok(texts)
}

fn decode(stream: &[u8]) -> Result<Vec<RecordBatch>, QueryError> {
    let mut messages = split_stream(stream)?.into_iter();
    let Some((metadata, _)) = messages.next() else {
        return Ok(Vec::new());
    };
    let mut received = crate::backend::Received::new(ReceivedSchema::read(metadata)?);
    for (metadata, body) in messages {
        received.take(metadata, body)?;
    }
    StreamReader::try_new(stream, None)
        .and_then(Iterator::collect)
        .map_err(|error| bad_engine(&error.to_string()))
}
