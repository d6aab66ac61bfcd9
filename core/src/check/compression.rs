//! Decompresses single buffers. A cap is checked before a byte is produced.
//!
//! Spec: a compressed buffer starts with its uncompressed length as i64; -1 means that the bytes
//! after it are not compressed.

use std::borrow::Cow;
use std::io::Read;

use super::batch_header::Codec;
#[cfg(feature = "decode")]
use super::batch_header::{BatchHeader, BufferRange};
use super::limits::within;
use super::{DecodeError, DecodeErrorKind};

const PREFIX_BYTES: usize = 8;
/// Every decompressed buffer begins at a multiple of this number of bytes.
#[cfg(feature = "decode")]
pub(crate) const BUFFER_ALIGNMENT_BYTES: u64 = 64;

/// The uncompressed length that a compressed `buffer` claims, checked against `cap_bytes`; 0 for an
/// empty buffer.
fn claimed_bytes(buffer: &[u8], cap_bytes: u64) -> Result<u64, DecodeError> {
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
pub(crate) fn stored(buffer: &[u8]) -> Option<&[u8]> {
    match buffer.split_first_chunk::<PREFIX_BYTES>() {
        Some((prefix, payload)) => (i64::from_le_bytes(*prefix) == -1).then_some(payload),
        None => Some(&[]),
    }
}

pub(crate) fn invalid(what: impl std::fmt::Display) -> DecodeError {
    DecodeError::new(
        DecodeErrorKind::InvalidData,
        format!("a buffer does not decompress: {what}"),
    )
}

pub(crate) fn reader(buffer: &[u8], codec: Codec) -> Result<Box<dyn Read + '_>, DecodeError> {
    let payload = &buffer[PREFIX_BYTES..];
    Ok(match codec {
        Codec::Lz4 => Box::new(lz4_flex::frame::FrameDecoder::new(payload)),
        Codec::Zstd => Box::new(ruzstd::decoding::StreamingDecoder::new(payload).map_err(invalid)?),
    })
}

pub(crate) fn check_length(num_bytes: u64, claimed: u64) -> Result<(), DecodeError> {
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

/// The uncompressed bytes of one buffer of a compressed body; at most `cap_bytes`.
///
/// Memory grows with the bytes that are produced, not with the length that the prefix claims.
///
/// # Errors
/// `OverLimit` if the claimed length exceeds the cap; `InvalidData` if the bytes do not decompress to
/// exactly the claimed length.
pub fn decompress(
    buffer: &[u8],
    codec: Codec,
    cap_bytes: u64,
) -> Result<Cow<'_, [u8]>, DecodeError> {
    let claimed = claimed_bytes(buffer, cap_bytes)?;
    if let Some(stored) = stored(buffer) {
        return Ok(Cow::Borrowed(stored));
    }
    let mut out = Vec::new();
    reader(buffer, codec)?
        .take(claimed + 1)
        .read_to_end(&mut out)
        .map_err(invalid)?;
    check_length(out.len() as u64, claimed)?;
    Ok(Cow::Owned(out))
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
