//! Decompression of single buffers, under a cap that is checked before a byte is produced.
//!
//! Spec: a compressed buffer starts with its uncompressed length as i64; -1 means that the bytes
//! after it are not compressed.

use std::borrow::Cow;
use std::io::Read;

use super::message::within;
use super::{DecodeError, DecodeErrorKind};

/// How the buffers of a batch are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// LZ4 frame format.
    Lz4Frame,
    /// Zstandard.
    Zstd,
}

const PREFIX_BYTES: usize = 8;

/// The uncompressed length that a compressed `buffer` claims, checked against `cap_bytes`.
fn claimed_bytes(buffer: &[u8], cap_bytes: u64) -> Result<u64, DecodeError> {
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

/// The uncompressed bytes of one buffer of a compressed body; at most `cap_bytes`.
///
/// Memory grows with the bytes that come out, not with what the prefix claims.
///
/// # Errors
/// `OverLimit` where the claim is over the cap, `InvalidData` where the bytes do not decompress to
/// exactly the claimed length.
pub fn decompress(
    buffer: &[u8],
    codec: Codec,
    cap_bytes: u64,
) -> Result<Cow<'_, [u8]>, DecodeError> {
    if buffer.is_empty() {
        return Ok(Cow::Borrowed(buffer));
    }
    let claimed = claimed_bytes(buffer, cap_bytes)?;
    let payload = &buffer[PREFIX_BYTES..];
    if buffer.starts_with(&(-1i64).to_le_bytes()) {
        return Ok(Cow::Borrowed(payload));
    }
    let mut out = Vec::new();
    let read = match codec {
        Codec::Lz4Frame => lz4_flex::frame::FrameDecoder::new(payload)
            .take(claimed + 1)
            .read_to_end(&mut out)
            .map_err(|error| error.to_string()),
        Codec::Zstd => ruzstd::decoding::StreamingDecoder::new(payload)
            .map_err(|error| error.to_string())
            .and_then(|decoder| {
                decoder
                    .take(claimed + 1)
                    .read_to_end(&mut out)
                    .map_err(|error| error.to_string())
            }),
    };
    let invalid = |what: String| DecodeError::new(DecodeErrorKind::InvalidData, what);
    read.map_err(|error| invalid(format!("a buffer does not decompress: {error}")))?;
    if out.len() as u64 != claimed {
        return Err(invalid(format!(
            "a buffer decompresses to {} bytes or more; its prefix says {claimed}",
            out.len()
        )));
    }
    Ok(Cow::Owned(out))
}
