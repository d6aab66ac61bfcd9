//! The rows of a known query as a table of the engine.

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

use crate::backend::request::Request;
use crate::encode::decode_message;
use crate::error::QueryError;
use crate::message::{LiveDictionaries, MessageKind};
use crate::order::RowRange;
use crate::results::reader::broken;
use crate::results::{Reader, Results, Wish};
use crate::source::Table;

/// One partition: all rows of a query, in order.
#[derive(Clone)]
struct KeptRows {
    results: Arc<Results>,
    id: Uuid,
    range: RowRange,
    schema: SchemaRef,
}

impl std::fmt::Debug for KeptRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeptRows({})", self.id)
    }
}

impl Results {
    /// The rows that a query asked for as a table, whose name is the query's id.
    ///
    /// # Errors
    /// As [`Results::reopen`].
    pub async fn table(self: &Arc<Self>, id: Uuid) -> std::result::Result<Table, QueryError> {
        // Also looks whether the rows are still there.
        let range = self.registry.get(id)?.request.range;
        let reader = self.reopen(id, range, plain).await?;
        let frame = reader.run().schema.frame();
        let schema = StreamReader::try_new(frame.as_ref(), None)
            .map_err(|error| broken(&error))?
            .schema();
        let rows = KeptRows {
            results: Arc::clone(self),
            id,
            range,
            schema: Arc::clone(&schema),
        };
        let provider = StreamingTable::try_new(schema, vec![Arc::new(rows)])
            .map_err(|error| broken(&ArrowError::from_external_error(Box::new(error))))?;
        Ok(Table::from_provider(&id.to_string(), Arc::new(provider)))
    }
}

impl PartitionStream for KeptRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.clone();
        let batches = futures::stream::once(async move {
            let reader = rows.results.reopen(rows.id, rows.range, plain).await;
            Ok::<_, DataFusionError>(decode(reader.map_err(external)?))
        });
        let batches = batches.try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            batches,
        ))
    }
}

/// All rows, without compression, while anybody wants them.
fn plain(_: &Request) -> Wish {
    Wish {
        row: 0,
        end_row: None,
        codec: None,
        linger: Duration::ZERO,
    }
}

/// The batches of a reader's messages.
fn decode(reader: Reader) -> impl Stream<Item = Result<RecordBatch>> + Send {
    let schema = reader.run().schema.clone();
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
