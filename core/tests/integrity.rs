//! The metadata entries of a message. arrow-rs and this crate read what `front` writes. Invalid entries
//! are refused with an error that names them.

#![allow(clippy::unwrap_used)]

mod served;

use std::collections::HashMap;

use arrow_ipc::reader::StreamReader;
use colonnade_core::decode::Decoder;
use colonnade_core::wire::integrity::{
    FIRST_ROW, Integrity, SEQ, SNAPSHOT, TOTAL_BATCHES, TOTAL_ROWS, XXH3, front, xxh3_64,
};
use colonnade_core::wire::{DecodeErrorKind, Limits, survey_stream};

use served::{Piece, batch, batches, plain, served, split};

fn one_batch() -> Piece {
    split(&plain(&[batch(0, 10)])).pop().unwrap()
}

/// The custom metadata as read by arrow-rs, which verifies the whole FlatBuffer.
fn entries(piece: &Piece) -> HashMap<String, String> {
    let entries = piece.header().custom_metadata().unwrap_or_default();
    entries
        .iter()
        .map(|entry| {
            let (key, value) = (entry.key().unwrap(), entry.value().unwrap());
            (key.to_owned(), value.to_owned())
        })
        .collect()
}

#[test]
fn arrow_rs_reads_the_same_rows_and_the_entries() {
    let batches = batches(0, 40, 7);
    let stream = served(&batches, 0, true);
    let read: Vec<_> = StreamReader::try_new(&*stream, None)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(read[..read.len() - 1], batches);
    assert_eq!(read.last().unwrap().num_rows(), 0);

    let pieces = split(&stream);
    assert_eq!(entries(&pieces[0]), HashMap::new());
    for (seq, piece) in pieces[1..].iter().enumerate() {
        let entries = entries(piece);
        assert_eq!(entries[SEQ], seq.to_string());
        assert_eq!(entries[XXH3], format!("{:016x}", xxh3_64(&piece.body)));
    }
    let last = entries(pieces.last().unwrap());
    assert_eq!(last[FIRST_ROW], "40");
    assert_eq!(last[TOTAL_ROWS], "40");
    assert_eq!(last[TOTAL_BATCHES], "6");
    let survey = survey_stream(std::io::Cursor::new(&*stream), &Limits::default()).unwrap();
    assert_eq!((survey.num_rows, survey.num_batches), (40, 7));
}

#[test]
fn our_reader_reads_what_front_writes() {
    let plain = one_batch();
    assert_eq!(
        Integrity::read(&plain.metadata).unwrap(),
        Integrity::default()
    );
    let max = u64::MAX.to_string();
    let full = plain.with(&[
        ("someone.else", "x"),
        (FIRST_ROW, &max),
        (SEQ, "0"),
        (TOTAL_ROWS, "007"),
        (TOTAL_BATCHES, "3"),
        (XXH3, "00ff00000000000a"),
        (SNAPSHOT, "0123456789abcdef"),
        ("colonnade.later", "whatever"),
    ]);
    let expected = Integrity {
        first_row: Some(u64::MAX),
        seq: Some(0),
        total_rows: Some(7),
        total_batches: Some(3),
        xxh3: Some(0x00ff_0000_0000_000a),
        snapshot: Some(0x0123_4567_89ab_cdef),
    };
    assert_eq!(Integrity::read(&full.metadata).unwrap(), expected);
    // The header, its length and the version do not change.
    let (before, after) = (plain.header(), full.header());
    assert_eq!(before.version(), after.version());
    assert_eq!(before.bodyLength(), after.bodyLength());
    assert_eq!(
        format!("{:?}", before.header_as_record_batch().unwrap()),
        format!("{:?}", after.header_as_record_batch().unwrap())
    );
    // Earlier entries of a message stay, after the new ones.
    let again = full.with(&[("front", "most")]);
    assert_eq!(Integrity::read(&again.metadata).unwrap(), expected);
    assert_eq!(entries(&again).len(), 9);
}

#[test]
fn entries_of_every_length_keep_the_alignment() {
    let plain = one_batch();
    for length in 0..200 {
        let text = "é".repeat(length);
        let piece = plain.with(&[(&text, "v"), ("k", &text)]);
        assert_eq!(entries(&piece)["k"], text);
        assert_eq!(Integrity::read(&piece.metadata).unwrap().seq, None);
    }
    assert!(entries(&plain.with(&[])).is_empty());
}

#[test]
fn an_entry_that_is_not_sound_is_refused_by_name() {
    let plain = one_batch();
    for (key, value) in [
        (FIRST_ROW, ""),
        (FIRST_ROW, "-1"),
        (SEQ, "+1"),
        (SEQ, "1.0"),
        (TOTAL_ROWS, "18446744073709551616"),
        (TOTAL_BATCHES, "१"),
        (XXH3, "ABCDEF0123456789"),
        (XXH3, "+bcdef0123456789"),
        (XXH3, "0"),
    ] {
        let error = Integrity::read(&plain.with(&[(key, value)]).metadata).unwrap_err();
        assert_eq!(error.kind, DecodeErrorKind::InvalidHeader);
        assert!(error.message.contains(key), "{error}");
    }
    let twice = plain.with(&[(SEQ, "1"), (SEQ, "1")]);
    assert!(Integrity::read(&twice.metadata).is_err());
}

#[test]
fn no_flipped_bit_and_no_cut_of_the_metadata_panics() {
    let piece = one_batch().with(&[(FIRST_ROW, "5"), (SEQ, "2"), (XXH3, "0123456789abcdef")]);
    for bit in 0..piece.metadata.len() * 8 {
        let mut flipped = piece.metadata.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let _ = Integrity::read(&flipped);
        let _ = front(&flipped, &[(SEQ, "1")]);
        let _ = Integrity::read(&flipped[..bit / 8]);
        let _ = front(&flipped[..bit / 8], &[(SEQ, "1")]);
    }
    let stream = served(&batches(0, 4, 2), 0, true);
    for bit in 0..stream.len() * 8 {
        let mut flipped = stream.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let _ = Decoder::new(1 << 20, Limits::default()).push(&flipped);
    }
}

#[test]
fn entries_beyond_the_first_64_are_not_looked_at() {
    let piece = one_batch().with(&[(SEQ, "1")]);
    let seq_behind = |others: usize| {
        let others = vec![("someone.else", ""); others];
        Integrity::read(&piece.with(&others).metadata).unwrap().seq
    };
    assert_eq!(seq_behind(63), Some(1));
    assert_eq!(seq_behind(64), None);
}

#[test]
fn the_hash_is_xxh3() {
    // Values from the reference implementation (xxhsum -H3).
    assert_eq!(xxh3_64(b""), 0x2d06_8005_38d3_94c2);
    assert_eq!(xxh3_64(b"a"), 0xe6c6_32b6_1e96_4e1f);
}

/// `fixtures/numbered.arrows` is for tests without Rust; `COLONNADE_WRITE_FIXTURES=1` writes it.
#[test]
fn the_fixture_is_what_a_server_sends() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/numbered.arrows");
    let stream = served(&batches(0, 300, 10), 0, true);
    if std::env::var_os("COLONNADE_WRITE_FIXTURES").is_some() {
        std::fs::write(path, &stream).unwrap();
    }
    assert!(
        std::fs::read(path).unwrap() == stream,
        "{path} is another stream than front and arrow-rs make; COLONNADE_WRITE_FIXTURES=1 writes it"
    );
}
