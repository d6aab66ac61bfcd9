//! A result as a stream of its messages.

use futures::stream::BoxStream;

use crate::error::QueryError;
use crate::message::IpcMessage;

/// The messages of a result in row order.
pub struct ResultStream {
    /// The schema message.
    pub schema: IpcMessage,
    /// Dictionary batches and record batches. The result is complete if the stream ends without an error.
    pub messages: BoxStream<'static, Result<IpcMessage, QueryError>>,
    /// The number of the first row in the stream, counted from the start of the result.
    pub first_row: u64,
}
