//! Decompresses pages. Memory grows with the bytes that are produced, never with the size that a header claims.

use std::io::Read;

use parquet::basic::Compression;

use crate::error::{ReadError, Result};

/// The least size that a codec needs for a number of decompressed bytes: a smaller page makes a false claim. Of 64 bytes,
/// Snappy needs 3 at least; of 255, LZ4 needs one.
const SNAPPY_RATIO: usize = 32;
const LZ4_RATIO: usize = 256;

/// The bytes of a compressed page: exactly `num_bytes`.
///
/// # Errors
/// They do not decompress to that size, or the codec is unknown.
pub(crate) fn decompress(codec: Compression, bytes: &[u8], num_bytes: usize) -> Result<Vec<u8>> {
    let out = match codec {
        Compression::UNCOMPRESSED => bytes.to_vec(),
        Compression::SNAPPY => snappy(bytes, num_bytes)?,
        Compression::GZIP(_) => read(flate2::read::MultiGzDecoder::new(bytes), num_bytes)?,
        Compression::BROTLI(_) => read(
            brotli_decompressor::Decompressor::new(bytes, 4096),
            num_bytes,
        )?,
        Compression::ZSTD(_) => zstd(bytes, num_bytes)?,
        Compression::LZ4_RAW => lz4_block(bytes, num_bytes)?,
        Compression::LZ4 => lz4(bytes, num_bytes)?,
        Compression::LZO => {
            return Err(ReadError::unsupported(
                "pages compressed with LZO cannot be read",
            ));
        }
    };
    match out.len() == num_bytes {
        true => Ok(out),
        false => Err(wrong_size(num_bytes)),
    }
}

fn wrong_size(num_bytes: usize) -> ReadError {
    ReadError::invalid(format!(
        "a page does not decompress to the {num_bytes} bytes that its header states"
    ))
}

fn damaged(what: impl std::fmt::Display) -> ReadError {
    ReadError::invalid(format!("a page does not decompress: {what}"))
}

fn read(reader: impl Read, num_bytes: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut limited = reader.take(num_bytes as u64 + 1);
    limited.read_to_end(&mut out).map_err(damaged)?;
    Ok(out)
}

fn snappy(bytes: &[u8], num_bytes: usize) -> Result<Vec<u8>> {
    let claimed = snap::raw::decompress_len(bytes).map_err(damaged)?;
    if claimed != num_bytes || num_bytes / SNAPPY_RATIO > bytes.len() {
        return Err(wrong_size(num_bytes));
    }
    snap::raw::Decoder::new()
        .decompress_vec(bytes)
        .map_err(damaged)
}

/// All frames, because a page may have several.
fn zstd(mut bytes: &[u8], num_bytes: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    while !bytes.is_empty() && out.len() <= num_bytes {
        let left = num_bytes - out.len() + 1;
        let mut frame = ruzstd::decoding::StreamingDecoder::new(&mut bytes).map_err(damaged)?;
        (&mut frame)
            .take(left as u64)
            .read_to_end(&mut out)
            .map_err(damaged)?;
    }
    Ok(out)
}

fn lz4_block(bytes: &[u8], num_bytes: usize) -> Result<Vec<u8>> {
    if num_bytes / LZ4_RATIO > bytes.len() {
        return Err(wrong_size(num_bytes));
    }
    let mut out = vec![0; num_bytes];
    let length = lz4_flex::block::decompress_into(bytes, &mut out).map_err(damaged)?;
    out.truncate(length);
    Ok(out)
}

/// The codec that the format calls deprecated: Hadoop's frames, by other writers a frame of LZ4 or a block.
fn lz4(bytes: &[u8], num_bytes: usize) -> Result<Vec<u8>> {
    if let Some(out) = hadoop(bytes, num_bytes) {
        return Ok(out);
    }
    match read(lz4_flex::frame::FrameDecoder::new(bytes), num_bytes) {
        Ok(out) if out.len() == num_bytes => Ok(out),
        _ => lz4_block(bytes, num_bytes),
    }
}

/// Blocks, each after its two sizes of four bytes, big-endian: decompressed and compressed.
fn hadoop(mut bytes: &[u8], num_bytes: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let (sizes, rest) = bytes.split_first_chunk::<8>()?;
        let size = |at: usize| Some(u32::from_be_bytes(*sizes[at..].first_chunk()?) as usize);
        let (decompressed, compressed) = (size(0)?, size(4)?);
        if decompressed > num_bytes - out.len() {
            return None;
        }
        let (block, rest) = rest.split_at_checked(compressed)?;
        out.extend(
            lz4_block(block, decompressed)
                .ok()
                .filter(|out| out.len() == decompressed)?,
        );
        bytes = rest;
    }
    (out.len() == num_bytes).then_some(out)
}
