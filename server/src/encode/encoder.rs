//! Encodes the messages of one partition.

use std::sync::Arc;

use bytes::Bytes;
use colonnade_core::wire::Codec;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::writer::{
    DictionaryHandling, DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteContext,
    IpcWriteOptions,
};
use datafusion::arrow::ipc::{CompressionType, root_as_message};

use crate::encode::unions::copy_listed_unions;
use crate::encode::unpack::unpack;
use crate::encode::views::{batch_bytes, compact_views, value_bytes};
use crate::message::{IpcMessage, MessageKind};

/// Number of rows of the first message of a result; small, so that they are on the screen at once.
pub const FIRST_MESSAGE_ROWS: usize = 1024;

/// Encodes the batches of one partition. Small batches are gathered and large ones cut, so that a
/// message holds about `batch_bytes` before compression. A dictionary is sent when it changes: as a
/// delta if it only grew, otherwise in full.
pub struct Encoder {
    schema: SchemaRef,
    generator: IpcDataGenerator,
    dictionaries: DictionaryTracker,
    options: IpcWriteOptions,
    context: IpcWriteContext,
    batch_bytes: usize,
    first_rows: Option<usize>,
    gathered: Vec<RecordBatch>,
    gathered_bytes: usize,
}

impl Encoder {
    /// An encoder for batches that can be cast to `schema` (a [`wire_schema`](super::wire_schema)).
    ///
    /// # Errors
    /// The codec is not compiled into this program.
    pub fn try_new(
        schema: SchemaRef,
        batch_bytes: usize,
        first_rows: Option<usize>,
        codec: Option<Codec>,
    ) -> Result<Self, ArrowError> {
        let options = IpcWriteOptions::default()
            .with_dictionary_handling(DictionaryHandling::Delta)
            .try_with_compression(codec.map(compression_type))?;
        let generator = IpcDataGenerator::default();
        let mut dictionaries = DictionaryTracker::new(false);
        // Assigns an id to each dictionary. The schema itself is sent once for all partitions.
        generator.schema_to_bytes_with_dictionary_tracker(&schema, &mut dictionaries, &options);
        Ok(Self {
            schema,
            generator,
            dictionaries,
            options,
            context: IpcWriteContext::default(),
            batch_bytes,
            first_rows,
            gathered: Vec::new(),
            gathered_bytes: 0,
        })
    }

    /// Adds a batch. Returns the batches of the messages that are full, which are to be encoded in this order.
    ///
    /// # Errors
    /// The batch cannot be cast to the wire schema.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>, ArrowError> {
        let mut out = Vec::new();
        if batch.num_rows() == 0 {
            return Ok(out);
        }
        let mut batch = self.unpack(batch)?;
        if let Some(first_rows) = self.first_rows.take() {
            let head = batch.slice(0, first_rows.min(batch.num_rows()));
            self.cut_into(&head, batch_bytes(&head), &mut out);
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
            out.extend(self.flush());
        } else {
            out.extend(self.flush());
            self.cut_into(&batch, bytes, &mut out);
        }
        Ok(out)
    }

    /// The batches of the gathered rows, as [`Encoder::push`] returns them.
    pub fn flush(&mut self) -> Vec<RecordBatch> {
        let gathered = std::mem::take(&mut self.gathered);
        let bytes = std::mem::take(&mut self.gathered_bytes);
        let mut out = Vec::new();
        match gathered.as_slice() {
            [] => {}
            [one] => self.cut_into(one, bytes, &mut out),
            many => match concat_batches(&self.schema, many) {
                Ok(batch) => self.cut_into(&batch, bytes, &mut out),
                // Not every type can be concatenated, and joined dictionaries may have more values than
                // their keys can address. Small messages are better than an error.
                Err(_) => return gathered,
            },
        }
        out
    }

    /// Bytes of the gathered rows.
    pub fn gathered_bytes(&self) -> usize {
        self.gathered_bytes
    }

    fn cut_into(&self, batch: &RecordBatch, bytes: usize, out: &mut Vec<RecordBatch>) {
        let num_rows = batch.num_rows();
        let num_ranges = bytes
            .div_ceil(self.batch_bytes.saturating_mul(5) / 4)
            .clamp(1, num_rows.max(1));
        let rows_per_piece = num_rows.div_ceil(num_ranges).max(1);
        let mut start = 0;
        while start < num_rows {
            let piece = batch.slice(start, rows_per_piece.min(num_rows - start));
            start += piece.num_rows();
            // Some rows may be much larger than others.
            let value_bytes = value_bytes(&piece);
            if num_ranges > 1 && value_bytes > self.batch_bytes.saturating_mul(2) {
                self.cut_into(&piece, value_bytes, out);
            } else {
                out.push(piece);
            }
        }
    }

    /// Encodes one batch without gathering or cutting: first the dictionaries that changed, then the
    /// batch.
    ///
    /// # Errors
    /// The IPC format does not support a type.
    pub fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<IpcMessage>, ArrowError> {
        let (dictionaries, encoded) = self.generator.encode(
            &copy_listed_unions(compact_views(batch)?)?,
            &mut self.dictionaries,
            &self.options,
            &mut self.context,
        )?;
        let mut out = Vec::with_capacity(dictionaries.len() + 1);
        for dictionary in dictionaries {
            let kind = dictionary_kind(&dictionary.ipc_message)?;
            out.push(message(kind, dictionary, 0));
        }
        out.push(message(
            MessageKind::Batch,
            encoded,
            batch.num_rows() as u64,
        ));
        Ok(out)
    }

    fn unpack(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let columns = batch
            .columns()
            .iter()
            .zip(self.schema.fields())
            .map(|(column, field)| unpack(column, field.data_type()))
            .collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
    }
}

fn compression_type(codec: Codec) -> CompressionType {
    match codec {
        Codec::Lz4 => CompressionType::LZ4_FRAME,
        Codec::Zstd => CompressionType::ZSTD,
    }
}

fn message(kind: MessageKind, mut encoded: EncodedData, num_rows: u64) -> IpcMessage {
    // The body grew by doubling. Its unused capacity would stay in memory, uncounted, as long as the
    // message.
    encoded.arrow_data.shrink_to_fit();
    IpcMessage {
        kind,
        metadata: Bytes::from(encoded.ipc_message),
        body: Bytes::from(encoded.arrow_data),
        num_rows,
    }
}

fn dictionary_kind(metadata: &[u8]) -> Result<MessageKind, ArrowError> {
    let broken = || ArrowError::IpcError("a dictionary was encoded as something else".into());
    let message = root_as_message(metadata).map_err(|_| broken())?;
    let dictionary = message.header_as_dictionary_batch().ok_or_else(broken)?;
    Ok(MessageKind::Dictionary {
        id: dictionary.id(),
        is_delta: dictionary.isDelta(),
    })
}

/// A batch of no rows. It keeps an idle stream alive, and carries the totals at the end of a stream.
#[derive(Debug, Clone)]
pub struct EmptyBatch {
    /// Empty dictionaries, for a stream that has not sent any.
    pub dictionaries: Vec<IpcMessage>,
    /// The batch.
    pub batch: IpcMessage,
}

impl EmptyBatch {
    /// An empty batch of `schema`.
    ///
    /// # Errors
    /// The IPC format does not support a type.
    pub fn try_new(schema: &SchemaRef) -> Result<Self, ArrowError> {
        let mut dictionaries = Encoder::try_new(Arc::clone(schema), 1, None, None)?
            .encode(&RecordBatch::new_empty(Arc::clone(schema)))?;
        let batch = dictionaries
            .pop()
            .ok_or_else(|| ArrowError::IpcError("an empty batch gave no message".into()))?;
        Ok(Self {
            dictionaries,
            batch,
        })
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{ArrayRef, Float64Array, StringArray};

    use super::*;

    #[test]
    fn no_message_of_large_values_is_much_larger_than_wanted() {
        const BATCH_BYTES: usize = 100_000;
        // All large values are neighbours, within the first message and behind it.
        let is_large = |row| row < 500 || (2000..2500).contains(&row);
        let texts = (0..3000).map(|row| "x".repeat(if is_large(row) { 5000 } else { 1 }));
        let texts = StringArray::from_iter_values(texts);
        let batch = RecordBatch::try_from_iter([("text", Arc::new(texts) as ArrayRef)]).unwrap();
        let mut encoder =
            Encoder::try_new(batch.schema(), BATCH_BYTES, Some(FIRST_MESSAGE_ROWS), None).unwrap();
        let mut pieces = encoder.push(&batch).unwrap();
        pieces.extend(encoder.flush());
        let num_rows: usize = pieces.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(num_rows, 3000);
        let message_bytes = |piece| encoder.encode(piece).unwrap()[0].body.len();
        let largest = pieces.iter().map(message_bytes).max();
        assert!(largest.unwrap() < 3 * BATCH_BYTES, "{largest:?}");
    }

    #[test]
    fn a_message_holds_no_memory_beside_its_bytes() {
        let texts = StringArray::from_iter_values((0..70_000).map(|row| row.to_string()));
        let numbers = Float64Array::from_iter_values((0..70_000).map(f64::from));
        let batch = RecordBatch::try_from_iter([
            ("text", Arc::new(texts) as ArrayRef),
            ("number", Arc::new(numbers)),
        ])
        .unwrap();
        let mut encoder = Encoder::try_new(batch.schema(), 300_000, None, None).unwrap();
        let mut pieces = encoder.push(&batch).unwrap();
        pieces.extend(encoder.flush());
        assert!(pieces.len() > 2);
        for message in pieces
            .iter()
            .flat_map(|piece| encoder.encode(piece).unwrap())
        {
            let num_bytes = message.body.len();
            assert_eq!(Vec::from(message.body).capacity(), num_bytes);
        }
    }
}
