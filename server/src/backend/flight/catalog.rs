//! The tables that a Flight SQL server lists.

use std::sync::Arc;

use arrow_flight::sql::{CommandGetTables, CommandStatementQuery, ProstMessageExt};
use bytes::BytesMut;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use futures::TryStreamExt;

use super::caller::Caller;
use super::endpoint::Query;
use super::sql::quoted;
use crate::backend::ReceivedSchema;
use crate::backend::received::bad_engine;
use crate::backend::table_listing::{ListedTable, Named, decode, described};
use crate::error::QueryError;
use crate::message::{END_OF_STREAM, MessageKind};

/// The most bytes of a listing, which must fit into memory.
const MAX_LISTING_BYTES: usize = 64 << 20;

/// The tables and their columns. A table's name has its schema's name in front if there is one.
///
/// # Errors
/// The engine's error.
pub(super) async fn list(caller: &Arc<Caller>) -> Result<Vec<ListedTable>, QueryError> {
    let command = CommandGetTables {
        include_schema: true,
        ..CommandGetTables::default()
    };
    let query = Query::begin(caller, &command.as_any()).await?;
    let mut named = Vec::new();
    for batch in read(query).await? {
        let texts = |name: &str| {
            let texts = batch.column_by_name(name)?.as_string_opt::<i32>()?;
            Some(
                texts
                    .iter()
                    .map(|text| text.unwrap_or_default().to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        let tables = texts("table_name")
            .ok_or_else(|| bad_engine("the list of tables has no column table_name"))?;
        let namespaces =
            texts("db_schema_name").unwrap_or_else(|| vec![String::new(); tables.len()]);
        let schemas = batch
            .column_by_name("table_schema")
            .and_then(|column| column.as_binary_opt::<i32>());
        for (row, (namespace, table)) in namespaces.into_iter().zip(tables).enumerate() {
            let schema = schemas
                .filter(|schemas| schemas.is_valid(row))
                .map(|schemas| schemas.value(row));
            let (name, relation) = match namespace.as_str() {
                "" => (table.clone(), quoted(&table)),
                _ => (
                    format!("{namespace}.{table}"),
                    format!("{}.{}", quoted(&namespace), quoted(&table)),
                ),
            };
            // The engine may include the schema in the listing.
            let said = schema
                .and_then(|bytes| ReceivedSchema::of_stream(bytes, "a table has no schema").ok());
            let query = format!("select * from {relation} where 1 = 0");
            named.push(Named {
                name,
                relation,
                schema: async move {
                    match said {
                        Some(schema) => Ok(schema),
                        None => schema_of(caller, query).await,
                    }
                },
            });
        }
    }
    Ok(described("the engine", named).await)
}

/// The schema of a query's result.
async fn schema_of(caller: &Arc<Caller>, query: String) -> Result<ReceivedSchema, QueryError> {
    let command = CommandStatementQuery {
        query,
        transaction_id: None,
    };
    let query = Query::begin(caller, &command.as_any()).await?;
    Ok(query.partitions().await?.0)
}

/// All rows of a small result.
async fn read(query: Arc<Query>) -> Result<Vec<RecordBatch>, QueryError> {
    let (schema, partitions) = query.partitions().await?;
    let mut stream = BytesMut::from(schema.message.frame().as_ref());
    for partition in partitions {
        let mut messages = partition(Default::default());
        while let Some(message) = messages.try_next().await? {
            if message.kind != MessageKind::Schema {
                stream.extend_from_slice(&message.frame());
            }
            if stream.len() > MAX_LISTING_BYTES {
                return Err(bad_engine("the list of tables is larger than 64 MiB"));
            }
        }
    }
    stream.extend_from_slice(&END_OF_STREAM);
    decode(&stream)
}
