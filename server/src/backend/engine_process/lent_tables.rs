//! The tables of the server, as an engine process borrows them.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::execution::session_state::SessionState;
use datafusion::physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, SendableRecordBatchStream,
};
use futures::StreamExt;
use tokio::sync::Mutex as AsyncMutex;

use super::protocol::{EngineRequest, EngineResponse, MAX_READ_BYTES, TableResponse};
use crate::encode::schema_message;
use crate::error::from_datafusion::execution_error;
use crate::error::{ErrorKind, QueryError};
use crate::source::Table;
use crate::source::catalog::Entry;

/// Partitions of tables without files that a process reads at the same time.
const MAX_READINGS: usize = 4096;

/// The rows of one partition, as one operator of the statement reads them.
type Reading = Arc<AsyncMutex<SendableRecordBatchStream>>;

/// The tables that a statement may read, in their state at its start. The process of the statement gets its
/// files and rows from here.
pub(super) struct LentTables {
    entries: Arc<Vec<Entry>>,
    /// Executes the plans of tables that are not made of files.
    state: SessionState,
    used: Mutex<Vec<Arc<Table>>>,
    plans: Mutex<HashMap<String, Arc<dyn ExecutionPlan>>>,
    readings: Mutex<HashMap<u64, Reading>>,
}

/// The response to a request, and the descriptor that accompanies it.
pub(super) struct Response {
    pub(super) header: EngineResponse,
    pub(super) metadata: Bytes,
    pub(super) body: Bytes,
    pub(super) file: Option<File>,
}

impl Response {
    fn of(header: EngineResponse, body: Bytes) -> Self {
        Self {
            header,
            metadata: Bytes::new(),
            body,
            file: None,
        }
    }
}

impl LentTables {
    /// The tables of `entries`, which are sorted by name. `state` executes the plans of those that are not
    /// made of files.
    pub(super) fn new(entries: Arc<Vec<Entry>>, state: SessionState) -> Self {
        Self {
            entries,
            state,
            used: Mutex::default(),
            plans: Mutex::default(),
            readings: Mutex::default(),
        }
    }

    /// The entry with that name.
    ///
    /// # Errors
    /// `source_changed`: the table can no longer be read.
    fn entry(&self, name: &str) -> Result<Option<&Entry>, QueryError> {
        let found = self
            .entries
            .binary_search_by(|entry| entry.table.name.as_str().cmp(name));
        let Ok(index) = found else {
            return Ok(None);
        };
        let entry = &self.entries[index];
        entry.check()?;
        Ok(Some(entry))
    }

    /// The table with that name, which is noted as read.
    ///
    /// # Errors
    /// `internal`: there is none; `source_changed`: it can no longer be read.
    pub(super) fn used_table(&self, name: &str) -> Result<Arc<Table>, QueryError> {
        let entry = self.entry(name)?.ok_or_else(unknown)?;
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if !used.iter().any(|table| table.name == name) {
            used.push(Arc::clone(&entry.table));
        }
        Ok(Arc::clone(&entry.table))
    }

    /// The name of a table that was read and has changed since. Blocks.
    pub(super) fn changed(&self) -> Option<String> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = used.iter().find(|table| table.has_changed())?;
        Some(changed.name.clone())
    }

    /// Notes that a row of a table that was read did not have the types of its columns.
    pub(super) fn note_misfit(&self) {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.iter().for_each(|table| table.note_misfit());
    }

    /// Responds to a request of the process.
    ///
    /// # Errors
    /// Whatever is wrong with the request or the table.
    pub(super) async fn respond(&self, request: EngineRequest) -> Result<Response, QueryError> {
        match request {
            EngineRequest::Table(name) => self.table(&name).await,
            EngineRequest::File(name, index) => {
                let table = self.used_table(&name)?;
                let opened = tokio::task::spawn_blocking(move || {
                    let file = table.file(index).ok_or(io::ErrorKind::NotFound)?;
                    file.descriptor()
                });
                let file = opened.await.map_err(io::Error::other).flatten();
                Ok(Response {
                    file: Some(file.map_err(|error| unreadable(&error))?),
                    ..Response::of(EngineResponse::File, Bytes::new())
                })
            }
            EngineRequest::Bytes(name, index, range) => {
                let table = self.used_table(&name)?;
                let file = table.file(index).ok_or_else(unknown)?;
                let num_bytes = range.end.checked_sub(range.start);
                if num_bytes.is_none_or(|num_bytes| num_bytes > MAX_READ_BYTES) {
                    return Err(unknown());
                }
                let read = file.read_ranges(vec![range]).await;
                let bytes = read.map_err(|error| unreadable(&error))?.pop();
                Ok(Response::of(
                    EngineResponse::Bytes,
                    bytes.unwrap_or_default(),
                ))
            }
            EngineRequest::Rows(name, partition, reading) => {
                let rows = self.reading(&name, partition, reading)?;
                let next = rows.lock().await.next().await.transpose();
                let next = next.map_err(|error| execution_error(&error))?;
                if next.is_none() {
                    self.lock_readings().remove(&reading);
                }
                let stream = next.map(|batch| stream_of(&batch)).transpose()?;
                Ok(Response::of(
                    EngineResponse::Rows,
                    stream.unwrap_or_default(),
                ))
            }
        }
    }

    async fn table(&self, name: &str) -> Result<Response, QueryError> {
        if self.entry(name)?.is_none() {
            return Ok(Response::of(
                EngineResponse::Table(TableResponse::None),
                Bytes::new(),
            ));
        }
        let table = self.used_table(name)?;
        if let Some(lent) = table.lend() {
            let header = EngineResponse::Table(TableResponse::Files(Box::new(lent)));
            return Ok(Response::of(header, Bytes::new()));
        }
        let plan = table.provider.scan(&self.state, None, &[], None).await;
        let plan = plan.map_err(|error| execution_error(&error))?;
        let num_partitions = plan.output_partitioning().partition_count();
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.insert(name.to_owned(), plan);
        Ok(Response {
            metadata: schema_message(&table.schema).metadata,
            ..Response::of(
                EngineResponse::Table(TableResponse::Rows { num_partitions }),
                Bytes::new(),
            )
        })
    }

    fn lock_readings(&self) -> MutexGuard<'_, HashMap<u64, Reading>> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Partition `partition` of a table that is not made of files, as reading `number` reads it.
    fn reading(&self, name: &str, partition: usize, number: u64) -> Result<Reading, QueryError> {
        let mut readings = self.lock_readings();
        if let Some(reading) = readings.get(&number) {
            return Ok(Arc::clone(reading));
        }
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = plans.get(name).ok_or_else(unknown)?;
        if partition >= plan.output_partitioning().partition_count()
            || readings.len() >= MAX_READINGS
        {
            return Err(unknown());
        }
        let rows = plan.execute(partition, self.state.task_ctx());
        let rows = rows.map_err(|error| execution_error(&error))?;
        let reading = Arc::new(AsyncMutex::new(rows));
        readings.insert(number, Arc::clone(&reading));
        Ok(reading)
    }
}

fn stream_of(batch: &RecordBatch) -> Result<Bytes, QueryError> {
    let mut stream = Vec::new();
    let written = StreamWriter::try_new(&mut stream, &batch.schema())
        .and_then(|mut writer| writer.write(batch).and_then(|()| writer.finish()));
    written.map_err(|error| execution_error(&error.into()))?;
    Ok(stream.into())
}

fn unreadable(error: &io::Error) -> QueryError {
    let hint = "check that the file still exists and is complete";
    QueryError::new(ErrorKind::SourceUnreadable, error.to_string(), hint)
}

fn unknown() -> QueryError {
    QueryError::new(
        ErrorKind::Internal,
        "the process of the statement asked for something that does not exist",
        "run the query again",
    )
}
