//! The endpoints of a query as partitions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_flight::FlightInfo;
use arrow_flight::sql::Any;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use super::caller::{Caller, Messages};
use crate::backend::received::bad_engine;
use crate::backend::{Received, ReceivedSchema};
use crate::error::QueryError;
use crate::message::IpcMessage;
use crate::order::Partition;

/// The most endpoints of a query; more are most likely a mistake.
const MAX_ENDPOINTS: usize = 65_536;

/// A query that the engine has planned. If it and its partitions are dropped before all endpoints were read
/// to their ends, the query is cancelled.
pub(super) struct Query {
    caller: Arc<Caller>,
    info: FlightInfo,
    /// Endpoints that have not been read to their ends.
    num_left: AtomicUsize,
}

/// The messages of an endpoint. The stream ends without an error only after gRPC's status reports completion.
struct EndpointMessages {
    query: Arc<Query>,
    messages: Messages,
    received: Received,
    has_schema: bool,
}

impl Query {
    /// Asks the engine to plan a command.
    ///
    /// # Errors
    /// The engine's error.
    pub(super) async fn begin(
        caller: &Arc<Caller>,
        command: &Any,
    ) -> Result<Arc<Self>, QueryError> {
        let info = caller.info(command).await?;
        if info.endpoint.len() > MAX_ENDPOINTS {
            return Err(bad_engine(&format!(
                "the query has {} endpoints",
                info.endpoint.len()
            )));
        }
        Ok(Arc::new(Self {
            caller: Arc::clone(caller),
            num_left: AtomicUsize::new(info.endpoint.len()),
            info,
        }))
    }

    /// Whether the endpoints, one after the other, are the rows in order.
    pub(super) fn is_ordered(&self) -> bool {
        self.info.ordered
    }

    /// The schema, and the endpoints as partitions. The first endpoint is started, because its schema is that
    /// of the rows, whereas the plan's schema is often only similar.
    ///
    /// # Errors
    /// The first endpoint cannot be read.
    pub(super) async fn partitions(
        self: Arc<Self>,
    ) -> Result<(ReceivedSchema, Vec<Partition>), QueryError> {
        let Some(first) = self.info.endpoint.first() else {
            let missing = "the plan has neither endpoints nor a schema";
            let schema = ReceivedSchema::of_stream(&self.info.schema, missing)?;
            return Ok((schema, Vec::new()));
        };
        let mut messages = self.caller.get(first).await?;
        let schema = loop {
            let message = messages.next().await?;
            let message = message.ok_or_else(|| bad_engine("an endpoint has no schema"))?;
            if !message.data_header.is_empty() {
                break ReceivedSchema::read(&message.data_header)?;
            }
        };
        let first = EndpointMessages::new(&self, messages, &schema, true);
        let mut partitions: Vec<Partition> = vec![Box::new(move |_| first.stream())];
        for index in 1..self.info.endpoint.len() {
            let (query, schema) = (Arc::clone(&self), schema.clone());
            partitions.push(Box::new(move |_| {
                let begun = async move {
                    let messages = query.caller.get(&query.info.endpoint[index]).await?;
                    Ok::<_, QueryError>(
                        EndpointMessages::new(&query, messages, &schema, false).stream(),
                    )
                };
                futures::stream::once(begun).try_flatten().boxed()
            }));
        }
        Ok((schema, partitions))
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        if *self.num_left.get_mut() > 0 {
            self.caller.cancel(std::mem::take(&mut self.info));
        }
    }
}

impl EndpointMessages {
    fn new(
        query: &Arc<Query>,
        messages: Messages,
        schema: &ReceivedSchema,
        has_schema: bool,
    ) -> Self {
        Self {
            query: Arc::clone(query),
            messages,
            received: Received::new(schema.clone()),
            has_schema,
        }
    }

    fn stream(self) -> BoxStream<'static, Result<IpcMessage, QueryError>> {
        let rows = futures::stream::try_unfold(self, |mut rows| async move {
            Ok(rows.next().await?.map(|message| (message, rows)))
        });
        rows.boxed()
    }

    async fn next(&mut self) -> Result<Option<IpcMessage>, QueryError> {
        loop {
            let Some(data) = self.messages.next().await? else {
                if !self.has_schema {
                    return Err(bad_engine("an endpoint has no schema"));
                }
                self.query.num_left.fetch_sub(1, Ordering::Relaxed);
                return Ok(None);
            };
            if data.data_header.is_empty() {
                if data.data_body.is_empty() {
                    // Application metadata of the engine.
                    continue;
                }
                return Err(bad_engine("a message has a body and no header"));
            }
            match self.received.take(&data.data_header, &data.data_body)? {
                None => self.has_schema = true,
                Some(_) if !self.has_schema => {
                    return Err(bad_engine("rows came before their schema"));
                }
                Some(message) => return Ok(Some(message)),
            }
        }
    }
}
