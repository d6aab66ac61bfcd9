//! `core/tests/fuzz/decode_stream.rs` for libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../core/tests/fuzz/decode_stream.rs"]
mod decode_stream;

fuzz_target!(|input: &[u8]| decode_stream::run(input));
