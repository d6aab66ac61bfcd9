//! Decodes bytes in chunks whose sizes the input chooses, and uses the rows. Then decodes the rest of
//! the bytes as a resumed response.
//!
//! Input: u8 chunk seed, u16 length of the first response (little-endian; clamped), the bytes.

use colonnade_core::decode::Decoder;
use colonnade_core::wire::Limits;

#[path = "../hostile/use_table.rs"]
mod use_table;

const MEMORY_BYTES: u64 = 16 << 20;

pub(crate) fn run(input: &[u8]) {
    let Some((&[seed, low, high], bytes)) = input.split_first_chunk() else {
        return;
    };
    let first_bytes = match u16::from_le_bytes([low, high]) {
        0 => bytes.len(),
        len => bytes.len().min(usize::from(len)),
    };
    let (first, second) = bytes.split_at(first_bytes);
    let limits = Limits {
        max_metadata_bytes: 1 << 20,
        max_decompressed_bytes: MEMORY_BYTES,
        ..Limits::default()
    };
    let mut decoder = Decoder::new(MEMORY_BYTES, limits);
    let mut chunks = ChunkSizes(u32::from(seed));
    push(&mut decoder, first, &mut chunks);
    use_table::use_table(&decoder);
    if !second.is_empty() {
        let num_rows = decoder.progress().num_rows;
        decoder.resume(num_rows);
        push(&mut decoder, second, &mut chunks);
        use_table::use_table(&decoder);
    }
}

fn push(decoder: &mut Decoder, mut bytes: &[u8], chunks: &mut ChunkSizes) {
    while !bytes.is_empty() {
        let (chunk, rest) = bytes.split_at(chunks.next().min(bytes.len()));
        if decoder.push(chunk).is_err() {
            return;
        }
        bytes = rest;
    }
    let _ = decoder.finish();
}

/// Powers of two from 1 byte to 32 KiB, all equally likely.
struct ChunkSizes(u32);

impl ChunkSizes {
    fn next(&mut self) -> usize {
        // Numerical Recipes' linear congruential generator. It is not very random, but gives enough
        // variety.
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        1 << (self.0 >> 28)
    }
}
