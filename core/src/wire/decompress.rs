//! Decompresses the body of a message into a slab.

use std::io::Read;

use super::slab::{AlignedBody, Arena, Region};
use crate::check::compression::{
    BUFFER_ALIGNMENT_BYTES, check_length, decompressed_layout, invalid, reader, stored,
};
use crate::check::{BatchHeader, Codec, DecodeError};

/// Decompresses each buffer of a batch into `arena`. Returns the body, of at most `cap_bytes`, and
/// `header` with the new positions of the buffers.
///
/// # Errors
/// As [`decompress`](super::decompress); `MemoryBudgetExceeded`.
pub(crate) fn decompress_body(
    mut header: BatchHeader,
    body: &[u8],
    codec: Codec,
    arena: &mut Arena,
    cap_bytes: u64,
) -> Result<(BatchHeader, AlignedBody), DecodeError> {
    let (ranges, end) = decompressed_layout(&header, body, cap_bytes)?;
    let stored_ranges = std::mem::replace(&mut header.buffers, ranges);
    let mut region = arena.reserve(end)?;
    for (from, to) in stored_ranges.iter().zip(&header.buffers) {
        region.write(&[0; BUFFER_ALIGNMENT_BYTES as usize][..to.offset - region.filled()]);
        let buffer = &body[from.offset..from.offset + from.length];
        match stored(buffer) {
            Some(bytes) => region.write(bytes),
            None => read_exactly(&mut *reader(buffer, codec)?, to.length, &mut region)?,
        }
    }
    header.compression = None;
    Ok((header, region.complete()))
}

/// Writes the output of `reader`, which must be exactly `claimed` bytes.
fn read_exactly(
    reader: &mut dyn Read,
    claimed: usize,
    region: &mut Region,
) -> Result<(), DecodeError> {
    let mut num_bytes = 0;
    while num_bytes < claimed {
        let space = region.space();
        let wanted = space.len().min(claimed - num_bytes);
        let read = reader.read(&mut space[..wanted]).map_err(invalid)?;
        if read == 0 {
            return check_length(num_bytes as u64, claimed as u64);
        }
        region.advance(read);
        num_bytes += read;
    }
    let behind = reader.read(&mut [0]).map_err(invalid)?;
    check_length((num_bytes + behind) as u64, claimed as u64)
}
