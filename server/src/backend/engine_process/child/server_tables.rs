//! The tables of the server, as a statement reads them.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::convert::try_schema_from_flatbuffer_bytes;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;

use super::connection::ServerConnection;
use crate::backend::engine_process::protocol::{
    EngineRequest, EngineResponse, MAX_READ_BYTES, TableResponse,
};
use crate::error::{ErrorKind, QueryError};
use crate::source::catalog::TableLoader;
use crate::source::{FileLender, Table};

/// The tables of the server, by name.
pub(super) struct ServerTables {
    pub(super) server: Arc<ServerConnection>,
    /// The names of all tables, sorted.
    pub(super) names: Vec<String>,
}

impl TableLoader for ServerTables {
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn load(&self, name: &str) -> Result<Option<Table>, QueryError> {
        let response = self.server.request(EngineRequest::Table(name.to_owned()))?;
        let unreadable = |error: String| {
            let hint = "check that the file still exists and is complete";
            QueryError::new(ErrorKind::SourceUnreadable, error, hint)
        };
        let EngineResponse::Table(table) = response.header else {
            return Err(unexpected());
        };
        match table {
            TableResponse::None => Ok(None),
            TableResponse::Files(lent) => {
                let lender: Arc<dyn FileLender> = Arc::new(ServerFiles {
                    server: Arc::clone(&self.server),
                    table: name.to_owned(),
                });
                Table::of_lent(*lent, &lender).map(Some).map_err(unreadable)
            }
            TableResponse::Rows { num_partitions } => {
                let schema = try_schema_from_flatbuffer_bytes(&response.metadata)
                    .map_err(|error| unreadable(error.to_string()))?;
                let schema = Arc::new(schema);
                let partitions = (0..num_partitions).map(|partition| {
                    Arc::new(ServerRows {
                        server: Arc::clone(&self.server),
                        table: name.to_owned(),
                        partition,
                        schema: Arc::clone(&schema),
                    }) as Arc<dyn PartitionStream>
                });
                let provider = StreamingTable::try_new(Arc::clone(&schema), partitions.collect())
                    .map_err(|error| unreadable(error.to_string()))?;
                Ok(Some(Table::from_provider(name, Arc::new(provider))))
            }
        }
    }
}

/// The files of one table.
struct ServerFiles {
    server: Arc<ServerConnection>,
    table: String,
}

impl std::fmt::Debug for ServerFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServerFiles({})", self.table)
    }
}

impl FileLender for ServerFiles {
    fn open(&self, index: usize) -> io::Result<File> {
        let response = self
            .server
            .request(EngineRequest::File(self.table.clone(), index));
        let file = response.map_err(io::Error::other)?.file;
        file.ok_or_else(|| io::Error::other(unexpected()))
    }

    fn read(&self, index: usize, ranges: Vec<Range<u64>>) -> io::Result<Vec<Bytes>> {
        ranges
            .into_iter()
            .map(|range| self.read_range(index, range))
            .collect()
    }
}

impl ServerFiles {
    fn read_range(&self, index: usize, range: Range<u64>) -> io::Result<Bytes> {
        let mut bytes = BytesMut::with_capacity((range.end - range.start) as usize);
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min(start + MAX_READ_BYTES);
            let request = EngineRequest::Bytes(self.table.clone(), index, start..end);
            let piece = self.server.request(request).map_err(io::Error::other)?.body;
            if piece.len() as u64 != end - start {
                return Err(io::Error::other(unexpected()));
            }
            bytes.extend_from_slice(&piece);
            start = end;
        }
        Ok(bytes.freeze())
    }
}

/// One partition of a table whose rows the server reads.
struct ServerRows {
    server: Arc<ServerConnection>,
    table: String,
    partition: usize,
    schema: SchemaRef,
}

impl std::fmt::Debug for ServerRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServerRows({}, {})", self.table, self.partition)
    }
}

impl PartitionStream for ServerRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        static NEXT_READING: AtomicU64 = AtomicU64::new(0);
        let reading = NEXT_READING.fetch_add(1, Ordering::Relaxed);
        let request = EngineRequest::Rows(self.table.clone(), self.partition, reading);
        let state = (Arc::clone(&self.server), request);
        let batches = futures::stream::try_unfold(state, |(server, request)| async move {
            let (requesting, next) = (Arc::clone(&server), request.clone());
            let responded = tokio::task::spawn_blocking(move || requesting.request(next));
            let response = responded.await.map_err(|error| external(Box::new(error)))?;
            let stream = response.map_err(|error| external(Box::new(error)))?.body;
            if stream.is_empty() {
                return Ok(None);
            }
            let batch = StreamReader::try_new(stream.as_ref(), None)?.next();
            Ok(batch.transpose()?.map(|batch| (batch, (server, request))))
        });
        Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            batches,
        ))
    }
}

fn external(error: Box<dyn std::error::Error + Send + Sync>) -> DataFusionError {
    DataFusionError::External(error)
}

fn unexpected() -> QueryError {
    QueryError::new(ErrorKind::Internal, "the server's answer is unexpected", "")
}
