//! The bodies of the fuzz targets over committed inputs, which the fuzzer found to reach different code: streams as
//! they are, and those in `fuzz/seeds`. `npm run fuzz` searches on from them.

#![allow(clippy::unwrap_used)]

mod decode_stream;
mod drawn_types;
mod survey;

use std::fs;
use std::path::Path;

/// Chunk seeds and lengths of first responses, for streams that the fuzzer did not write.
const HEADS: [[u8; 3]; 3] = [[7, 0, 0], [1, 200, 0], [90, 0, 2]];

/// Runs a target over every file of a folder of the checkout, after `head`.
fn run_all(folder: &str, head: &[u8], run: fn(&[u8])) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(folder);
    let files = fs::read_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut num_inputs = 0;
    for file in files.map(|file| file.unwrap().path()) {
        let input = [head, &fs::read(&file).unwrap()].concat();
        let result = std::panic::catch_unwind(|| run(&input));
        assert!(result.is_ok(), "{} after {head:?}", file.display());
        num_inputs += 1;
    }
    println!("{num_inputs} inputs of {folder} after {head:?}");
    assert!(num_inputs > 10, "{folder} has {num_inputs} inputs");
}

#[test]
fn decoded_streams_harm_nothing() {
    run_all("fuzz/seeds/decode_stream", &[], decode_stream::run);
    for head in HEADS {
        run_all("fixtures/small", &head, decode_stream::run);
    }
}

#[test]
fn drawn_types_have_their_texts() {
    run_all("fuzz/seeds/drawn_types", &[], drawn_types::run);
}

#[test]
fn surveyed_streams_and_files_harm_nothing() {
    run_all("fuzz/seeds/survey", &[], survey::run);
    run_all("fixtures/small", &[], survey::run);
}
