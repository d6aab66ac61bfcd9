//! Engines that speak Arrow Flight SQL: statements run there, and their messages pass through as they
//! come, several endpoints at once.

mod address;
mod caller;
mod catalog;
mod endpoint;
mod error;
mod sql;

use std::sync::Arc;

use arrow_flight::sql::{CommandStatementQuery, ProstMessageExt};
use async_trait::async_trait;
use colonnade_core::semantics::near_names;

use self::address::Address;
pub(super) use self::address::shown;
use self::caller::Caller;
use self::catalog::{FlightTable, list};
use self::endpoint::Query;
use self::sql::{read_only, table_sql};
use crate::backend::listing::Listing;
use crate::backend::received::bad_engine;
use crate::backend::request::{Request, Source, TableQuery};
use crate::backend::runtime::QueryRuntime;
use crate::backend::{Backend, PlannedQuery, TableDescription};
use crate::encode::{Codec, EmptyBatch};
use crate::error::{ErrorKind, QueryError, StartError};
use crate::order::Order;
use crate::source::Table;

/// What a partition reserves before its first batch.
const BATCH_BYTES: u64 = 1 << 20;

/// A Flight SQL server.
pub struct FlightSql {
    caller: Arc<Caller>,
    listing: Listing<FlightTable>,
    /// Works for the connections, whatever becomes of the queries that use them.
    _runtime: QueryRuntime,
}

impl FlightSql {
    /// Connects to `flightsql://user:password@host:port?tls=true&token=…`.
    ///
    /// # Errors
    /// The address is wrong, or the server cannot be reached or does not let us in.
    pub async fn connect(source: &str) -> Result<Self, StartError> {
        let address = Address::parse(source)
            .map_err(|error| StartError::BadArgument(format!("{}: {error}", shown(source))))?;
        let runtime = QueryRuntime::start(1)
            .map_err(|error| StartError::Failed(format!("the server cannot start: {error}")))?;
        let caller = Caller::open(address, runtime.handle())
            .await
            .map_err(|error| {
                StartError::Failed(format!(
                    "{}: {}; {}",
                    shown(source),
                    error.message,
                    error.hint
                ))
            })?;
        Ok(Self {
            caller: Arc::new(caller),
            listing: Listing::default(),
            _runtime: runtime,
        })
    }

    async fn listed(&self) -> Result<Arc<Vec<FlightTable>>, QueryError> {
        self.listing.tables(list(&self.caller)).await
    }

    async fn table(&self, query: &TableQuery) -> Result<FlightTable, QueryError> {
        let tables = self.listed().await?;
        let found = tables.iter().find(|table| table.name == query.table);
        found.cloned().ok_or_else(|| {
            let names = tables.iter().map(|table| table.name.as_str());
            QueryError::new(
                ErrorKind::UnknownTable,
                format!("there is no table {:?}", query.table),
                near_names(&query.table, names, "tables"),
            )
        })
    }
}

#[async_trait]
impl Backend for FlightSql {
    async fn tables(&self) -> Result<Vec<TableDescription>, QueryError> {
        let tables = self.listed().await?;
        tables.iter().map(FlightTable::facts).collect()
    }

    async fn plan(
        &self,
        request: &Request,
        _: Option<Table>,
        _: Option<Codec>,
    ) -> Result<PlannedQuery, QueryError> {
        let query = match &request.source {
            Source::Sql(sql) => read_only(sql)?.to_owned(),
            Source::Table(query) => table_sql(&self.table(query).await?, query)?,
            Source::Query(_) => {
                return Err(QueryError::new(
                    ErrorKind::Internal,
                    "the rows of a result were asked of an engine",
                    "",
                ));
            }
        };
        let command = CommandStatementQuery {
            query,
            transaction_id: None,
        };
        let query = Query::begin(&self.caller, &command.as_any()).await?;
        let order = if query.is_ordered() {
            Order::Partition
        } else {
            Order::None
        };
        let (schema, partitions) = query.partitions().await?;
        let empty =
            EmptyBatch::try_new(&schema.schema).map_err(|error| bad_engine(&error.to_string()))?;
        Ok(PlannedQuery {
            schema: schema.message,
            empty,
            codec: None,
            batch_bytes: BATCH_BYTES,
            order,
            partitions,
            range: request.range,
            sources: Vec::new(),
            is_seekable: false,
            // An engine says nothing of what its tables were when they were read.
            is_repeatable: false,
            num_rows: None,
            progress: None,
        })
    }
}
