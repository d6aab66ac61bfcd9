//! Converts the batches of an execution to messages.

use std::collections::VecDeque;

use futures::Stream;

use super::execution::{Batch, Execution};
use crate::backend::received::bad_engine;
use crate::backend::{Received, ReceivedSchema, split_stream};
use crate::error::QueryError;
use crate::message::IpcMessage;
use crate::order::Order;

/// The messages of an execution, each checked. A lost, duplicated or misplaced batch is an error if Spark
/// numbers its rows.
pub(super) fn messages(
    execution: Execution,
    schema: ReceivedSchema,
) -> impl Stream<Item = Result<IpcMessage, QueryError>> + Send {
    rows(execution, schema, None)
}

/// The same, if the first batch has already been received.
pub(super) fn messages_after(
    first: Batch,
    execution: Execution,
    schema: ReceivedSchema,
) -> impl Stream<Item = Result<IpcMessage, QueryError>> + Send {
    rows(execution, schema, Some(first))
}

fn rows(
    execution: Execution,
    schema: ReceivedSchema,
    first: Option<Batch>,
) -> impl Stream<Item = Result<IpcMessage, QueryError>> + Send {
    let rows = ExecutionMessages {
        execution,
        first,
        received: Received::new(schema),
        ready: VecDeque::new(),
    };
    futures::stream::try_unfold(rows, |mut rows| async move {
        Ok(rows.next().await?.map(|message| (message, rows)))
    })
}

struct ExecutionMessages {
    execution: Execution,
    first: Option<Batch>,
    received: Received,
    ready: VecDeque<IpcMessage>,
}

impl ExecutionMessages {
    async fn next(&mut self) -> Result<Option<IpcMessage>, QueryError> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            let batch = match self.first.take() {
                Some(first) => first,
                None => match self.execution.next().await? {
                    Some(next) => next,
                    None => return Ok(None),
                },
            };
            self.take(&batch)?;
        }
    }

    fn take(&mut self, batch: &Batch) -> Result<(), QueryError> {
        let first_row = self.received.num_rows();
        if let Some(start) = batch.first_row
            && u64::try_from(start) != Ok(first_row)
        {
            return Err(bad_engine(&format!(
                "a batch begins at row {start}, but row {first_row} was expected"
            )));
        }
        for (metadata, body) in split_stream(&batch.data)? {
            self.ready.extend(self.received.take(metadata, body)?);
        }
        let num_rows = self.received.num_rows() - first_row;
        if let Some(said) = batch.num_rows
            && u64::try_from(said) != Ok(num_rows)
        {
            return Err(bad_engine(&format!(
                "a batch was announced with {said} rows and has {num_rows}"
            )));
        }
        Ok(())
    }
}

/// The order of a result's rows, judged by one of its batches. Spark gives the first row of each batch; an
/// engine with the same protocol that does not give it promises no order.
pub(super) fn order_of(batch: &Batch) -> Order {
    match batch.first_row {
        Some(_) => Order::Partition,
        None => Order::None,
    }
}

/// The schema of the stream in a batch.
///
/// # Errors
/// `bad_engine`.
pub(super) fn schema_of(batch: &Batch) -> Result<ReceivedSchema, QueryError> {
    ReceivedSchema::of_stream(&batch.data, "a batch has no schema")
}
