//! Apache Spark, over Spark Connect. Statements run in Spark, and its Arrow batches pass through unchanged,
//! in the order of Spark's partitions.

mod address;
mod catalog;
mod error;
mod execution;
mod messages;
pub mod proto;
mod session;
mod sql;
mod statement;

use std::sync::Arc;

use async_trait::async_trait;
use futures::{Stream, StreamExt, TryStreamExt};

use self::address::Address;
use self::catalog::list;
use self::execution::Execution;
use self::messages::{messages, messages_after, schema_of};
use self::proto::Plan;
use self::session::Session;
use self::sql::table_sql;
use self::statement::{Statement, read_only};
use crate::backend::received::bad_engine;
use crate::backend::request::{Request, Source};
use crate::backend::runtime::QueryRuntime;
use crate::backend::table_listing::{ListedTable, Listing};
use crate::backend::{Admission, Backend, EngineProgress, PlannedQuery, ReceivedSchema, TableList};
use crate::encode::Codec;
use crate::error::{ErrorKind, QueryError, StartError};
use crate::message::IpcMessage;
use crate::order::{Order, Partition};
use crate::source::Table;

/// The source without its parameters, because one of them may be a token.
pub(super) fn shown(source: &str) -> &str {
    source.split(';').next().unwrap_or_default()
}

/// A Spark Connect server.
pub struct Spark {
    address: Arc<Address>,
    listing: Listing,
    /// Drives the connections, also after the queries that opened them end.
    runtime: QueryRuntime,
}

impl Spark {
    /// Connects to `sc://host:port/;token=…;use_ssl=true`.
    ///
    /// # Errors
    /// The connection string is wrong, or Spark cannot be reached.
    pub async fn connect(source: &str) -> Result<Self, StartError> {
        let shown = shown(source);
        let address = Address::parse(source)
            .map_err(|error| StartError::BadArgument(format!("{shown}: {error}")))?;
        let runtime = QueryRuntime::start(1).map_err(|error| {
            StartError::Failed(format!("cannot start the threads of connections: {error}"))
        })?;
        let spark = Self {
            address: Arc::new(address),
            listing: Listing::new("spark"),
            runtime,
        };
        spark.session().await.map_err(|error| {
            StartError::Failed(format!("{shown}: {}; {}", error.message, error.hint))
        })?;
        Ok(spark)
    }

    async fn session(&self) -> Result<Arc<Session>, QueryError> {
        Session::open(&self.address, self.runtime.handle()).await
    }

    async fn list(&self) -> Result<Vec<ListedTable>, QueryError> {
        list(&self.session().await?).await
    }
}

#[async_trait]
impl Backend for Spark {
    async fn tables(&self, _: Option<&str>) -> Result<TableList, QueryError> {
        self.listing.descriptions(self.list()).await
    }

    async fn plan(
        &self,
        request: &Request,
        _: Option<Table>,
        _: Option<Codec>,
        _: Option<Admission>,
    ) -> Result<PlannedQuery, QueryError> {
        let statement = match &request.source {
            Source::Sql(sql) => read_only(sql)?,
            Source::Table(query) => {
                let table = self.listing.table(&query.table, self.list()).await?;
                let sql = table_sql(&table.relation, &table.schema, query)?;
                Statement::Query(format!("select * from (\n{sql}\n)"))
            }
            Source::Query(_) => {
                return Err(QueryError::new(
                    ErrorKind::Internal,
                    "the rows of a result cannot be read from Spark",
                    "",
                ));
            }
        };
        let session = self.session().await?;
        let progress = Arc::<EngineProgress>::default();
        let (schema, order, partition) = match statement {
            Statement::Query(query) => {
                let (schema, order) = catalog::schema(&session, &query).await?;
                // Sail says of some columns that they have no nulls only when it plans one of the two.
                let schema = schema.loosened()?;
                let partition =
                    query_partition(session, query, schema.clone(), Arc::clone(&progress));
                (schema, order, partition)
            }
            Statement::Command(command) => {
                let plan = Plan::command(&command);
                let execution = Execution::start(&session, plan, Arc::clone(&progress)).await?;
                let (schema, partition) = command_rows(execution).await?;
                (schema, Order::Partition, partition)
            }
        };
        let progress = Some(progress);
        PlannedQuery::elsewhere(schema, order, vec![partition], request.range, progress)
    }
}

/// The rows of a query, which starts when the partition is read.
fn query_partition(
    session: Arc<Session>,
    query: String,
    schema: ReceivedSchema,
    progress: Arc<EngineProgress>,
) -> Partition {
    Box::new(move |_| {
        let begun = async move {
            let execution = Execution::start(&session, Plan::query(&query), progress).await?;
            Ok::<_, QueryError>(messages(execution, schema))
        };
        futures::stream::once(begun).try_flatten().boxed()
    })
}

/// The rows of a command, whose schema is in its first batch.
async fn command_rows(mut execution: Execution) -> Result<(ReceivedSchema, Partition), QueryError> {
    let first = execution.next().await?;
    let first = first.ok_or_else(|| bad_engine("a result has no batch"))?;
    let schema = schema_of(&first)?;
    let rows = messages_after(first, execution, schema.clone());
    Ok((schema, boxed(rows)))
}

fn boxed(rows: impl Stream<Item = Result<IpcMessage, QueryError>> + Send + 'static) -> Partition {
    Box::new(move |_| rows.boxed())
}
