//! Writes record batches as the messages of an Arrow IPC stream, numbered as a Colonnade server numbers them.

use arrow_array::RecordBatch;
use arrow_ipc::writer::{
    DictionaryHandling, DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteContext,
    IpcWriteOptions,
};
use arrow_schema::{Schema, SchemaRef};
use colonnade_core::wire::integrity::{FIRST_ROW, SEQ, TOTAL_BATCHES, TOTAL_ROWS, front};

use crate::error::{ReadError, Result};

/// Bodies begin at multiples of this, so that readers can use them without a copy.
const ALIGNMENT_BYTES: usize = 64;

const CONTINUATION: [u8; 4] = [0xFF; 4];

/// Writes the messages of one stream. Its first row has the number `next_row`.
pub(crate) struct MessageWriter {
    generator: IpcDataGenerator,
    dictionaries: DictionaryTracker,
    options: IpcWriteOptions,
    context: IpcWriteContext,
    next_row: u64,
    seq: u64,
    num_batches: u64,
}

impl MessageWriter {
    pub(crate) fn new(next_row: u64) -> Self {
        Self {
            generator: IpcDataGenerator::default(),
            dictionaries: DictionaryTracker::new(false),
            options: IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta),
            context: IpcWriteContext::default(),
            next_row,
            seq: 0,
            num_batches: 0,
        }
    }

    /// The schema message, which comes first.
    pub(crate) fn schema(&mut self, schema: &Schema) -> Vec<u8> {
        let encoded = self.generator.schema_to_bytes_with_dictionary_tracker(
            schema,
            &mut self.dictionaries,
            &self.options,
        );
        let mut out = Vec::new();
        frame(&[], &encoded, &mut out);
        out
    }

    /// The messages of a batch: the dictionaries that changed, then its rows.
    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Result<Vec<u8>> {
        let (dictionaries, rows) = self.encode(batch)?;
        let mut out = Vec::new();
        for dictionary in dictionaries {
            self.put(&dictionary, &[], &mut out)?;
        }
        self.put(&rows, &[], &mut out)?;
        self.next_row += batch.num_rows() as u64;
        self.num_batches += 1;
        Ok(out)
    }

    /// An empty batch with the totals, and the end-of-stream marker.
    pub(crate) fn end(&mut self, schema: &SchemaRef) -> Result<Vec<u8>> {
        let (dictionaries, rows) = self.encode(&RecordBatch::new_empty(schema.clone()))?;
        let mut out = Vec::new();
        // Rows that were sent refer to other dictionaries.
        if self.num_batches == 0 {
            for dictionary in &dictionaries {
                self.put(dictionary, &[], &mut out)?;
            }
        }
        let (total_rows, total_batches) = (self.next_row.to_string(), self.num_batches.to_string());
        let totals = [(TOTAL_ROWS, &*total_rows), (TOTAL_BATCHES, &*total_batches)];
        self.put(&rows, &totals, &mut out)?;
        out.extend_from_slice(&CONTINUATION);
        out.extend_from_slice(&[0; 4]);
        Ok(out)
    }

    fn encode(&mut self, batch: &RecordBatch) -> Result<(Vec<EncodedData>, EncodedData)> {
        Ok(self.generator.encode(
            batch,
            &mut self.dictionaries,
            &self.options,
            &mut self.context,
        )?)
    }

    fn put(
        &mut self,
        message: &EncodedData,
        totals: &[(&str, &str)],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let (first_row, seq) = (self.next_row.to_string(), self.seq.to_string());
        self.seq += 1;
        let entries = [&[(FIRST_ROW, &*first_row), (SEQ, &*seq)], totals].concat();
        let front = front(&message.ipc_message, &entries);
        let front = front.map_err(|error| ReadError::invalid(error.to_string()))?;
        frame(&front, message, out);
        Ok(())
    }
}

/// Writes a message: continuation, length, metadata (`front` and what the library wrote), padding, body.
/// <https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format>
fn frame(front: &[u8], message: &EncodedData, out: &mut Vec<u8>) {
    let prefix_bytes = CONTINUATION.len() + 4;
    let metadata_bytes = front.len() + message.ipc_message.len();
    let padded_bytes =
        (prefix_bytes + metadata_bytes).next_multiple_of(ALIGNMENT_BYTES) - prefix_bytes;
    out.reserve(prefix_bytes + padded_bytes + message.arrow_data.len());
    out.extend_from_slice(&CONTINUATION);
    out.extend_from_slice(&(padded_bytes as u32).to_le_bytes());
    out.extend_from_slice(front);
    out.extend_from_slice(&message.ipc_message);
    out.resize(out.len() + padded_bytes - metadata_bytes, 0);
    out.extend_from_slice(&message.arrow_data);
}
