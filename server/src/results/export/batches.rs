use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::convert::fb_to_schema;
use datafusion::arrow::ipc::reader::{read_dictionary, read_record_batch};
use datafusion::arrow::ipc::root_as_message;

use super::not_exportable;
use crate::encode::cells::unreadable;
use crate::error::QueryError;
use crate::message::IpcMessage;

/// The schema that a schema message holds.
pub(crate) fn schema_of(schema: &IpcMessage) -> Result<SchemaRef, QueryError> {
    let message = root_as_message(&schema.metadata).map_err(unreadable)?;
    let schema = message.header_as_schema();
    let schema = schema.ok_or_else(|| unreadable("it is not a schema"))?;
    Ok(Arc::new(fb_to_schema(schema)))
}

/// Reads messages of this server as record batches, without a copy unless they are compressed.
pub(super) struct BatchReader {
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
}

impl BatchReader {
    pub(super) fn try_new(schema: &IpcMessage) -> Result<Self, QueryError> {
        Ok(Self {
            schema: schema_of(schema)?,
            dictionaries: HashMap::new(),
        })
    }

    /// The record batch; `None` for a message without rows. Dictionaries are kept for later batches.
    pub(super) fn read(&mut self, message: &IpcMessage) -> Result<Option<RecordBatch>, QueryError> {
        let header = root_as_message(&message.metadata).map_err(unreadable)?;
        let version = header.version();
        let body = Buffer::from(message.body.clone());
        if let Some(dictionary) = header.header_as_dictionary_batch() {
            let dictionaries = &mut self.dictionaries;
            read_dictionary(&body, dictionary, &self.schema, dictionaries, &version)
                .map_err(unreadable)?;
            return Ok(None);
        }
        let batch = header.header_as_record_batch();
        let Some(batch) = batch.filter(|batch| batch.length() > 0) else {
            return Ok(None);
        };
        let schema = SchemaRef::clone(&self.schema);
        read_record_batch(&body, batch, schema, &self.dictionaries, None, &version)
            .map(Some)
            .map_err(unreadable)
    }
}

/// The batch with each column cast to its type in `schema`.
///
/// # Errors
/// `not_exportable`: a value does not fit the type.
pub(super) fn cast_batch(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> Result<RecordBatch, QueryError> {
    // A value that does not fit is an error, not a null.
    let exact = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let columns = batch
        .columns()
        .iter()
        .zip(schema.fields())
        .map(|(column, field)| {
            cast_with_options(column, field.data_type(), &exact).map_err(|error| {
                not_exportable(
                    format!("column {:?} cannot be written: {error}", field.name()),
                    "export another format, or leave the column out or cast it in the query",
                )
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(SchemaRef::clone(schema), columns, &options)
        .map_err(unreadable)
}
