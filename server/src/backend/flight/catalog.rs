//! The tables that an engine lists.

use std::sync::Arc;

use arrow_flight::sql::{CommandGetTables, CommandStatementQuery, ProstMessageExt};
use bytes::BytesMut;
use colonnade_core::wire::integrity::xxh3_64;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::reader::StreamReader;
use futures::{StreamExt, TryStreamExt};

use super::caller::Caller;
use super::endpoint::Query;
use super::sql::quoted;
use crate::backend::listing::{MAX_TABLES, NUM_PARALLEL};
use crate::backend::received::bad_engine;
use crate::backend::{ReceivedSchema, TableDescription, split_stream};
use crate::encode;
use crate::error::{ErrorKind, QueryError};
use crate::message::{END_OF_STREAM, MessageKind};

/// The bytes of a listing, which must fit into memory.
const MAX_LISTING_BYTES: usize = 64 << 20;

/// A table of the engine.
#[derive(Debug, Clone)]
pub(super) struct FlightTable {
    /// As it is listed: behind its schema's name, where it has one.
    pub(super) name: String,
    /// As SQL writes it.
    pub(super) relation: String,
    /// Its columns.
    pub(super) schema: SchemaRef,
    /// Changes with the columns; Flight SQL knows no version.
    version: String,
}

impl FlightTable {
    /// The table as it is listed for everybody.
    ///
    /// # Errors
    /// Its schema is none that could be sent.
    pub(super) fn facts(&self) -> Result<TableDescription, QueryError> {
        Ok(TableDescription {
            name: self.name.clone(),
            format: "flight",
            num_rows: None,
            num_bytes: None,
            version: self.version.clone(),
            is_uploaded: false,
            fields: encode::describe(&self.schema)
                .map_err(|error| bad_engine(&error.to_string()))?,
        })
    }
}

/// A line of the listing.
struct Listed {
    name: String,
    relation: String,
    /// The columns, where the engine says them in the listing.
    schema: Option<ReceivedSchema>,
}

/// The tables and their columns.
///
/// # Errors
/// What the engine says.
pub(super) async fn list(caller: &Arc<Caller>) -> Result<Vec<FlightTable>, QueryError> {
    let command = CommandGetTables {
        include_schema: true,
        ..CommandGetTables::default()
    };
    let query = match Query::begin(caller, &command.as_any()).await {
        Err(error) if error.kind == ErrorKind::NotSupported => {
            tracing::info!("the engine lists no tables ({error}); SQL reaches them");
            return Ok(Vec::new());
        }
        query => query?,
    };
    let mut listed = Vec::new();
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
            .ok_or_else(|| bad_engine("its list of tables has no column table_name"))?;
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
            listed.push(Listed {
                name,
                relation,
                schema: schema.and_then(|bytes| first_schema(bytes).ok()),
            });
        }
    }
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    listed.dedup_by(|a, b| a.name == b.name);
    if listed.len() > MAX_TABLES {
        tracing::warn!(
            "the engine has {} tables; the first {MAX_TABLES} are listed",
            listed.len()
        );
        listed.truncate(MAX_TABLES);
    }
    let described = futures::stream::iter(listed)
        .map(|listed| async move {
            let name = listed.name.clone();
            describe(caller, listed)
                .await
                .inspect_err(|error| {
                    tracing::warn!("table {name:?} of the engine is left out: {error}");
                })
                .ok()
        })
        .buffered(NUM_PARALLEL);
    Ok(described
        .filter_map(|table| async { table })
        .collect()
        .await)
}

async fn describe(caller: &Arc<Caller>, listed: Listed) -> Result<FlightTable, QueryError> {
    let schema = match listed.schema {
        Some(schema) => schema,
        None => {
            let command = CommandStatementQuery {
                query: format!("select * from {} where 1 = 0", listed.relation),
                transaction_id: None,
            };
            Query::begin(caller, &command.as_any())
                .await?
                .partitions()
                .await?
                .0
        }
    };
    Ok(FlightTable {
        version: format!("{:016x}", xxh3_64(&schema.message.metadata)),
        name: listed.name,
        relation: listed.relation,
        schema: schema.schema,
    })
}

/// The schema in a message with its prefix, as Flight sends it outside of streams.
fn first_schema(bytes: &[u8]) -> Result<ReceivedSchema, QueryError> {
    let messages = split_stream(bytes)?;
    let (metadata, _) = messages
        .first()
        .ok_or_else(|| bad_engine("a table has no schema"))?;
    ReceivedSchema::read(metadata)
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
                return Err(bad_engine("it lists more tables than fit into 64 MiB"));
            }
        }
    }
    stream.extend_from_slice(&END_OF_STREAM);
    StreamReader::try_new(stream.as_ref(), None)
        .and_then(Iterator::collect)
        .map_err(|error| bad_engine(&error.to_string()))
}
