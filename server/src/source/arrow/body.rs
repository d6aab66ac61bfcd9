//! The buffers of one message, prepared for arrow-rs. They are read from the file, decompressed under a
//! cap, and described by a new header, so that arrow-rs only sees checked data.

use std::ops::Range;

use colonnade_core::wire::{
    ArraySlot, BatchHeader, BufferRange, BufferRole, Codec, FieldNode, claimed_bytes, decompress,
};
use datafusion::arrow::buffer::{Buffer, MutableBuffer};

use super::error::{Result, damaged, unsound};
use super::{ArrowFile, limits};

/// The alignment that arrow-rs expects of buffers.
const ALIGNMENT: usize = 64;

/// A compressed buffer begins with its size before compression, or with -1 if it is not compressed after all.
const STATED_BYTES: usize = 8;

/// Few buffers decompress to more than this multiple of their size.
const USUAL_RATIO: usize = 1024;

/// Buffers one after the other, in the order of the columns. The caller must still confirm that the
/// file has not changed.
pub(super) struct Body<'a> {
    file: &'a ArrowFile,
    header: &'a BatchHeader,
    /// The position of the message's body in the file.
    body_start: u64,
    /// Bytes that may still be decompressed.
    left_bytes: u64,
    nodes: Vec<FieldNode>,
    ranges: Vec<BufferRange>,
    bytes: MutableBuffer,
}

impl<'a> Body<'a> {
    pub(super) fn new(file: &'a ArrowFile, header: &'a BatchHeader, body_start: u64) -> Self {
        Self {
            file,
            header,
            body_start,
            left_bytes: limits().max_decompressed_bytes,
            nodes: Vec::with_capacity(header.nodes.len()),
            ranges: Vec::with_capacity(header.buffers.len()),
            bytes: MutableBuffer::new(0),
        }
    }

    /// The size of a column after decompression, as the buffers state it.
    pub(super) fn num_bytes(&self, slot: &ArraySlot) -> Result<u64> {
        let mut num_bytes = 0u64;
        for (_, range) in &slot.buffers {
            let stated = if self.header.compression.is_some() && range.length >= STATED_BYTES {
                let start = self.file_bytes(*range).start;
                let mut stated = [0; STATED_BYTES];
                self.file.file.read_into_unconfirmed(start, &mut stated)?;
                u64::try_from(i64::from_le_bytes(stated)).ok()
            } else {
                None
            };
            let stated = stated.unwrap_or(range.length as u64);
            num_bytes += stated.min(limits().max_decompressed_bytes);
        }
        for child in &slot.children {
            num_bytes += self.num_bytes(child)?;
        }
        Ok(num_bytes)
    }

    /// Adds a column that was not requested, with empty buffers.
    pub(super) fn leave_out(&mut self, slot: &ArraySlot) {
        self.nodes.push(slot.node);
        for _ in &slot.buffers {
            self.add(&[]);
        }
        for child in &slot.children {
            self.leave_out(child);
        }
    }

    /// Adds all rows of a column.
    pub(super) fn take(&mut self, slot: &ArraySlot) -> Result<()> {
        self.nodes.push(slot.node);
        for (_, range) in &slot.buffers {
            match self.header.compression {
                _ if range.length == 0 => self.add(&[]),
                Some(codec) => {
                    let bytes = self.file.file.read_unconfirmed(self.file_bytes(*range))?;
                    self.add_decompressed(&bytes, codec)?;
                }
                None => {
                    self.read(*range, 0..range.length)?;
                }
            }
        }
        slot.children.iter().try_for_each(|child| self.take(child))
    }

    /// Adds rows `rows` of a column for which [`ArrowFile::can_cut`] is true. They must begin at a
    /// multiple of 8.
    pub(super) fn take_rows(&mut self, slot: &ArraySlot, rows: Range<usize>) -> Result<()> {
        let node_index = self.nodes.len();
        // Only the null type has no buffers.
        let is_null = slot.buffers.is_empty();
        self.nodes.push(FieldNode {
            num_rows: rows.len(),
            null_count: if is_null { rows.len() } else { 0 },
        });
        let bits = rows.start / 8..rows.end.div_ceil(8);
        let mut values = 0..0;
        for (role, range) in &slot.buffers {
            match *role {
                BufferRole::Validity if slot.node.null_count == 0 => self.add(&[]),
                BufferRole::Validity => {
                    let at = self.read(*range, bits.clone())?;
                    let num_valid = count_ones(&self.bytes[at..], rows.len());
                    self.nodes[node_index].null_count = rows.len() - num_valid;
                }
                BufferRole::Bits => {
                    self.read(*range, bits.clone())?;
                }
                BufferRole::Fixed(width) => {
                    let width = width as usize;
                    self.read(*range, rows.start * width..rows.end * width)?;
                }
                BufferRole::Offsets(width) => {
                    let width = width as usize;
                    let at = self.read(*range, rows.start * width..(rows.end + 1) * width)?;
                    values = rebase(&mut self.bytes[at..], width)?;
                }
                BufferRole::Values => {
                    self.read(*range, values.clone())?;
                }
            }
        }
        slot.children
            .iter()
            .try_for_each(|child| self.take_rows(child, rows.clone()))
    }

    /// Reads bytes `wanted` of a buffer. Returns their position in `bytes`.
    fn read(&mut self, range: BufferRange, wanted: Range<usize>) -> Result<usize> {
        if wanted.start > wanted.end || wanted.end > range.length {
            return Err(damaged("the offsets of a column point outside its values"));
        }
        let at = self.align();
        self.bytes.resize(at + wanted.len(), 0);
        let start = self.file_bytes(range).start + wanted.start as u64;
        let bytes = &mut self.bytes[at..];
        self.file.file.read_into_unconfirmed(start, bytes)?;
        self.ranges.push(BufferRange {
            offset: at,
            length: wanted.len(),
        });
        Ok(at)
    }

    fn add_decompressed(&mut self, buffer: &[u8], codec: Codec) -> Result<()> {
        let offset = self.align();
        let stated = claimed_bytes(buffer, self.left_bytes).map_err(|e| unsound(&e))?;
        // Growing takes twice as much, but a false statement must not take more than the file can hold.
        let usual_bytes = buffer.len().saturating_mul(USUAL_RATIO);
        self.bytes.reserve(usual_bytes.min(stated as usize));
        let add = |bytes: &[u8]| self.bytes.extend_from_slice(bytes);
        decompress(buffer, codec, self.left_bytes, add).map_err(|e| unsound(&e))?;
        self.left_bytes -= stated;
        let length = stated as usize;
        self.ranges.push(BufferRange { offset, length });
        Ok(())
    }

    fn add(&mut self, bytes: &[u8]) {
        let offset = self.align();
        self.bytes.extend_from_slice(bytes);
        self.ranges.push(BufferRange {
            offset,
            length: bytes.len(),
        });
    }

    fn align(&mut self) -> usize {
        let at = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(at, 0);
        at
    }

    fn file_bytes(&self, range: BufferRange) -> Range<u64> {
        let start = self.body_start + range.offset as u64;
        start..start + range.length as u64
    }

    /// The header of `num_rows` uncompressed rows, and their bytes.
    pub(super) fn finish(self, num_rows: usize) -> (BatchHeader, Buffer) {
        let header = BatchHeader {
            num_rows,
            nodes: self.nodes,
            buffers: self.ranges,
            variadic_buffer_counts: self.header.variadic_buffer_counts.clone(),
            compression: None,
            version: self.header.version,
        };
        (header, self.bytes.into())
    }
}

/// The number of set bits among the first `num_bits`.
fn count_ones(bytes: &[u8], num_bits: usize) -> usize {
    let whole: u32 = bytes[..num_bits / 8]
        .iter()
        .map(|byte| byte.count_ones())
        .sum();
    let rest = match num_bits % 8 {
        0 => 0,
        more => (bytes[num_bits / 8] & ((1 << more) - 1)).count_ones(),
    };
    (whole + rest) as usize
}

/// Rebases offsets of `width` bytes to 0. Returns the range of values to which they referred.
fn rebase(bytes: &mut [u8], width: usize) -> Result<Range<usize>> {
    let read = |bytes: &[u8]| match width {
        4 => bytes.try_into().map(i32::from_le_bytes).map(i64::from),
        _ => bytes.try_into().map(i64::from_le_bytes),
    };
    let out_of_range = || damaged("the offsets of a column are out of range");
    let mut values = 0..0;
    for (index, slot) in bytes.chunks_exact_mut(width).enumerate() {
        let offset = read(slot).map_err(|_| out_of_range())?;
        let offset = usize::try_from(offset).map_err(|_| out_of_range())?;
        if index == 0 {
            values.start = offset;
        }
        values.end = offset;
        let rebased = offset
            .checked_sub(values.start)
            .ok_or_else(out_of_range)?
            .to_le_bytes();
        slot.copy_from_slice(&rebased[..width]);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::{count_ones, rebase};

    #[test]
    fn bits_are_counted_to_the_last_row_only() {
        assert_eq!(count_ones(&[0b1111_1111, 0b1111_0101], 11), 10);
        assert_eq!(count_ones(&[0b0101_0101], 8), 4);
        assert_eq!(count_ones(&[], 0), 0);
    }

    #[test]
    fn offsets_begin_at_zero() {
        let bytes = |offsets: &[i32]| -> Vec<u8> {
            offsets
                .iter()
                .flat_map(|offset| offset.to_le_bytes())
                .collect()
        };
        let mut offsets = bytes(&[5, 7, 7, 12]);
        assert_eq!(rebase(&mut offsets, 4).unwrap(), 5..12);
        assert_eq!(offsets, bytes(&[0, 2, 2, 7]));
        assert!(rebase(&mut bytes(&[5, 3]), 4).is_err());
        assert!(rebase(&mut bytes(&[-1, 3]), 4).is_err());
        assert!(rebase(&mut bytes(&[0, 0, -1, -1]), 8).is_err());
    }
}
