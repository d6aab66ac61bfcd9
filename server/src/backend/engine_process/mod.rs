//! The embedded engine in processes of its own. The server never parses or plans a client's SQL: a statement
//! that takes too much memory, overflows a stack or crashes ends its process, and nothing else.
//!
//! A process borrows the tables: the server passes descriptors of files, and reads objects and other results
//! for it.

mod child;
mod lent_tables;
mod pool;
mod process;
mod protocol;
mod session;
mod socket;

use std::slice;
use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;

pub use child::run;
pub use pool::PoolConfig;

use self::lent_tables::LentTables;
use self::pool::EnginePool;
use self::protocol::{FromEngine, Planned, StatementRequest};
use self::session::Session;
use crate::backend::embedded::Engine;
use crate::backend::received::bad_engine;
use crate::backend::request::{Request, Source};
use crate::backend::{
    Admission, Backend, EngineProgress, PlannedQuery, Received, ReceivedSchema, TableList, Usage,
};
use crate::encode::{Codec, EmptyBatch};
use crate::error::{ErrorKind, QueryError};
use crate::message::IpcMessage;
use crate::order::{Partition, RowRange};
use crate::source::Table;
use crate::source::catalog::Entry;

/// Bytes of a table's files up to which its sort does not wait for other sorts.
const MAX_SMALL_BYTES: u64 = 1 << 20;

/// The embedded engine, with statements, sorts and text filters in processes.
pub struct IsolatedEngine {
    engine: Arc<Engine>,
    pool: Arc<EnginePool>,
}

impl IsolatedEngine {
    /// An engine of the tables of `engine`.
    pub fn new(engine: Arc<Engine>, config: PoolConfig) -> Self {
        Self {
            engine,
            pool: EnginePool::start(config),
        }
    }

    async fn plan_isolated(
        &self,
        request: &Request,
        base: Option<Table>,
        codec: Option<Codec>,
        admission: Option<Admission>,
    ) -> Result<PlannedQuery, QueryError> {
        let entries = match base {
            Some(table) => Arc::new(vec![Entry::of(table)]),
            None => self.engine.refreshed(request.source.names()).await?,
        };
        let admission = match admission {
            Some(admission) => admission,
            None => {
                self.pool
                    .admit(sorts_large_table(&entries, &request.source))
                    .await?
            }
        };
        let tables = entries
            .iter()
            .map(|entry| (entry.table.name.clone(), entry.table.version.clone()));
        let tables = tables.collect();
        let lent = LentTables::new(entries, self.engine.state());
        let mut session = Session::open(&self.pool, lent, admission).await?;
        let statement = StatementRequest {
            request: request.clone(),
            codec,
            tables,
            memory_bytes: session.share().memory_bytes(),
            expected_bytes: session.share().expected_bytes(),
            spill_bytes: session.share().spill_bytes(),
        };
        session.run(statement).await?;
        let frame = session.next().await?;
        match frame.header {
            FromEngine::Planned(planned) => {
                let schema =
                    ReceivedSchema::read(&frame.metadata).map_err(|e| cannot_be_sent(&e))?;
                executed(session, &planned, &schema, request, codec)
            }
            FromEngine::Scan(scan) => {
                let table = session.executes(slice::from_ref(&scan.table))?.pop();
                session.end(Usage::default());
                let table = table.ok_or_else(|| bad_engine("it names no table"))?;
                self.engine.plan_scan(&scan, table, request, codec).await
            }
            FromEngine::Failed(error, usage) => {
                let error = session.explain(error).await;
                session.end(usage);
                Err(error)
            }
            _ => Err(bad_engine("it does not plan the statement")),
        }
    }
}

#[async_trait]
impl Backend for IsolatedEngine {
    async fn tables(&self, named: Option<&str>) -> Result<TableList, QueryError> {
        self.engine.tables(named).await
    }

    async fn admit(&self, request: &Request) -> Result<Option<Admission>, QueryError> {
        // How large another result is shows when it is read.
        if !is_isolated(&request.source) || request.base()?.is_some() {
            return Ok(None);
        }
        let is_sort = request.source.has_sort() && {
            let entries = self.engine.refreshed(request.source.names()).await?;
            sorts_large_table(&entries, &request.source)
        };
        self.pool.admit(is_sort).await.map(Some)
    }

    async fn plan(
        &self,
        request: &Request,
        base: Option<Table>,
        codec: Option<Codec>,
        admission: Option<Admission>,
    ) -> Result<PlannedQuery, QueryError> {
        if is_isolated(&request.source) {
            self.plan_isolated(request, base, codec, admission).await
        } else {
            self.engine.plan(request, base, codec).await
        }
    }
}

/// Whether a request has a process.
fn is_isolated(source: &Source) -> bool {
    source.has_sql() || source.has_sort()
}

/// Whether a request sorts a table that may not fit into the memory of any statement.
fn sorts_large_table(entries: &[Entry], source: &Source) -> bool {
    let names = source.names();
    let mut tables = entries.iter().map(|entry| &entry.table);
    let table = tables.find(|table| names.contains(&table.name));
    let is_large = |table: &Arc<Table>| table.num_bytes.is_none_or(|bytes| bytes > MAX_SMALL_BYTES);
    source.has_sort() && table.is_some_and(is_large)
}

fn cannot_be_sent(error: &QueryError) -> QueryError {
    QueryError::new(
        ErrorKind::ExecutionError,
        format!("the columns cannot be sent: {}", error.message),
        "select other columns, or cast them to simpler types",
    )
}

fn executed(
    mut session: Session,
    planned: &Planned,
    schema: &ReceivedSchema,
    request: &Request,
    codec: Option<Codec>,
) -> Result<PlannedQuery, QueryError> {
    let sources = session.executes(&planned.sources)?;
    let slots = session.slots();
    let empty =
        EmptyBatch::try_new(&schema.schema).map_err(|error| bad_engine(&error.to_string()))?;
    let progress = Arc::<EngineProgress>::default();
    let rows = StatementRows {
        session,
        received: Received::new(schema.clone()).with_codec(codec),
        progress: Arc::clone(&progress),
    };
    let partition: Partition = Box::new(move |_| {
        futures::stream::try_unfold(Some(rows), |rows| async move {
            match rows {
                Some(rows) => rows.next().await,
                None => Ok(None),
            }
        })
        .boxed()
    });
    Ok(PlannedQuery {
        schema: schema.message.clone(),
        empty,
        codec,
        batch_bytes: request.batch_bytes as u64,
        order: planned.order,
        partitions: vec![partition],
        // The process sends only the requested rows.
        range: RowRange::default(),
        sources,
        is_seekable: false,
        is_repeatable: planned.is_repeatable,
        num_rows: None,
        progress: Some(progress),
        slots,
    })
}

/// The messages of a statement, each checked.
struct StatementRows {
    session: Session,
    received: Received,
    progress: Arc<EngineProgress>,
}

impl StatementRows {
    async fn next(mut self) -> Result<Option<(IpcMessage, Option<Self>)>, QueryError> {
        loop {
            let frame = self.session.next().await?;
            match frame.header {
                FromEngine::Message { .. } => {
                    let message = self.received.check(frame.metadata, frame.body)?;
                    if let Some(message) = message {
                        return Ok(Some((message, Some(self))));
                    }
                }
                FromEngine::Progress(usage, total) => self.progress.note_usage(usage, total),
                FromEngine::End(usage) => {
                    self.progress.note_usage(usage, None);
                    self.session.end(usage);
                    return Ok(None);
                }
                FromEngine::Failed(error, usage) => {
                    self.progress.note_usage(usage, None);
                    let error = self.session.explain(error).await;
                    self.session.end(usage);
                    return Err(error);
                }
                _ => return Err(bad_engine("it does not send rows")),
            }
        }
    }
}
