use colonnade_core::decode;
use colonnade_core::text::FixedOffsets;
use colonnade_core::wire::{Limits, SlabPool};
use wasm_bindgen::prelude::*;

use crate::Decoder;

/// Streams of the most common types, with two batches each.
const STREAMS: [&[u8]; 2] = [
    include_bytes!("../../fixtures/small/numbers.arrows"),
    include_bytes!("../../fixtures/small/text.arrows"),
];
/// More bytes than any of the streams needs.
const MEMORY_BYTES: u64 = 1 << 16;

#[wasm_bindgen]
impl Decoder {
    /// Decodes a few rows and writes their texts. Browsers compile a function at its first call, so
    /// this moves that time to when the first bytes are still on their way.
    #[wasm_bindgen(js_name = warmUp)]
    pub fn warm_up() {
        for stream in STREAMS {
            let pool = SlabPool::keeping(0);
            let mut decoder = decode::Decoder::with_pool(MEMORY_BYTES, Limits::default(), pool);
            // The result is not used.
            let _ = decoder.push(stream);
            if let Some(table) = decoder.table() {
                let columns: Vec<usize> = (0..table.columns().len()).collect();
                let _ = table.window(0..table.num_rows(), &columns, 0, &FixedOffsets);
            }
        }
    }
}
