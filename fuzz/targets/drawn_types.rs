//! Writes streams of the types and values that the input chooses. Each batch must have the texts of its
//! values, as they are in arrow-rs's reader. With `COLONNADE_DRAWN`, writes the streams and their rows into
//! that folder, for `core/tests/drawn/replay.py`.
//!
//! Input: two bytes for each choice.

#![no_main]

use std::hash::{DefaultHasher, Hash, Hasher};

use libfuzzer_sys::fuzz_target;

#[path = "../../core/tests/drawn/mod.rs"]
mod drawn;

use drawn::{Numbers, check_batches, check_grown_dictionary};

fuzz_target!(|input: &[u8]| {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let hash = hasher.finish();
    if let Some(drawn) = check_batches(&mut numbers(input)) {
        drawn.write(&format!("batches-{hash:016x}"));
    }
    if let Some(drawn) = check_grown_dictionary(&mut numbers(input)) {
        drawn.write(&format!("dictionary-{hash:016x}"));
    }
});

/// The numbers of an input; 0 after the last one.
fn numbers(mut input: &[u8]) -> Numbers<'_> {
    Numbers(Box::new(move || match input.split_first_chunk() {
        Some((&number, rest)) => {
            input = rest;
            usize::from(u16::from_le_bytes(number))
        }
        None => 0,
    }))
}
