//! Writes the metadata of messages.
//!
//! Spec: `format/Message.fbs`.

use super::BatchHeader;
use super::flatbuffer_writer::{FlatBufferWriter, MessageTable};
#[cfg(feature = "kernels")]
use super::{EncodedSchema, MetadataVersion};

const DICTIONARY_VTABLE: [u16; 5] = [10, 24, 8, 4, 16];
const BATCH_VTABLE: [u16; 7] = [14, 24, 8, 4, 16, 0, 20];
/// Distances from the vtable of DictionaryBatch or RecordBatch to its table, and to the end of the
/// table.
const TABLE: usize = 16;
const TABLE_END: usize = 40;

/// Position of the schema's own bytes; it preserves their alignment.
#[cfg(feature = "kernels")]
const SCHEMA: usize = 64;

/// The metadata of a schema message. Offsets in a FlatBuffer are relative and, from a table, point
/// forward, so the bytes from which the schema was read need no change.
#[cfg(feature = "kernels")]
pub(crate) fn write_schema(schema: &EncodedSchema) -> Vec<u8> {
    let message = MessageTable {
        version: MetadataVersion::V5.number(),
        header_type: 1,
        header: SCHEMA + schema.position,
        body_bytes: 0,
        entries: None,
    };
    let mut out = message.write((SCHEMA + schema.buffer.len()).next_multiple_of(8));
    out.put(SCHEMA, &schema.buffer);
    out.into_bytes()
}

/// The metadata of an uncompressed record batch whose body has `body_bytes` bytes. With `dictionary`
/// (its id, and whether it is a delta) the metadata is that of a dictionary batch.
#[must_use]
pub fn write_batch(
    header: &BatchHeader,
    dictionary: Option<(i64, bool)>,
    body_bytes: usize,
) -> Vec<u8> {
    let batch = match dictionary {
        None => MessageTable::END,
        Some(_) => MessageTable::END + TABLE_END,
    };
    let nodes = batch + TABLE_END;
    let buffers = nodes + 8 + 16 * header.nodes.len();
    let counts = buffers + 8 + 16 * header.buffers.len();
    let end = counts + 8 + 8 * header.variadic_buffer_counts.len();

    let message = MessageTable {
        version: header.version.number(),
        header_type: if dictionary.is_some() { 2 } else { 3 },
        header: MessageTable::END + TABLE,
        body_bytes: body_bytes as i64,
        entries: None,
    };
    let mut out = message.write(end);
    if let Some((id, is_delta)) = dictionary {
        let table = MessageTable::END + TABLE;
        out.u16s(MessageTable::END, &DICTIONARY_VTABLE);
        out.u32(table, TABLE);
        out.offset(table + 4, batch + TABLE);
        out.i64(table + 8, id);
        out.put(table + 16, &[u8::from(is_delta)]);
    }
    let table = batch + TABLE;
    out.u16s(batch, &BATCH_VTABLE);
    out.u32(table, TABLE);
    out.offset(table + 4, nodes + 4);
    out.i64(table + 8, header.num_rows as i64);
    out.offset(table + 16, buffers + 4);
    out.offset(table + 20, counts + 4);
    let pairs = header.nodes.iter();
    out.pairs(nodes, pairs.map(|node| (node.num_rows, node.null_count)));
    let pairs = header.buffers.iter();
    out.pairs(buffers, pairs.map(|range| (range.offset, range.length)));
    out.u32(counts + 4, header.variadic_buffer_counts.len());
    for (index, count) in header.variadic_buffer_counts.iter().enumerate() {
        out.i64(counts + 8 + 8 * index, *count as i64);
    }
    out.into_bytes()
}

/// Metadata with continuation and length in front of it.
#[cfg(feature = "kernels")]
pub(crate) fn frame(metadata: &[u8]) -> Vec<u8> {
    let length = (metadata.len() as u32).to_le_bytes();
    [&[0xff; 4], &length, metadata].concat()
}

impl FlatBufferWriter {
    /// Writes a vector of structs of two i64s. Its length is 4 bytes after `at`.
    fn pairs(&mut self, at: usize, pairs: impl ExactSizeIterator<Item = (usize, usize)>) {
        self.u32(at + 4, pairs.len());
        for (index, (first, second)) in pairs.enumerate() {
            self.i64(at + 8 + 16 * index, first as i64);
            self.i64(at + 16 + 16 * index, second as i64);
        }
    }
}
