//! Engines behind one trait: each answers a request with partitions of framed Arrow messages, whose
//! rows, one partition after the other, are the result.

mod connection;
pub mod embedded;
mod flight;
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
pub use progress::{EngineProgress, EngineProgressStatus};
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
use crate::source::Table;

/// An engine. In every implementation a partition that ends before the engine says that it is complete
/// yields an error, a partition that is dropped stops what it began, and messages of an engine
/// elsewhere have passed [`Received`].
#[async_trait]
pub trait Backend: Send + Sync {
    /// Its tables as they are now, by name.
    ///
    /// # Errors
    /// The engine cannot say.
    async fn tables(&self) -> Result<Vec<TableDescription>, QueryError>;

    /// Plans the rows `request.range` of a request; nothing runs until a partition is begun. `base` are
    /// the rows of the result that the request reads, where it reads one; only the embedded engine
    /// takes them. `codec` is how bodies may be compressed; another, or none, is permitted.
    ///
    /// # Errors
    /// Whatever is wrong with the request, or that the engine cannot do it.
    async fn plan(
        &self,
        request: &Request,
        base: Option<Table>,
        codec: Option<Codec>,
    ) -> Result<PlannedQuery, QueryError>;
}

/// A table as it is listed.
#[derive(Debug, Clone)]
pub struct TableDescription {
    /// Its name.
    pub name: String,
    /// The name of its format.
    pub format: &'static str,
    /// Its rows, where the engine knows without reading them.
    pub num_rows: Option<u64>,
    /// Its size, where the engine knows.
    pub num_bytes: Option<u64>,
    /// Changes when the table changes, as far as the engine says.
    pub version: String,
    /// Whether it was uploaded.
    pub is_uploaded: bool,
    /// Its columns.
    pub fields: Vec<FieldDescription>,
}

/// What a partition of an engine elsewhere reserves before its first batch; Spark's are smaller, unless rows
/// are very large.
const BATCH_BYTES: u64 = 1 << 20;

/// A query that is planned and has not begun.
pub struct PlannedQuery {
    /// The schema message.
    pub schema: IpcMessage,
    /// A batch of no rows that fits the schema.
    pub empty: EmptyBatch,
    /// How the bodies of the messages are compressed.
    pub codec: Option<Codec>,
    /// Bytes that a partition reserves before it reads its first message.
    pub batch_bytes: u64,
    /// What the order of the partitions means.
    pub order: Order,
    /// The partitions; one after the other they are the result before `range` is applied.
    pub partitions: Vec<Partition>,
    /// The rows of the partitions to send.
    pub range: RowRange,
    /// The tables that are read, as they were when the query was planned.
    pub sources: Vec<Arc<Table>>,
    /// Whether the rows can be read from their source from any row on; then the partitions begin at the
    /// first row of the request.
    pub is_seekable: bool,
    /// Whether running the query again, while `sources` stay as they are, gives the same rows.
    pub is_repeatable: bool,
    /// Rows of the whole result, where the sources' metadata knows.
    pub num_rows: Option<u64>,
    /// How far the engine is, where it says.
    pub progress: Option<Arc<EngineProgress>>,
}

impl PlannedQuery {
    /// A query of an engine elsewhere, which sends all rows of `partitions` and says nothing of what its tables
    /// were when they were read.
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
        })
    }
}
