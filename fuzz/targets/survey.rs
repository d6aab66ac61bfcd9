//! `core/tests/fuzz/survey.rs` for libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../core/tests/fuzz/survey.rs"]
mod survey;

fuzz_target!(|input: &[u8]| survey::run(input));
