//! Reads the headers of the bytes as a stream and as a file.

use std::io::Cursor;

use colonnade_core::wire::{Limits, survey_file, survey_stream};

pub(crate) fn run(bytes: &[u8]) {
    let limits = Limits {
        max_metadata_bytes: 1 << 20,
        ..Limits::default()
    };
    let _ = survey_stream(Cursor::new(bytes), &limits);
    let _ = survey_file(Cursor::new(bytes), &limits);
}
