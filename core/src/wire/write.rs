//! Writes the metadata of messages, laid out by hand: FlatBuffers whose extent is known before.
//!
//! Spec: `format/Message.fbs`.

use super::flatbuffer::LaidOut;
use super::{BatchHeader, EncodedSchema, MetadataVersion};

/// Where things stand: root offset, vtable and table of Message, then of DictionaryBatch if there is
/// one, of RecordBatch, and its vectors.
const MESSAGE_VTABLE: [u16; 6] = [12, 24, 4, 6, 8, 16];
const MESSAGE: usize = 16;
const MESSAGE_END: usize = 40;
const DICTIONARY_VTABLE: [u16; 5] = [10, 24, 8, 4, 16];
const BATCH_VTABLE: [u16; 7] = [14, 24, 8, 4, 16, 0, 20];
/// From a vtable of one of the last two to its table, and to the end of that.
const TABLE: usize = 16;
const TABLE_END: usize = 40;

/// What stands in front of a schema's own bytes: keeps their alignment, whatever it is.
const SCHEMA_FRONT: usize = 64;

/// A schema as a message of its own. Offsets in a FlatBuffer are relative and, from a table, point
/// forward, so the bytes that it was read from need no change.
pub(crate) fn write_schema(schema: &EncodedSchema) -> Vec<u8> {
    let end = (SCHEMA_FRONT + schema.buffer.len()).next_multiple_of(8);
    let mut out = LaidOut::message(end, MetadataVersion::V5, 1, 0);
    out.offset(MESSAGE + 8, SCHEMA_FRONT + schema.position);
    out.put(SCHEMA_FRONT, &schema.buffer);
    out.framed()
}

/// An uncompressed record batch as a message, up to its body of `body_bytes`: continuation, length
/// and metadata. `dictionary` makes it values of that id, a delta or not.
pub(crate) fn write_head(
    header: &BatchHeader,
    dictionary: Option<(i64, bool)>,
    body_bytes: usize,
) -> Vec<u8> {
    let batch = match dictionary {
        None => MESSAGE_END,
        Some(_) => MESSAGE_END + TABLE_END,
    };
    let nodes = batch + TABLE_END;
    let buffers = nodes + 8 + 16 * header.nodes.len();
    let counts = buffers + 8 + 16 * header.buffers.len();
    let end = counts + 8 + 8 * header.variadic_buffer_counts.len();

    let header_type = if dictionary.is_some() { 2 } else { 3 };
    let mut out = LaidOut::message(end, header.version, header_type, body_bytes);
    out.offset(MESSAGE + 8, MESSAGE_END + TABLE);
    if let Some((id, is_delta)) = dictionary {
        let table = MESSAGE_END + TABLE;
        out.u16s(MESSAGE_END, &DICTIONARY_VTABLE);
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
    out.framed()
}

impl LaidOut {
    /// `end` bytes that begin with a Message whose header is still to be put.
    fn message(end: usize, version: MetadataVersion, header_type: u8, body_bytes: usize) -> Self {
        let mut out = Self(vec![0; end]);
        out.offset(0, MESSAGE);
        out.u16s(4, &MESSAGE_VTABLE);
        out.u32(MESSAGE, MESSAGE - 4);
        let version = match version {
            MetadataVersion::V4 => 3,
            MetadataVersion::V5 => 4,
        };
        out.put(MESSAGE + 4, &[version, 0, header_type]);
        out.i64(MESSAGE + 16, body_bytes as i64);
        out
    }

    /// With continuation and length in front.
    fn framed(self) -> Vec<u8> {
        let length = (self.0.len() as u32).to_le_bytes();
        let mut framed = [[0xff; 4], length].concat();
        framed.extend(self.0);
        framed
    }

    fn i64(&mut self, at: usize, value: i64) {
        self.put(at, &value.to_le_bytes());
    }

    /// A vector of structs of two i64, with its length 4 bytes behind `at`.
    fn pairs(&mut self, at: usize, pairs: impl ExactSizeIterator<Item = (usize, usize)>) {
        self.u32(at + 4, pairs.len());
        for (index, (first, second)) in pairs.enumerate() {
            self.i64(at + 8 + 16 * index, first as i64);
            self.i64(at + 16 + 16 * index, second as i64);
        }
    }
}
