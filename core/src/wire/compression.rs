//! Decompresses single buffers. A cap is checked before a byte is produced.
//!
//! Spec: a compressed buffer starts with its uncompressed length as i64; -1 means that the bytes
//! after it are not compressed.

use std::io::Read;

use super::batch_header::Codec;
#[cfg(feature = "decode")]
use super::batch_header::{BatchHeader, BufferRange};
use super::limits::within;
#[cfg(feature = "decode")]
use super::slab::{AlignedBody, Arena, Region};
use super::{DecodeError, DecodeErrorKind};

const PREFIX_BYTES: usize = 8;
/// The most bytes that are decompressed at a time.
const PIECE_BYTES: usize = 64 << 10;
/// Every decompressed buffer begins at a multiple of this number of bytes.
#[cfg(feature = "decode")]
const BUFFER_ALIGNMENT_BYTES: u64 = 64;

/// The uncompressed length that a compressed `buffer` claims, checked against `cap_bytes`; 0 for an
/// empty buffer.
///
/// # Errors
/// `OverLimit` if it exceeds the cap; `InvalidHeader` if there is no length.
pub fn claimed_bytes(buffer: &[u8], cap_bytes: u64) -> Result<u64, DecodeError> {
    if buffer.is_empty() {
        return Ok(0);
    }
    let Some(prefix) = buffer.first_chunk::<PREFIX_BYTES>() else {
        return Err(DecodeError::header(
            "a compressed buffer is shorter than its 8-byte length prefix",
        ));
    };
    match i64::from_le_bytes(*prefix) {
        -1 => Ok((buffer.len() - PREFIX_BYTES) as u64),
        claimed => within(claimed, cap_bytes, "decompressed length"),
    }
}

/// The bytes after the prefix, if they are not compressed.
fn stored(buffer: &[u8]) -> Option<&[u8]> {
    match buffer.split_first_chunk::<PREFIX_BYTES>() {
        Some((prefix, payload)) => (i64::from_le_bytes(*prefix) == -1).then_some(payload),
        None => Some(&[]),
    }
}

fn invalid(what: impl std::fmt::Display) -> DecodeError {
    DecodeError::new(
        DecodeErrorKind::InvalidData,
        format!("a buffer does not decompress: {what}"),
    )
}

fn reader(buffer: &[u8], codec: Codec) -> Result<Box<dyn Read + '_>, DecodeError> {
    let payload = &buffer[PREFIX_BYTES..];
    Ok(match codec {
        Codec::Lz4 => Box::new(lz4_flex::frame::FrameDecoder::new(payload)),
        Codec::Zstd => Box::new(ruzstd::decoding::StreamingDecoder::new(payload).map_err(invalid)?),
    })
}

fn check_length(num_bytes: u64, claimed: u64) -> Result<(), DecodeError> {
    if num_bytes == claimed {
        return Ok(());
    }
    Err(DecodeError::new(
        DecodeErrorKind::InvalidData,
        format!(
            "a buffer decompresses to {num_bytes} bytes or more, but its prefix says {claimed}"
        ),
    ))
}

/// Writes the uncompressed bytes of one buffer of a compressed body, at most `cap_bytes`, piece by piece.
///
/// # Errors
/// `OverLimit` if the claimed length exceeds the cap; `InvalidData` if the bytes do not decompress to
/// exactly the claimed length.
pub fn decompress(
    buffer: &[u8],
    codec: Codec,
    cap_bytes: u64,
    mut write: impl FnMut(&[u8]),
) -> Result<(), DecodeError> {
    let claimed = claimed_bytes(buffer, cap_bytes)?;
    if let Some(stored) = stored(buffer) {
        write(stored);
        return Ok(());
    }
    let mut plain = reader(buffer, codec)?.take(claimed + 1);
    let mut piece = vec![0; PIECE_BYTES];
    let mut num_bytes = 0;
    loop {
        let read = plain.read(&mut piece).map_err(invalid)?;
        if read == 0 {
            return check_length(num_bytes, claimed);
        }
        num_bytes += read as u64;
        write(&piece[..read]);
    }
}

/// The positions of the buffers of a compressed body after decompression, and the end of the last one.
///
/// # Errors
/// As [`decompress`].
#[cfg(feature = "decode")]
pub(crate) fn decompressed_layout(
    header: &BatchHeader,
    body: &[u8],
    cap_bytes: u64,
) -> Result<(Vec<BufferRange>, u64), DecodeError> {
    let mut ranges = Vec::with_capacity(header.buffers.len());
    let mut end = 0u64;
    for BufferRange { offset, length } in &header.buffers {
        let claimed = claimed_bytes(&body[*offset..*offset + *length], cap_bytes - end)?;
        ranges.push(BufferRange {
            offset: end as usize,
            length: claimed as usize,
        });
        // Never exceeds the cap, because each claim is checked against the bytes that are left.
        let padded = (end + claimed).checked_next_multiple_of(BUFFER_ALIGNMENT_BYTES);
        end = padded.map_or(cap_bytes, |end| end.min(cap_bytes));
    }
    Ok((ranges, end))
}

/// Decompresses each buffer of a batch into `arena`. Returns the body, of at most `cap_bytes`, and
/// `header` with the new positions of the buffers.
///
/// # Errors
/// As [`decompress`]; `MemoryBudgetExceeded`.
#[cfg(feature = "decode")]
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
#[cfg(feature = "decode")]
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
