//! Writes FlatBuffers of known layout: the caller chooses the position of each value.

/// A FlatBuffer of fixed length.
pub(super) struct FlatBufferWriter {
    bytes: Vec<u8>,
}

impl FlatBufferWriter {
    /// A buffer of `num_bytes` zeros.
    pub(super) fn new(num_bytes: usize) -> Self {
        Self {
            bytes: vec![0; num_bytes],
        }
    }

    /// The finished buffer.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn u16s(&mut self, at: usize, values: &[u16]) {
        for (index, value) in values.iter().enumerate() {
            self.put(at + 2 * index, &value.to_le_bytes());
        }
    }

    /// Writes `value` as u32. It is below 4 GiB, as are all lengths within [`Limits`](super::Limits).
    pub(super) fn u32(&mut self, at: usize, value: usize) {
        self.put(at, &(value as u32).to_le_bytes());
    }

    pub(super) fn i64(&mut self, at: usize, value: i64) {
        self.put(at, &value.to_le_bytes());
    }

    /// Writes at `at` the offset to `target`, which lies after it.
    pub(super) fn offset(&mut self, at: usize, target: usize) {
        self.u32(at, target - at);
    }

    /// Writes a string, with its length, at `at`; returns the position after it.
    pub(super) fn string(&mut self, at: usize, text: &str) -> usize {
        self.u32(at, text.len());
        self.put(at + 4, text.as_bytes());
        at + string_bytes(text)
    }
}

/// The size of a string in bytes: its length, the text, a zero and padding.
pub(super) fn string_bytes(text: &str) -> usize {
    (4 + text.len() + 1).next_multiple_of(4)
}

/// A Message of `format/Message.fbs` at the beginning of the buffer.
pub(super) struct MessageTable {
    /// Number of the metadata version.
    pub(super) version: i16,
    /// Type of `header` in the union of headers.
    pub(super) header_type: u8,
    /// Position of the header's table.
    pub(super) header: usize,
    /// Length of the body.
    pub(super) body_bytes: i64,
    /// Position of the vector of custom metadata.
    pub(super) entries: Option<usize>,
}

/// Vtable of Message: its own length, the table's length, then the offset of each field in the table.
const VTABLE: [u16; 7] = [14, 24, 20, 22, 4, 8, 16];
const TABLE_BYTES: usize = 24;

impl MessageTable {
    /// The position after a Message without custom metadata.
    pub(super) const END: usize = Self::end(false);
    /// The position after a Message with custom metadata.
    pub(super) const END_WITH_ENTRIES: usize = Self::end(true);

    const fn end(has_entries: bool) -> usize {
        let vtable_bytes: usize = if has_entries { 14 } else { 12 };
        (4 + vtable_bytes).next_multiple_of(8) + TABLE_BYTES
    }

    /// A buffer of `num_bytes` bytes that begins with the Message.
    pub(super) fn write(&self, num_bytes: usize) -> FlatBufferWriter {
        let mut vtable = VTABLE;
        let mut num_slots = vtable.len();
        if self.entries.is_none() {
            num_slots -= 1;
            vtable[0] -= 2;
        }
        let table = Self::end(self.entries.is_some()) - TABLE_BYTES;
        let mut out = FlatBufferWriter::new(num_bytes);
        out.offset(0, table);
        out.u16s(4, &vtable[..num_slots]);
        out.u32(table, table - 4);
        out.offset(table + 4, self.header);
        out.i64(table + 8, self.body_bytes);
        if let Some(entries) = self.entries {
            out.offset(table + 16, entries);
        }
        out.put(table + 20, &self.version.to_le_bytes());
        out.put(table + 22, &[self.header_type]);
        out
    }
}
