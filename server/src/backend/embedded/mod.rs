//! The embedded engine as a backend.

mod engine;
mod engine_config;
mod partition_reader;
mod plan;
mod seek;
mod table_plan;

pub use engine::{Engine, EngineUsage};
pub(crate) use engine::{PlannedStatement, TableScan};
pub use engine_config::EngineConfig;
pub(crate) use partition_reader::read_through;

use std::collections::HashSet;

use async_trait::async_trait;

use crate::backend::request::Request;
use crate::backend::{Admission, Backend, PlannedQuery, TableDescription, TableList};
use crate::encode::{self, Codec, wire_schema};
use crate::error::{ErrorKind, QueryError};
use crate::source::Table;
use crate::source::catalog::Entry;

#[async_trait]
impl Backend for Engine {
    async fn tables(&self, named: Option<&str>) -> Result<TableList, QueryError> {
        let names = named.map(|name| HashSet::from([name.to_owned()]));
        let entries = self.refreshed(names.unwrap_or_default()).await?;
        let is_listed = |entry: &&Entry| {
            !entry.table.is_other_reading() || named == Some(entry.table.name.as_str())
        };
        let tables = entries.iter().filter(is_listed).map(|entry| {
            let error = entry.broken.clone();
            let description = describe_table(&entry.table)?;
            Ok(TableDescription {
                error,
                ..description
            })
        });
        Ok(TableList {
            tables: tables.collect::<Result<_, QueryError>>()?,
            note: None,
        })
    }

    async fn plan(
        &self,
        request: &Request,
        base: Option<Table>,
        codec: Option<Codec>,
        _: Option<Admission>,
    ) -> Result<PlannedQuery, QueryError> {
        Engine::plan(self, request, base, codec).await
    }
}

/// The description of a table of the embedded engine.
///
/// # Errors
/// `internal`: the schema cannot be described.
pub(crate) fn describe_table(table: &Table) -> Result<TableDescription, QueryError> {
    let fields = encode::describe(&wire_schema(&table.schema)).map_err(|error| {
        QueryError::new(
            ErrorKind::Internal,
            format!("table {:?} cannot be described: {error}", table.name),
            "",
        )
    })?;
    Ok(TableDescription {
        name: table.name.clone(),
        format: table.format,
        num_rows: table.num_rows,
        num_bytes: table.num_bytes,
        version: table.version.clone(),
        is_uploaded: table.is_uploaded(),
        fields,
        left_out: table.left_out().collect(),
        error: None,
    })
}
