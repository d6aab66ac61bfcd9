//! Engines with Arrow Flight SQL. Statements run in the engine, and its messages pass through unchanged, from
//! several endpoints at once.

mod address;
mod caller;
mod catalog;
mod endpoint;
mod error;
mod sql;

use std::sync::Arc;

use arrow_flight::sql::{CommandStatementQuery, ProstMessageExt};
use async_trait::async_trait;

use self::address::Address;
pub(super) use self::address::shown;
use self::caller::Caller;
use self::catalog::list;
use self::endpoint::Query;
use self::sql::{read_only, table_sql};
use crate::backend::request::{Request, Source};
use crate::backend::runtime::QueryRuntime;
use crate::backend::table_listing::Listing;
use crate::backend::{Admission, Backend, PlannedQuery, TableList};
use crate::encode::Codec;
use crate::error::{ErrorKind, QueryError, StartError};
use crate::order::Order;
use crate::source::Table;

/// A Flight SQL server.
pub struct FlightSql {
    caller: Arc<Caller>,
    listing: Listing,
    /// Drives the connections, also after the queries that opened them end.
    _runtime: QueryRuntime,
}

impl FlightSql {
    /// Connects to `flightsql://user:password@host:port?tls=true&token=…`.
    ///
    /// # Errors
    /// The address is wrong, or the server cannot be reached or refuses the user.
    pub async fn connect(source: &str) -> Result<Self, StartError> {
        let address = Address::parse(source)
            .map_err(|error| StartError::BadArgument(format!("{}: {error}", shown(source))))?;
        let runtime = QueryRuntime::start(1).map_err(|error| {
            StartError::Failed(format!("cannot start the threads of connections: {error}"))
        })?;
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
            listing: Listing::new("flight"),
            _runtime: runtime,
        })
    }
}

#[async_trait]
impl Backend for FlightSql {
    async fn tables(&self, _: Option<&str>) -> Result<TableList, QueryError> {
        self.listing.descriptions(list(&self.caller)).await
    }

    async fn plan(
        &self,
        request: &Request,
        _: Option<Table>,
        _: Option<Codec>,
        _: Option<Admission>,
    ) -> Result<PlannedQuery, QueryError> {
        let query = match &request.source {
            Source::Sql(sql) => read_only(sql)?.to_owned(),
            Source::Table(query) => {
                let listed = list(&self.caller);
                table_sql(&self.listing.table(&query.table, listed).await?, query)?
            }
            Source::Query(_) => {
                return Err(QueryError::new(
                    ErrorKind::Internal,
                    "the rows of a result cannot be read from an engine",
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
        PlannedQuery::elsewhere(schema, order, partitions, request.range, None)
    }
}
