//! A response that breaks off is continued by another one: no row is lost, duplicated or taken from
//! another result.

#![allow(clippy::unwrap_used)]

mod served;

use arrow_array::RecordBatch;
use colonnade_core::decode::Decoder;
use colonnade_core::text::FixedOffsets;
use colonnade_core::wire::{DecodeError, DecodeErrorKind, Limits};

use served::{CONTINUATION, batches, plain, served, served_as, split, with_snapshot};

/// The result has rows `[FIRST_ROW, END_ROW)`, as if it had been requested with an offset.
const FIRST_ROW: u64 = 100;
const END_ROW: u64 = 130;

fn decoder() -> Decoder {
    Decoder::new(1 << 20, Limits::default())
}

fn num_rows(decoder: &Decoder) -> u64 {
    decoder.progress().num_rows
}

fn response(first_row: u64, batch_rows: i64) -> Vec<u8> {
    let batches = batches(first_row as i64, END_ROW as i64, batch_rows);
    served(&batches, first_row, true)
}

/// The texts of all rows as a packed window.
fn texts(decoder: &Decoder) -> Vec<u8> {
    let Some(table) = decoder.table() else {
        return Vec::new();
    };
    let window = table.window(0..table.num_rows(), &[0, 1, 2], 0, &FixedOffsets);
    window.unwrap().bytes
}

fn whole() -> Vec<u8> {
    let mut decoder = decoder();
    decoder.push(&response(FIRST_ROW, 7)).unwrap();
    decoder.finish().unwrap();
    texts(&decoder)
}

/// A decoder that has read `response` up to `cut`, and was then resumed.
fn cut_and_resumed(response: &[u8], cut: usize) -> Decoder {
    let mut decoder = decoder();
    decoder.push(&response[..cut]).unwrap();
    decoder.finish().unwrap_err();
    decoder.resume(FIRST_ROW + num_rows(&decoder));
    decoder
}

/// Pushes a continuation that must be refused, and checks that the rows stay.
fn refused(decoder: &mut Decoder, continuation: &[u8]) -> DecodeError {
    let before = texts(decoder);
    let rows = num_rows(decoder);
    let error = decoder.push(continuation).unwrap_err();
    assert_eq!(error.row, num_rows(decoder));
    assert_eq!(decoder.push(&[0]).unwrap_err(), error, "it stays failed");
    if num_rows(decoder) == rows {
        assert_eq!(texts(decoder), before);
    }
    error
}

#[test]
fn a_stream_cut_at_any_byte_goes_on_to_the_same_rows() {
    let first = response(FIRST_ROW, 7);
    let whole = whole();
    for cut in 0..first.len() {
        for batch_rows in [3, 50] {
            let mut decoder = cut_and_resumed(&first, cut);
            let row = FIRST_ROW + num_rows(&decoder);
            decoder.push(&response(row, batch_rows)).unwrap();
            decoder.finish().unwrap();
            assert_eq!(texts(&decoder), whole, "cut at byte {cut}, row {row}");
        }
    }
}

#[test]
fn every_type_goes_on_to_the_same_rows() {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/every_type.arrows");
    let fixture = std::fs::File::open(fixture).unwrap();
    let reader = arrow_ipc::reader::StreamReader::try_new(fixture, None).unwrap();
    let schema = reader.schema();
    let batches: Vec<_> = reader.map(Result::unwrap).collect();
    let total_rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let response = |first_row: usize, batch_rows: usize| {
        let mut before = 0;
        let mut rest = Vec::new();
        for batch in &batches {
            let start = first_row.saturating_sub(before).min(batch.num_rows());
            before += batch.num_rows();
            for row in (start..batch.num_rows()).step_by(batch_rows) {
                rest.push(batch.slice(row, batch_rows.min(batch.num_rows() - row)));
            }
        }
        served_as(&schema, &rest, first_row as u64, true)
    };
    let columns: Vec<usize> = (0..schema.fields().len()).collect();
    let texts = |decoder: &Decoder| {
        let table = decoder.table().unwrap();
        table
            .window(0..total_rows as u64, &columns, 0, &FixedOffsets)
            .unwrap()
            .bytes
    };
    let first = response(0, 3);
    let mut whole = Decoder::new(64 << 20, Limits::default());
    whole.push(&first).unwrap();
    let whole = texts(&whole);
    for cut in (0..first.len()).step_by(97) {
        let mut decoder = Decoder::new(64 << 20, Limits::default());
        decoder.push(&first[..cut]).unwrap();
        let row = num_rows(&decoder);
        decoder.resume(row);
        decoder.push(&response(row as usize, 5)).unwrap();
        decoder.finish().unwrap();
        assert!(texts(&decoder) == whole, "cut at byte {cut}, row {row}");
    }
}

#[test]
fn a_stream_cut_time_and_again_goes_on_to_the_same_rows() {
    let whole = whole();
    for seed in 1..200 {
        let mut random: u64 = seed;
        let mut decoder = decoder();
        for attempt in 0.. {
            let response = response(FIRST_ROW + num_rows(&decoder), 1 + (seed % 5) as i64);
            // xorshift64. The later the attempt, the more of the response arrives.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let cut = (random % (200 * (attempt + 1))).min(response.len() as u64);
            decoder.push(&response[..cut as usize]).unwrap();
            if decoder.finish().is_ok() {
                break;
            }
            decoder.resume(FIRST_ROW + num_rows(&decoder));
        }
        assert_eq!(texts(&decoder), whole, "seed {seed}");
    }
}

#[test]
fn a_continuation_at_another_row_is_refused() {
    let first = response(FIRST_ROW, 7);
    for cut in 0..first.len() {
        let mut decoder = cut_and_resumed(&first, cut);
        let row = FIRST_ROW + num_rows(&decoder);
        let error = refused(&mut decoder, &response(row - 1, 3));
        assert_eq!(error.kind, DecodeErrorKind::RowOverlap, "{error}");
        assert!(error.message.contains(&format!("row {row} was expected")));

        if row < END_ROW {
            let mut decoder = cut_and_resumed(&first, cut);
            let error = refused(&mut decoder, &response(row + 1, 3));
            assert_eq!(error.kind, DecodeErrorKind::RowGap, "{error}");
            assert!(error.message.contains(&format!("row {row} was expected")));
        }
    }
}

#[test]
fn a_continuation_that_does_not_count_its_rows_is_refused() {
    let first = response(FIRST_ROW, 7);
    let mut decoder = cut_and_resumed(&first, first.len() / 2);
    let row = (FIRST_ROW + num_rows(&decoder)) as i64;
    let error = refused(&mut decoder, &plain(&batches(row, END_ROW as i64, 5)));
    assert_eq!(error.kind, DecodeErrorKind::InvalidHeader, "{error}");
}

#[test]
fn a_continuation_of_another_schema_is_refused() {
    let first = response(FIRST_ROW, 7);
    let other = batches(0, 3, 3)[0].project(&[0, 1]).unwrap();
    let mut decoder = cut_and_resumed(&first, first.len() / 2);
    assert!(num_rows(&decoder) > 0);
    let error = refused(&mut decoder, &plain(&[other]));
    assert_eq!(error.kind, DecodeErrorKind::SchemaChanged, "{error}");
    // A correct response can still follow.
    let row = FIRST_ROW + num_rows(&decoder);
    decoder.resume(row);
    decoder.push(&response(row, 7)).unwrap();
    assert_eq!(texts(&decoder), whole());
}

#[test]
fn a_continuation_of_another_state_of_the_source_is_refused() {
    let (old, new) = ("00000000000000aa", "00000000000000ab");
    let first = with_snapshot(&response(FIRST_ROW, 7), old);
    let mut decoder = cut_and_resumed(&first, first.len() / 2);
    let row = FIRST_ROW + num_rows(&decoder);
    assert!(row > FIRST_ROW, "some rows came before");
    let error = refused(&mut decoder, &with_snapshot(&response(row, 7), new));
    assert_eq!(error.kind, DecodeErrorKind::SourceChanged, "{error}");
    assert_eq!(
        FIRST_ROW + num_rows(&decoder),
        row,
        "what came before is kept"
    );
    decoder.resume(row);
    decoder
        .push(&with_snapshot(&response(row, 7), old))
        .unwrap();
    assert_eq!(texts(&decoder), whole());
}

#[test]
fn a_continuation_without_its_dictionary_is_refused() {
    let first = response(FIRST_ROW, 7);
    let mut decoder = cut_and_resumed(&first, first.len() / 2);
    let row = FIRST_ROW + num_rows(&decoder);
    let mut pieces = split(&response(row, 50));
    pieces.remove(1);
    let stream: Vec<u8> = pieces.iter().flat_map(served::Piece::bytes).collect();
    let error = refused(&mut decoder, &stream);
    assert_eq!(error.kind, DecodeErrorKind::MessageGap, "{error}");
}

#[test]
fn a_flipped_bit_of_a_body_is_found_and_named() {
    let first = response(FIRST_ROW, 7);
    let before_flip = cut_and_resumed(&first, first.len() / 2);
    let row = FIRST_ROW + num_rows(&before_flip);
    let pieces = split(&response(row, 4));
    let mut byte = 0;
    let mut rows_before = num_rows(&before_flip);
    for (index, piece) in pieces.iter().enumerate() {
        for at in 0..piece.body.len() {
            let mut flipped = pieces.clone();
            flipped[index].body[at] ^= 1 << (at % 8);
            let stream: Vec<u8> = flipped.iter().flat_map(served::Piece::bytes).collect();
            let mut decoder = cut_and_resumed(&first, first.len() / 2);
            let error = refused(&mut decoder, &stream);
            assert_eq!(error.kind, DecodeErrorKind::ChecksumMismatch, "{error}");
            assert_eq!((error.byte, error.row), (byte as u64, rows_before));
            let named = format!("from row {} on", FIRST_ROW + rows_before);
            assert!(error.message.contains(&named), "{error}");
        }
        byte += piece.bytes().len();
        rows_before += piece.num_rows();
    }
}

#[test]
fn a_lost_or_doubled_message_is_found() {
    let pieces = split(&response(FIRST_ROW, 7));
    let marker = [&CONTINUATION[..], &[0; 4]].concat();
    for index in 1..pieces.len() {
        let mut without = pieces.clone();
        without.remove(index);
        let mut twice = pieces.clone();
        twice.insert(index, pieces[index].clone());
        for (what, pieces) in [("without", without), ("twice", twice)] {
            let mut stream: Vec<u8> = pieces.iter().flat_map(served::Piece::bytes).collect();
            stream.extend(&marker);
            let error = decoder().push(&stream).unwrap_err();
            assert!(
                matches!(
                    error.kind,
                    DecodeErrorKind::RowGap
                        | DecodeErrorKind::RowOverlap
                        | DecodeErrorKind::MessageGap
                        | DecodeErrorKind::WrongTotal
                ),
                "{what} message {index}: {error}"
            );
        }
    }
}

#[test]
fn totals_that_are_not_those_of_the_response_are_refused() {
    let pieces = split(&plain(&batches(0, 5, 5)));
    for (rows, batches, is_right) in [
        ("5", "0", true),
        ("6", "0", false),
        ("4", "0", false),
        ("5", "1", false),
    ] {
        let entries = [
            ("colonnade.first_row", "0"),
            ("colonnade.seq", "1"),
            ("colonnade.total_rows", rows),
            ("colonnade.total_batches", batches),
        ];
        let stream = [
            pieces[0].bytes(),
            pieces[1]
                .with(&entries[..1])
                .with(&[("colonnade.seq", "0")])
                .bytes(),
            pieces[2].with(&entries).bytes(),
            CONTINUATION.to_vec(),
            vec![0; 4],
        ]
        .concat();
        let mut decoder = decoder();
        match decoder.push(&stream) {
            Ok(progress) => assert!(is_right && progress.is_complete),
            Err(error) => {
                assert!(!is_right);
                assert_eq!(error.kind, DecodeErrorKind::WrongTotal, "{error}");
            }
        }
    }
}

#[test]
fn rows_at_the_end_of_counting_do_not_panic() {
    let near_the_end = u64::MAX.to_string();
    let piece = split(&plain(&batches(0, 5, 5)))
        .into_iter()
        .map(|piece| match piece.header().header_type() {
            arrow_ipc::MessageHeader::Schema => piece.bytes(),
            _ => piece
                .with(&[
                    ("colonnade.first_row", &near_the_end),
                    ("colonnade.seq", "0"),
                ])
                .bytes(),
        })
        .collect::<Vec<_>>()
        .concat();
    let mut decoder = decoder();
    let _ = decoder.push(&piece);
    decoder.resume(u64::MAX);
    let _ = decoder.push(&piece);
}
