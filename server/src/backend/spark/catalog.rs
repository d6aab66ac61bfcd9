//! The tables and views of Spark's current catalog.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};

use super::execution::Execution;
use super::messages::{order_of, schema_of};
use super::proto::Plan;
use super::session::Session;
use super::sql::{quoted, without_rows};
use crate::backend::received::bad_engine;
use crate::backend::table_listing::{ListedTable, Named, decode, described};
use crate::backend::{EngineProgress, Received, ReceivedSchema, split_stream};
use crate::error::QueryError;
use crate::order::Order;

/// The most bytes of a listing, which must fit into memory.
const MAX_LISTING_BYTES: usize = 16 << 20;

/// The tables and their columns. Tables of the current namespace have their own names, others have their
/// namespace's name in front.
///
/// # Errors
/// Spark's error.
pub(super) async fn list(session: &Arc<Session>) -> Result<Vec<ListedTable>, QueryError> {
    let current = texts(session, Plan::command("show current namespace"), 1).await?;
    let mut named = Vec::new();
    for namespace in texts(session, Plan::command("show namespaces"), 0).await? {
        let is_current = current.contains(&namespace);
        let sql = format!("show tables in {}", quoted_path(&namespace));
        for table in texts(session, Plan::command(&sql), 1).await? {
            let relation = format!("{}.{}", quoted_path(&namespace), quoted(&table));
            let name = match is_current {
                true => table,
                false => format!("{namespace}.{table}"),
            };
            let query = format!("select * from {relation}");
            named.push(Named {
                name,
                relation,
                schema: async move { Ok(schema(session, &query).await?.0) },
            });
        }
    }
    Ok(described("Spark", named).await)
}

/// A namespace with each of its names quoted. `SHOW NAMESPACES` already quotes names that need it.
fn quoted_path(namespace: &str) -> String {
    if namespace.contains('`') {
        return namespace.to_owned();
    }
    let names: Vec<String> = namespace.split('.').map(quoted).collect();
    names.join(".")
}

/// The schema of a query's result, and the order of its rows.
///
/// # Errors
/// Spark's error.
pub(super) async fn schema(
    session: &Arc<Session>,
    query: &str,
) -> Result<(ReceivedSchema, Order), QueryError> {
    let sql = without_rows(query);
    let plan = Plan::query(&sql);
    let mut execution = Execution::start(session, plan, Arc::default()).await?;
    let batch = execution.next().await?;
    let batch = batch.ok_or_else(|| bad_engine("a result has no batch"))?;
    // Read to the end, because an unfinished execution is interrupted when it is dropped.
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
            return Err(bad_engine("a list of names is larger than 16 MiB"));
        }
        for batch in batches(&batch.data)? {
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

/// The batches of a stream, whose messages are checked.
fn batches(stream: &[u8]) -> Result<Vec<RecordBatch>, QueryError> {
    let mut messages = split_stream(stream)?.into_iter();
    let Some((metadata, _)) = messages.next() else {
        return Ok(Vec::new());
    };
    let mut received = Received::new(ReceivedSchema::read(metadata)?);
    for (metadata, body) in messages {
        received.take(metadata, body)?;
    }
    decode(stream)
}
