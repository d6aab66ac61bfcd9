//! The embedded engine as a backend.

pub mod engine;
mod functions;
mod partition_reader;
mod plan;
mod seek;

use std::sync::Arc;

use async_trait::async_trait;

use crate::backend::embedded::engine::Engine;
use crate::backend::{Backend, Started, TableFacts};
use crate::encode::{self, Codec, wire_schema};
pub(crate) use partition_reader::read_through;

use crate::backend::request::Request;
use crate::error::{ErrorKind, QueryError};
use crate::source::Table;

/// The engine whose tables are files.
pub(crate) struct Local(pub(crate) Arc<Engine>);

#[async_trait]
impl Backend for Local {
    async fn tables(&self) -> Result<Vec<TableFacts>, QueryError> {
        let engine = Arc::clone(&self.0);
        let entries = tokio::task::spawn_blocking(move || engine.tables());
        let entries = entries.await.map_err(|_| {
            QueryError::new(
                ErrorKind::Internal,
                "the tables could not be listed",
                "try again",
            )
        })?;
        entries
            .iter()
            .map(|entry| table_facts(&entry.table))
            .collect()
    }

    async fn start(&self, request: &Request, codec: Option<Codec>) -> Result<Started, QueryError> {
        self.0.start(request, None, codec).await
    }
}

/// A table of the embedded engine as it is listed.
///
/// # Errors
/// Its schema is none that could be sent.
pub(crate) fn table_facts(table: &Table) -> Result<TableFacts, QueryError> {
    let fields = encode::describe(&wire_schema(&table.schema)).map_err(|error| {
        QueryError::new(
            ErrorKind::Internal,
            format!("table {:?} cannot be described: {error}", table.name),
            "",
        )
    })?;
    Ok(TableFacts {
        name: table.name.clone(),
        format: table.format,
        num_rows: table.num_rows,
        num_bytes: table.num_bytes,
        version: table.version.clone(),
        is_uploaded: table.is_uploaded(),
        fields,
    })
}
