//! The rows of a result as a table of the embedded engine.

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::{Stream, TryStreamExt};
use uuid::Uuid;

use crate::encode::decode_message;
use crate::error::QueryError;
use crate::message::{LiveDictionaries, MessageKind};
use crate::results::Results;
use crate::results::reader::{ReadOptions, Reader, ReaderKind, broken};
use crate::results::record::result_replaced;
use crate::source::Table;

/// One partition: all rows of a result, in order.
#[derive(Clone)]
struct ResultRows {
    results: Arc<Results>,
    id: Uuid,
    options: ReadOptions,
    schema: SchemaRef,
    /// Identifies the rows.
    rows_id: u64,
}

impl std::fmt::Debug for ResultRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ResultRows({})", self.id)
    }
}

impl Results {
    /// The rows of a result as a table, whose name is the result's id, and which `reader` reads.
    ///
    /// # Errors
    /// As [`Results::reopen`].
    pub async fn table(
        self: &Arc<Self>,
        id: Uuid,
        reader: ReaderKind,
    ) -> std::result::Result<Table, QueryError> {
        // Without compression; a run for these rows ends with its last reader.
        let options = ReadOptions {
            range: self.registry.get(id)?.request.range,
            codec: None,
            linger: Some(Duration::ZERO),
            reader,
        };
        // Fails if the rows are no longer kept.
        let reader = self.reopen(id, options.clone()).await?;
        let frame = reader.head().schema.frame();
        let schema = StreamReader::try_new(frame.as_ref(), None)
            .map_err(|error| broken(&error))?
            .schema();
        let rows = ResultRows {
            results: Arc::clone(self),
            id,
            options,
            schema: Arc::clone(&schema),
            rows_id: reader.record().rows_id(),
        };
        let provider = StreamingTable::try_new(schema, vec![Arc::new(rows)])
            .map_err(|error| broken(&ArrowError::from_external_error(Box::new(error))))?;
        Ok(Table::from_provider(&id.to_string(), Arc::new(provider)))
    }
}

impl PartitionStream for ResultRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.clone();
        let batches = futures::stream::once(async move {
            let reader = rows.results.reopen(rows.id, rows.options).await;
            let reader = reader.map_err(external)?;
            if reader.record().rows_id() != rows.rows_id {
                return Err(external(result_replaced(rows.id)));
            }
            Ok::<_, DataFusionError>(decode(reader))
        });
        let batches = batches.try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            batches,
        ))
    }
}

/// The batches of a reader's messages.
fn decode(reader: Reader) -> impl Stream<Item = Result<RecordBatch>> + Send {
    let schema = reader.head().schema.clone();
    let mut dictionaries = LiveDictionaries::default();
    reader
        .into_messages()
        .map_err(external)
        .try_filter_map(move |message| {
            let batch = match message.kind {
                MessageKind::Batch => decode_message(&schema, &dictionaries, &message)
                    .map(Some)
                    .map_err(DataFusionError::from),
                _ => {
                    dictionaries.note(&message);
                    Ok(None)
                }
            };
            std::future::ready(batch)
        })
}

fn external(error: QueryError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
