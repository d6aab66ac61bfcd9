//! One message of an Arrow file as a batch.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use colonnade_core::wire::{
    BatchHeader, DecodeError, Message, MetadataVersion, SchemaField, SurveyedKind, SurveyedMessage,
    read_layout,
};
use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc;
use datafusion::arrow::ipc::reader::{read_dictionary, read_record_batch};
use flatbuffers::FlatBufferBuilder;

use super::body::Body;
use super::{ArrowFile, limits};

pub(super) type Result<T> = std::result::Result<T, ArrowError>;

/// Reads messages of one file one after the other, with the dictionaries that they need.
pub(super) struct BlockReader {
    file: Arc<ArrowFile>,
    /// Columns of the file, in the order in which they are wanted.
    columns: Vec<usize>,
    /// The dictionaries that those columns use.
    dictionary_ids: Vec<i64>,
    dictionaries: HashMap<i64, ArrayRef>,
    /// The message up to which dictionaries have been read.
    next_message: usize,
}

impl BlockReader {
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

    /// Rows `rows` of record batch message `index`, its wanted columns. Where the columns permit
    /// it nothing else is read. Blocks.
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
            return Err(damaged("it is no record batch"));
        };
        if end > header.num_rows {
            return Err(damaged("a batch has fewer rows than it had"));
        }
        let slots = read_layout(&header, &file.wire_schema.fields).map_err(|e| unsound(&e))?;
        let is_cut = end - start < header.num_rows && file.can_cut(&message, &self.columns);
        // Bitmaps are cut between bytes.
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
        let num_rows = if is_cut { end - first } else { header.num_rows };
        let mut builder = FlatBufferBuilder::new();
        let (root, bytes) = body.describe(&mut builder, num_rows);
        builder.finish_minimal(root);
        let described = flatbuffers::root::<ipc::RecordBatch>(builder.finished_data())
            .map_err(|error| damaged(&error.to_string()))?;
        let batch = read_record_batch(
            &bytes,
            described,
            Arc::clone(&file.schema),
            &self.dictionaries,
            Some(&self.columns),
            &version(&header),
        )?;
        if batch.num_rows() != num_rows {
            return Err(damaged("a batch has another number of rows than it says"));
        }
        Ok(if is_cut || end - start < num_rows {
            batch.slice(start - first, end - start)
        } else {
            batch
        })
    }

    /// Reads the dictionaries that stand before message `end` and have not been replaced there.
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
            return Err(damaged("it is no dictionary"));
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
        let mut builder = FlatBufferBuilder::new();
        let (data, bytes) = body.describe(&mut builder, header.values.num_rows);
        let arguments = ipc::DictionaryBatchArgs {
            id: header.id,
            data: Some(data),
            isDelta: header.is_delta,
        };
        let root = ipc::DictionaryBatch::create(&mut builder, &arguments);
        builder.finish_minimal(root);
        let described = flatbuffers::root::<ipc::DictionaryBatch>(builder.finished_data())
            .map_err(|error| damaged(&error.to_string()))?;
        read_dictionary(
            &bytes,
            described,
            &file.schema,
            &mut self.dictionaries,
            &version(&header.values),
        )
    }

    fn header(&self, message: SurveyedMessage) -> Result<(Message, u64)> {
        let bytes = self.file.file.read(message.start..message.body_start)?;
        let prefix = if bytes.starts_with(&[0xFF; 4]) { 8 } else { 4 };
        let metadata = bytes.get(prefix..).unwrap_or_default();
        let (header, body_bytes) = Message::read(metadata, &limits()).map_err(|e| unsound(&e))?;
        if body_bytes != message.end - message.body_start {
            return Err(damaged("its body has another length"));
        }
        Ok((header, message.body_start))
    }
}

/// The dictionaries that a column uses, wherever in it.
fn collect_ids(field: &SchemaField, ids: &mut Vec<i64>) {
    ids.extend(field.dictionary.as_ref().map(|dictionary| dictionary.id));
    for child in &field.children {
        collect_ids(child, ids);
    }
}

fn version(header: &BatchHeader) -> ipc::MetadataVersion {
    match header.version {
        MetadataVersion::V4 => ipc::MetadataVersion::V4,
        MetadataVersion::V5 => ipc::MetadataVersion::V5,
    }
}

pub(super) fn unsound(error: &DecodeError) -> ArrowError {
    damaged(&error.message)
}

pub(super) fn damaged(what: &str) -> ArrowError {
    ArrowError::IpcError(what.to_owned())
}
