//! One result as its messages, wherever they are kept.

use futures::stream::BoxStream;

use crate::error::QueryError;
use crate::message::IpcMessage;

/// The messages of a result in row order.
pub struct ResultStream {
    /// The schema message.
    pub schema: IpcMessage,
    /// Dictionary batches and record batches. Their end without an error is the word that the
    /// result is whole.
    pub messages: BoxStream<'static, Result<IpcMessage, QueryError>>,
    /// The number of the first row that comes, counted from the beginning of the result.
    pub first_row: u64,
}
