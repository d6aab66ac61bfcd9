//! Reads messages of an Arrow file as batches.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use colonnade_core::decode::check_batch;
use colonnade_core::wire::{
    Message, MetadataVersion, SchemaField, SurveyedKind, SurveyedMessage, read_layout, write_batch,
};
use datafusion::arrow::array::{
    Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, RecordBatchOptions,
    downcast_dictionary_array,
};
use datafusion::arrow::datatypes::ArrowDictionaryKeyType;
use datafusion::arrow::ipc::reader::{read_dictionary, read_record_batch};
use datafusion::arrow::ipc::root_as_message;

use super::body::Body;
use super::error::{Result, damaged, unsound};
use super::{ArrowFile, limits};
use crate::message::{IpcMessage, MessageKind};

/// Reads messages of one file in order, with the dictionaries that they need.
pub(super) struct BatchReader {
    file: Arc<ArrowFile>,
    /// The requested columns of the file, in the requested order.
    columns: Vec<usize>,
    /// The dictionaries that those columns use.
    dictionary_ids: Vec<i64>,
    dictionaries: HashMap<i64, ArrayRef>,
    /// The index of the next message that may be an unread dictionary.
    next_message: usize,
}

impl BatchReader {
    pub(super) fn new(file: Arc<ArrowFile>, columns: Vec<usize>) -> Self {
        let mut dictionary_ids = Vec::new();
        for column in &columns {
            collect_ids(&file.wire_schema.fields[*column], &mut dictionary_ids);
        }
        Self {
            file,
            columns,
            dictionary_ids,
            dictionaries: HashMap::new(),
            next_message: 0,
        }
    }

    /// Reads rows `rows` of record batch message `index`, with the requested columns. If the columns
    /// permit it, other rows are not read. Blocks.
    pub(super) fn read(&mut self, index: usize, rows: &Range<u64>) -> Result<RecordBatch> {
        let (start, end) = (rows.start as usize, rows.end as usize);
        if self.columns.is_empty() {
            let schema = Arc::new(self.file.schema.project(&[])?);
            let options = RecordBatchOptions::new().with_row_count(Some(end - start));
            return RecordBatch::try_new_with_options(schema, vec![], &options);
        }
        self.read_dictionaries(index)?;
        let file = Arc::clone(&self.file);
        let message = file.messages[index];
        let (Message::Batch(header), body_start) = self.header(message)? else {
            return Err(damaged("the message is not a record batch"));
        };
        if end > header.num_rows {
            return Err(damaged(
                "a batch has fewer rows than when the file was opened",
            ));
        }
        let slots = read_layout(&header, &file.wire_schema.fields).map_err(|e| unsound(&e))?;
        let is_cut = end - start < header.num_rows && file.can_cut(&message, &self.columns);
        // Bitmaps can only be cut between bytes.
        let first = if is_cut { start / 8 * 8 } else { 0 };
        let mut body = Body::new(&file, &header, body_start);
        for (column, slot) in slots.iter().enumerate() {
            if !self.columns.contains(&column) {
                body.leave_out(slot);
            } else if is_cut {
                body.take_rows(slot, first..end)?;
            } else {
                body.take(slot)?;
            }
        }
        file.file.confirm()?;
        let num_rows = if is_cut { end - first } else { header.num_rows };
        let (header, bytes) = body.finish(num_rows);
        let metadata = write_batch(&header, None, bytes.len());
        let message = root_as_message(&metadata).map_err(|error| damaged(&error.to_string()))?;
        let batch = message.header_as_record_batch();
        let batch = read_record_batch(
            &bytes,
            batch.ok_or_else(|| damaged("the message is not a record batch"))?,
            Arc::clone(&file.schema),
            &self.dictionaries,
            Some(&self.columns),
            &message.version(),
        )
        .map_err(|error| damaged(&error.to_string()))?;
        if batch.num_rows() != num_rows {
            return Err(damaged(
                "the number of rows of a batch differs from its header",
            ));
        }
        let columns = batch.columns().iter().map(null_where_value_is);
        let batch = RecordBatch::try_new(batch.schema(), columns.collect())?;
        Ok(if is_cut || end - start < num_rows {
            batch.slice(start - first, end - start)
        } else {
            batch
        })
    }

    /// What reading each of the requested columns of record batch message `index` takes, according to the file: its
    /// buffers, and as much again while they grow. Blocks.
    pub(super) fn column_bytes(&self, index: usize) -> Result<Vec<u64>> {
        let (Message::Batch(header), body_start) = self.header(self.file.messages[index])? else {
            return Err(damaged("the message is not a record batch"));
        };
        let fields = &self.file.wire_schema.fields;
        let slots = read_layout(&header, fields).map_err(|e| unsound(&e))?;
        let body = Body::new(&self.file, &header, body_start);
        let columns = self.columns.iter();
        let held = |column: &usize| Ok(2 * body.num_bytes(&slots[*column])?);
        columns.map(held).collect()
    }

    /// The whole record batch message `index`, with all columns and the unchanged body of the file,
    /// after checking it. `None` if the batch must be decoded instead; decoding then also reports what
    /// is wrong with it. Blocks.
    pub(super) fn pass(&self, index: usize) -> Result<Option<IpcMessage>> {
        let (file, fields) = (&self.file.file, &self.file.wire_schema.fields);
        let message = self.file.messages[index];
        let (Message::Batch(header), body_start) = self.header(message)? else {
            return Err(damaged("the message is not a record batch"));
        };
        let slots = read_layout(&header, fields).map_err(|e| unsound(&e))?;
        let num_rows = header.num_rows as u64;
        let is_as_surveyed = message.kind
            == SurveyedKind::Batch {
                num_rows,
                is_compressed: false,
            };
        let is_aligned = header
            .buffers
            .iter()
            .all(|range| range.offset.is_multiple_of(8))
            && (message.end - body_start).is_multiple_of(8);
        let mut columns = slots.iter().zip(fields);
        let may_be_null =
            columns.all(|(slot, field)| field.field.is_nullable() || slot.node.null_count == 0);
        let is_plain = header.version == MetadataVersion::V5 && header.compression.is_none();
        if !(is_as_surveyed && is_aligned && may_be_null && is_plain) {
            return Ok(None);
        }
        let body = file.read_unconfirmed(body_start..message.end)?;
        file.confirm()?;
        if check_batch(&slots, fields, &body).is_err() {
            return Ok(None);
        }
        Ok(Some(IpcMessage {
            kind: MessageKind::Batch,
            metadata: Bytes::from(write_batch(&header, None, body.len())),
            body,
            num_rows,
        }))
    }

    /// Reads the dictionaries before message `end` that have not been replaced there.
    fn read_dictionaries(&mut self, end: usize) -> Result<()> {
        let file = Arc::clone(&self.file);
        let start = self.next_message.min(end);
        let mut replaced_at = HashMap::new();
        for (index, message) in file.messages[start..end].iter().enumerate() {
            if let SurveyedKind::Dictionary {
                id,
                is_delta: false,
            } = message.kind
            {
                replaced_at.insert(id, index);
            }
        }
        for (index, message) in file.messages[start..end].iter().enumerate() {
            if let SurveyedKind::Dictionary { id, .. } = message.kind
                && self.dictionary_ids.contains(&id)
                && replaced_at.get(&id).is_none_or(|at| *at <= index)
            {
                self.read_dictionary(*message)?;
            }
        }
        self.next_message = end;
        Ok(())
    }

    fn read_dictionary(&mut self, message: SurveyedMessage) -> Result<()> {
        let (Message::Dictionary(header), body_start) = self.header(message)? else {
            return Err(damaged("the message is not a dictionary"));
        };
        let file = Arc::clone(&self.file);
        let field = file
            .wire_schema
            .dictionary_field(header.id)
            .ok_or_else(|| damaged("no column uses the dictionary"))?
            .dictionary_values();
        let slots = read_layout(&header.values, std::slice::from_ref(&field))
            .map_err(|error| unsound(&error))?;
        let mut body = Body::new(&file, &header.values, body_start);
        for slot in &slots {
            body.take(slot)?;
        }
        file.file.confirm()?;
        let (values, bytes) = body.finish(header.values.num_rows);
        let metadata = write_batch(&values, Some((header.id, header.is_delta)), bytes.len());
        let message = root_as_message(&metadata).map_err(|error| damaged(&error.to_string()))?;
        let dictionary = message.header_as_dictionary_batch();
        read_dictionary(
            &bytes,
            dictionary.ok_or_else(|| damaged("the message is not a dictionary"))?,
            &file.schema,
            &mut self.dictionaries,
            &message.version(),
        )
        .map_err(|error| damaged(&error.to_string()))
    }

    /// The header of a message. The caller must still confirm that the file has not changed.
    fn header(&self, message: SurveyedMessage) -> Result<(Message, u64)> {
        let file = &self.file.file;
        let bytes = file.read_unconfirmed(message.start..message.body_start)?;
        let prefix = if bytes.starts_with(&[0xFF; 4]) { 8 } else { 4 };
        let metadata = bytes.get(prefix..).unwrap_or_default();
        let (header, body_bytes) = Message::read(metadata, &limits()).map_err(|e| unsound(&e))?;
        if body_bytes != message.end - message.body_start {
            return Err(damaged("the length of a message has changed"));
        }
        Ok((header, message.body_start))
    }
}

/// A dictionary whose keys are null where their values are. Arrow 59.3 casts it to views without looking at the values
/// ([PR 10510](https://github.com/apache/arrow-rs/pull/10510), in later versions).
fn null_where_value_is(column: &ArrayRef) -> ArrayRef {
    fn keyed<K: ArrowDictionaryKeyType>(column: &DictionaryArray<K>) -> ArrayRef {
        let keys = column.keys().values().clone();
        let keys = PrimitiveArray::<K>::new(keys, column.logical_nulls());
        Arc::new(DictionaryArray::new(keys, Arc::clone(column.values())))
    }
    downcast_dictionary_array!(
        column => if column.values().null_count() > 0 {
            return keyed(column);
        },
        _ => {}
    );
    Arc::clone(column)
}

/// The dictionaries that a column uses, at any depth.
pub(super) fn collect_ids(field: &SchemaField, ids: &mut Vec<i64>) {
    ids.extend(field.dictionary.as_ref().map(|dictionary| dictionary.id));
    for child in &field.children {
        collect_ids(child, ids);
    }
}
