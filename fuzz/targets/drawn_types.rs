//! `core/tests/fuzz/drawn_types.rs` for libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../core/tests/fuzz/drawn_types.rs"]
mod drawn_types;

fuzz_target!(|input: &[u8]| drawn_types::run(input));
