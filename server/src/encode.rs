//! From record batches to framed messages of a good size.

use std::sync::Arc;

use bytes::Bytes;
use datafusion::arrow::array::{
    Array, ArrayRef, BinaryViewArray, RecordBatch, RecordBatchOptions, StringViewArray,
};
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, Fields, Schema, SchemaRef, UnionFields,
};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::{StreamEncoder, StreamWriter};

use crate::message::{IpcMessage, MessageKind};

/// Rows of the very first message, so that they are on a screen at once.
pub const FIRST_MESSAGE_ROWS: usize = 1024;

/// The schema as it goes over the wire: dictionaries are unpacked to their values, so that
/// messages can be encoded in parallel, cut and repeated on their own.
pub fn wire_schema(schema: &Schema) -> SchemaRef {
    let fields: Fields = schema.fields().iter().map(wire_field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn wire_field(field: &FieldRef) -> FieldRef {
    let unpacked = wire_type(field.data_type());
    if &unpacked == field.data_type() {
        return Arc::clone(field);
    }
    // A new field, because `with_data_type` would keep the dictionary's id and order.
    Arc::new(
        Field::new(field.name(), unpacked, field.is_nullable())
            .with_metadata(field.metadata().clone()),
    )
}

fn wire_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, value) => wire_type(value),
        DataType::List(item) => DataType::List(wire_field(item)),
        DataType::LargeList(item) => DataType::LargeList(wire_field(item)),
        DataType::ListView(item) => DataType::ListView(wire_field(item)),
        DataType::LargeListView(item) => DataType::LargeListView(wire_field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(wire_field(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(wire_field(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(wire_field).collect()),
        DataType::RunEndEncoded(ends, values) => {
            DataType::RunEndEncoded(Arc::clone(ends), wire_field(values))
        }
        DataType::Union(fields, mode) => {
            let fields: UnionFields = fields.iter().map(|(id, f)| (id, wire_field(f))).collect();
            DataType::Union(fields, *mode)
        }
        other => other.clone(),
    }
}

/// The schema message of a stream.
///
/// # Errors
/// A type that the IPC format cannot carry.
pub fn schema_message(schema: &Schema) -> Result<IpcMessage, ArrowError> {
    let writer = StreamWriter::try_new(Vec::new(), schema)?;
    let bytes = Bytes::from(writer.get_ref().clone());
    Ok(IpcMessage {
        kind: MessageKind::Schema,
        bytes,
        num_rows: 0,
    })
}

/// Encodes the batches of one part. Small batches are gathered, large ones cut, so that a message
/// holds about `batch_bytes`.
pub struct Encoder {
    schema: SchemaRef,
    encoder: StreamEncoder,
    batch_bytes: usize,
    first_rows: Option<usize>,
    gathered: Vec<RecordBatch>,
    gathered_bytes: usize,
}

impl Encoder {
    /// An encoder for batches that can be cast to `schema` (a [`wire_schema`]).
    ///
    /// # Errors
    /// A type that the IPC format cannot carry.
    pub fn try_new(
        schema: SchemaRef,
        batch_bytes: usize,
        first_rows: Option<usize>,
    ) -> Result<Self, ArrowError> {
        let mut encoder = StreamEncoder::try_new(&schema)?;
        // The first call also yields the schema, which is sent once for all parts.
        encoder.encode(&RecordBatch::new_empty(Arc::clone(&schema)))?;
        Ok(Self {
            schema,
            encoder,
            batch_bytes,
            first_rows,
            gathered: Vec::new(),
            gathered_bytes: 0,
        })
    }

    /// Takes a batch; returns the messages that are full.
    ///
    /// # Errors
    /// The batch cannot be cast to the wire schema or encoded.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<Vec<IpcMessage>, ArrowError> {
        let mut out = Vec::new();
        if batch.num_rows() == 0 {
            return Ok(out);
        }
        let mut batch = self.unpack(batch)?;
        if let Some(first_rows) = self.first_rows.take() {
            let head = batch.slice(0, first_rows.min(batch.num_rows()));
            out.push(self.encode(&head)?);
            batch = batch.slice(head.num_rows(), batch.num_rows() - head.num_rows());
            if batch.num_rows() == 0 {
                return Ok(out);
            }
        }
        let bytes = batch_bytes(&batch);
        if self.gathered_bytes + bytes < self.batch_bytes {
            self.gathered_bytes += bytes;
            self.gathered.push(batch);
            return Ok(out);
        }
        if bytes < self.batch_bytes / 4 || self.gathered_bytes + bytes < self.batch_bytes * 3 / 2 {
            self.gathered_bytes += bytes;
            self.gathered.push(batch);
            self.flush_into(&mut out)?;
        } else {
            self.flush_into(&mut out)?;
            self.cut_into(&batch, bytes, &mut out)?;
        }
        Ok(out)
    }

    /// The messages of what was gathered so far.
    ///
    /// # Errors
    /// As [`Encoder::push`].
    pub fn flush(&mut self) -> Result<Vec<IpcMessage>, ArrowError> {
        let mut out = Vec::new();
        self.flush_into(&mut out)?;
        Ok(out)
    }

    /// Whether rows wait for more.
    pub fn is_gathering(&self) -> bool {
        !self.gathered.is_empty()
    }

    fn flush_into(&mut self, out: &mut Vec<IpcMessage>) -> Result<(), ArrowError> {
        let gathered = std::mem::take(&mut self.gathered);
        let bytes = std::mem::take(&mut self.gathered_bytes);
        match gathered.as_slice() {
            [] => Ok(()),
            [one] => self.cut_into(one, bytes, out),
            many => match concat_batches(&self.schema, many) {
                Ok(batch) => self.cut_into(&batch, bytes, out),
                // Not every type can be concatenated; a small message is better than none.
                Err(_) => {
                    for batch in many {
                        let message = self.encode(batch)?;
                        out.push(message);
                    }
                    Ok(())
                }
            },
        }
    }

    fn cut_into(
        &mut self,
        batch: &RecordBatch,
        bytes: usize,
        out: &mut Vec<IpcMessage>,
    ) -> Result<(), ArrowError> {
        let num_rows = batch.num_rows();
        let num_pieces = bytes
            .div_ceil(self.batch_bytes.saturating_mul(5) / 4)
            .clamp(1, num_rows.max(1));
        let rows_per_piece = num_rows.div_ceil(num_pieces).max(1);
        let mut start = 0;
        while start < num_rows {
            let rows = rows_per_piece.min(num_rows - start);
            let piece = batch.slice(start, rows);
            let message = self.encode(&piece)?;
            out.push(message);
            start += rows;
        }
        Ok(())
    }

    fn encode(&mut self, batch: &RecordBatch) -> Result<IpcMessage, ArrowError> {
        let buffers = self.encoder.encode(&compact_views(batch)?)?;
        let mut bytes = Vec::with_capacity(buffers.iter().map(|buffer| buffer.len()).sum());
        for buffer in &buffers {
            bytes.extend_from_slice(buffer.as_slice());
        }
        Ok(IpcMessage {
            kind: MessageKind::Batch,
            bytes: Bytes::from(bytes),
            num_rows: batch.num_rows() as u64,
        })
    }

    fn unpack(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let columns = batch
            .columns()
            .iter()
            .zip(self.schema.fields())
            .map(|(column, field)| {
                if column.data_type() == field.data_type() {
                    Ok(Arc::clone(column))
                } else {
                    cast(column, field.data_type())
                }
            })
            .collect::<Result<Vec<ArrayRef>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
    }
}

/// Copies what a view column refers to, where its buffers hold much more: a view array keeps all
/// of them, however few rows are left of it.
fn compact_views(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let has_views = batch
        .columns()
        .iter()
        .any(|c| matches!(c.data_type(), DataType::Utf8View | DataType::BinaryView));
    if !has_views {
        return Ok(batch.clone());
    }
    let columns = batch
        .columns()
        .iter()
        .map(|column| {
            if let Some(views) = column.as_any().downcast_ref::<StringViewArray>() {
                let held: usize = views.data_buffers().iter().map(|b| b.len()).sum();
                if held > 2 * views.total_buffer_bytes_used() {
                    return Arc::new(views.gc()) as ArrayRef;
                }
            } else if let Some(views) = column.as_any().downcast_ref::<BinaryViewArray>() {
                let held: usize = views.data_buffers().iter().map(|b| b.len()).sum();
                if held > 2 * views.total_buffer_bytes_used() {
                    return Arc::new(views.gc()) as ArrayRef;
                }
            }
            Arc::clone(column)
        })
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
}

/// Roughly the bytes that a batch takes on the wire.
fn batch_bytes(batch: &RecordBatch) -> usize {
    let columns: usize = batch
        .columns()
        .iter()
        .map(|column| match column.data_type() {
            DataType::Utf8View | DataType::BinaryView => {
                16 * column.len() + view_bytes(column.as_ref())
            }
            _ => {
                let data = column.to_data();
                data.get_slice_memory_size()
                    .unwrap_or_else(|_| column.get_array_memory_size())
            }
        })
        .sum();
    columns.max(batch.num_rows() / 8)
}

fn view_bytes(column: &dyn Array) -> usize {
    if let Some(views) = column.as_any().downcast_ref::<StringViewArray>() {
        views.total_buffer_bytes_used()
    } else if let Some(views) = column.as_any().downcast_ref::<BinaryViewArray>() {
        views.total_buffer_bytes_used()
    } else {
        0
    }
}

/// Cuts rows `[start, start + num_rows)` out of an encoded batch.
///
/// # Errors
/// The message is not a batch of that schema.
pub fn cut_message(
    schema: &IpcMessage,
    message: &IpcMessage,
    start: u64,
    num_rows: u64,
) -> Result<IpcMessage, ArrowError> {
    let mut stream = Vec::with_capacity(schema.num_bytes() + message.num_bytes());
    stream.extend_from_slice(&schema.bytes);
    stream.extend_from_slice(&message.bytes);
    let mut reader = StreamReader::try_new(stream.as_slice(), None)?;
    let batch = reader
        .next()
        .ok_or_else(|| ArrowError::IpcError("a message without a batch".into()))??;
    let piece = batch.slice(start as usize, num_rows as usize);
    Encoder::try_new(batch.schema(), usize::MAX / 8, None)?.encode(&piece)
}

/// An encoded batch of no rows: a sign of life on a silent stream.
///
/// # Errors
/// A type that the IPC format cannot carry.
pub fn empty_batch_message(schema: SchemaRef) -> Result<IpcMessage, ArrowError> {
    let batch = RecordBatch::new_empty(Arc::clone(&schema));
    Encoder::try_new(schema, 1, None)?.encode(&batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{DictionaryArray, Int64Array, StringArray};
    use datafusion::arrow::datatypes::Int32Type;

    fn read(schema: &IpcMessage, messages: &[IpcMessage]) -> RecordBatch {
        let mut bytes = schema.bytes.to_vec();
        for message in messages {
            bytes.extend_from_slice(&message.bytes);
        }
        let batches: Vec<_> = StreamReader::try_new(bytes.as_slice(), None)
            .unwrap()
            .map(|b| b.unwrap())
            .collect();
        concat_batches(&batches[0].schema(), &batches).unwrap()
    }

    fn numbers(num_rows: i64) -> RecordBatch {
        let text = StringArray::from_iter_values((0..num_rows).map(|k| format!("row {k}")));
        RecordBatch::try_from_iter([
            (
                "n",
                Arc::new(Int64Array::from_iter_values(0..num_rows)) as ArrayRef,
            ),
            ("t", Arc::new(text) as ArrayRef),
        ])
        .unwrap()
    }

    #[test]
    fn first_message_is_small_and_the_rest_near_the_target() {
        let batch = numbers(100_000);
        let schema = wire_schema(&batch.schema());
        let mut encoder = Encoder::try_new(Arc::clone(&schema), 64 << 10, Some(1024)).unwrap();
        let mut messages = encoder.push(&batch).unwrap();
        messages.extend(encoder.flush().unwrap());
        assert_eq!(messages[0].num_rows, 1024);
        assert_eq!(messages.iter().map(|m| m.num_rows).sum::<u64>(), 100_000);
        for message in &messages[1..] {
            assert!(
                (16 << 10..128 << 10).contains(&message.num_bytes()),
                "{}",
                message.num_bytes()
            );
        }
        assert_eq!(read(&schema_message(&schema).unwrap(), &messages), batch);
    }

    #[test]
    fn small_batches_are_gathered() {
        let batch = numbers(10);
        let mut encoder = Encoder::try_new(wire_schema(&batch.schema()), 64 << 10, None).unwrap();
        let mut messages = Vec::new();
        for _ in 0..1000 {
            messages.extend(encoder.push(&batch).unwrap());
        }
        messages.extend(encoder.flush().unwrap());
        assert!(!encoder.is_gathering());
        assert!(messages.len() < 10, "{}", messages.len());
        assert_eq!(messages.iter().map(|m| m.num_rows).sum::<u64>(), 10_000);
    }

    #[test]
    fn dictionaries_are_unpacked() {
        let dictionary: DictionaryArray<Int32Type> =
            vec![Some("a"), None, Some("a")].into_iter().collect();
        let batch = RecordBatch::try_from_iter([("d", Arc::new(dictionary) as ArrayRef)]).unwrap();
        let schema = wire_schema(&batch.schema());
        assert_eq!(schema.field(0).data_type(), &DataType::Utf8);
        let mut encoder = Encoder::try_new(Arc::clone(&schema), 1, None).unwrap();
        let mut messages = encoder.push(&batch).unwrap();
        messages.extend(encoder.flush().unwrap());
        let read = read(&schema_message(&schema).unwrap(), &messages);
        let expected = StringArray::from(vec![Some("a"), None, Some("a")]);
        assert_eq!(read.column(0).as_ref(), &expected as &dyn Array);
    }

    #[test]
    fn a_slice_of_views_leaves_the_rest_behind() {
        let long = StringViewArray::from_iter_values(
            (0..10_000).map(|k| format!("a rather long text {k}")),
        );
        let batch = RecordBatch::try_from_iter([("v", Arc::new(long) as ArrayRef)]).unwrap();
        let mut encoder =
            Encoder::try_new(wire_schema(&batch.schema()), 1 << 20, Some(10)).unwrap();
        let messages = encoder.push(&batch).unwrap();
        assert!(
            messages[0].num_bytes() < 2_000,
            "{}",
            messages[0].num_bytes()
        );
    }

    #[test]
    fn cut() {
        let batch = numbers(100);
        let schema = schema_message(&batch.schema()).unwrap();
        let mut encoder = Encoder::try_new(batch.schema(), 1 << 20, None).unwrap();
        encoder.push(&batch).unwrap();
        let message = encoder.flush().unwrap().remove(0);
        let piece = cut_message(&schema, &message, 7, 5).unwrap();
        assert_eq!(piece.num_rows, 5);
        assert_eq!(read(&schema, &[piece]), batch.slice(7, 5));
    }
}
