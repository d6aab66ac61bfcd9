//! Engines behind one trait. An engine answers a request with partitions of Arrow messages; the rows of the
//! partitions, one after the other, are the result.

mod cell_search;
mod connection;
pub mod embedded;
#[cfg(unix)]
pub mod engine_process;
mod flight;
mod literal;
mod predicate_expr;
mod progress;
mod received;
pub mod request;
pub mod runtime;
mod sources;
pub mod spark;
mod statement;
mod table_listing;

use std::sync::Arc;

use async_trait::async_trait;
use colonnade_core::wire::FieldDescription;

pub use flight::FlightSql;
pub use progress::{BytesRead, EngineProgress, EngineProgressStatus, Usage};
pub use received::{MessageBytes, Received, ReceivedSchema, split_stream};
pub use sources::connect;
pub use spark::Spark;
pub(crate) use statement::{check_length, only_reading};

use self::received::bad_engine;
use crate::backend::request::Request;
use crate::encode::{Codec, EmptyBatch};
use crate::error::QueryError;
use crate::message::IpcMessage;
use crate::order::{Order, Partition, RowRange};
use crate::slots::{Slot, Slots};
use crate::source::{LeftOutFile, Table};

/// The tables of an engine.
#[derive(Debug)]
pub struct TableList {
    /// The tables, sorted by name.
    pub tables: Vec<TableDescription>,
    /// Why there are none, if the engine cannot list them.
    pub note: Option<String>,
}

/// An engine. In every implementation, a partition yields an error if it ends before the engine reports
/// completion. Dropping a partition stops its work. Messages of a remote engine have passed [`Received`].
#[async_trait]
pub trait Backend: Send + Sync {
    /// The current tables. Waits for changes of the table that is `named`.
    ///
    /// # Errors
    /// The engine cannot list them.
    async fn tables(&self, named: Option<&str>) -> Result<TableList, QueryError>;

    /// Waits until the engine has a place for a request, if such requests may wait for long. Whoever waits should hold
    /// nothing that requests of other kinds need.
    ///
    /// # Errors
    /// `busy`: it waits for too long. As [`Backend::tables`].
    async fn admit(&self, _: &Request) -> Result<Option<Admission>, QueryError> {
        Ok(None)
    }

    /// Plans the rows `request.range` of a request; nothing runs until a partition is started. `base` has the
    /// rows of the result that the request reads, if it reads one; only the embedded engine uses it. `codec`
    /// is how the client accepts compressed bodies; the plan may use another codec or none. Without the admission that
    /// it needs, the request waits for it.
    ///
    /// # Errors
    /// The request is wrong, or the engine cannot do it.
    async fn plan(
        &self,
        request: &Request,
        base: Option<Table>,
        codec: Option<Codec>,
        admission: Option<Admission>,
    ) -> Result<PlannedQuery, QueryError>;
}

/// The place of a request among those that have a process at the same time.
#[derive(Debug)]
pub struct Admission {
    /// Its place.
    pub process: Slot,
    /// Whether that is the last one.
    pub is_last: bool,
    /// The place of a sort of a large table among such sorts.
    pub sort: Option<Slot>,
    /// Its turn to work.
    pub turn: Slot,
}

/// The description of a table.
#[derive(Debug, Clone)]
pub struct TableDescription {
    /// Its name.
    pub name: String,
    /// The name of its format.
    pub format: &'static str,
    /// Number of rows, if the engine knows it without reading them.
    pub num_rows: Option<u64>,
    /// Size in bytes, if the engine knows it.
    pub num_bytes: Option<u64>,
    /// A version that changes when the table changes, as far as the engine can tell.
    pub version: String,
    /// Whether it was uploaded.
    pub is_uploaded: bool,
    /// Its columns.
    pub fields: Vec<FieldDescription>,
    /// Files that are not in it, because they could not be read so far.
    pub left_out: Vec<LeftOutFile>,
    /// Why it cannot be read at present.
    pub error: Option<String>,
}

/// Bytes that a partition of a remote engine reserves before its first batch. Spark's batches are smaller,
/// unless rows are very large.
const BATCH_BYTES: u64 = 1 << 20;

/// A query that is planned but not started.
pub struct PlannedQuery {
    /// The schema message.
    pub schema: IpcMessage,
    /// A batch of no rows that fits the schema.
    pub empty: EmptyBatch,
    /// How the bodies of the messages are compressed.
    pub codec: Option<Codec>,
    /// Bytes that a partition reserves before it reads its first message.
    pub batch_bytes: u64,
    /// What the order of the rows guarantees.
    pub order: Order,
    /// The partitions; one after the other they are the result before `range` is applied.
    pub partitions: Vec<Partition>,
    /// The rows of the partitions to send.
    pub range: RowRange,
    /// The tables that are read, in their state at planning.
    pub sources: Vec<Arc<Table>>,
    /// Whether reading can start at any row of the source. If so, the partitions begin at the first row of
    /// the request.
    pub is_seekable: bool,
    /// Whether running the query again, while `sources` stay as they are, gives the same rows.
    pub is_repeatable: bool,
    /// Rows of the whole result, if the sources' metadata gives it.
    pub num_rows: Option<u64>,
    /// Progress of the engine, if it reports any.
    pub progress: Option<Arc<EngineProgress>>,
    /// The kinds of slots of which the partitions hold one each.
    pub slots: Vec<Slots>,
}

impl PlannedQuery {
    /// A query of a remote engine. It sends all rows of `partitions`, and the versions of its tables are not
    /// known.
    ///
    /// # Errors
    /// `bad_engine`: no batch fits the schema.
    fn elsewhere(
        schema: ReceivedSchema,
        order: Order,
        partitions: Vec<Partition>,
        range: RowRange,
        progress: Option<Arc<EngineProgress>>,
    ) -> Result<Self, QueryError> {
        let empty =
            EmptyBatch::try_new(&schema.schema).map_err(|error| bad_engine(&error.to_string()))?;
        Ok(Self {
            schema: schema.message,
            empty,
            codec: None,
            batch_bytes: BATCH_BYTES,
            order,
            partitions,
            range,
            sources: Vec::new(),
            is_seekable: false,
            is_repeatable: false,
            num_rows: None,
            progress,
            slots: Vec::new(),
        })
    }
}
