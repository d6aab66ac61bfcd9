//! A memory budget that grows, blocks of rows of a result, and a table that keeps only its first rows.

#![allow(clippy::unwrap_used)]

mod served;

use colonnade_core::decode::Decoder;
use colonnade_core::text::FixedOffsets;
use colonnade_core::wire::{DecodeErrorKind, Limits};

use served::{batches, served, with_snapshot};

const END_ROW: u64 = 130;

fn response(first_row: u64, batch_rows: i64) -> Vec<u8> {
    let batches = batches(first_row as i64, END_ROW as i64, batch_rows);
    served(&batches, first_row, true)
}

fn decoder() -> Decoder {
    Decoder::new(1 << 20, Limits::default())
}

/// The texts of rows `[start, end)` as a packed window.
fn texts(decoder: &Decoder, start: u64, end: u64) -> Vec<u8> {
    let table = decoder.table().unwrap();
    let window = table.window(start..end, &[0, 1, 2], 0, &FixedOffsets);
    window.unwrap().bytes
}

fn whole() -> Decoder {
    let mut decoder = decoder();
    decoder.push(&response(0, 10)).unwrap();
    decoder
}

#[test]
fn a_message_beyond_the_budget_waits_until_there_is_more() {
    let stream = response(0, 10);
    let mut decoder = decoder();
    decoder.push(&stream).unwrap();
    let needed_bytes = decoder.used_bytes();
    for start_bytes in (0..needed_bytes).step_by(97) {
        let mut memory_bytes = start_bytes;
        let mut decoder = Decoder::new(memory_bytes, Limits::default());
        let mut left = stream.as_slice();
        while !left.is_empty() {
            let space = decoder.space();
            let taken = space.len().min(left.len());
            space[..taken].copy_from_slice(&left[..taken]);
            left = &left[taken..];
            let mut advanced = decoder.advance(taken);
            while let Err(error) = advanced {
                assert_eq!(error.kind, DecodeErrorKind::MemoryBudgetExceeded);
                assert!(decoder.space().is_empty());
                assert_eq!(decoder.advance(0).unwrap_err(), error, "it still waits");
                memory_bytes += 500;
                advanced = decoder.set_memory_bytes(memory_bytes);
            }
        }
        decoder.finish().unwrap();
        assert_eq!(texts(&decoder, 0, END_ROW), texts(&whole(), 0, END_ROW));
    }
}

#[test]
fn a_block_has_the_rows_of_the_whole() {
    let whole = whole();
    for first_row in [0, 1, 64, 129] {
        let mut block = whole.row_block(first_row, 1 << 20);
        assert!(block.progress().has_schema);
        block.push(&response(first_row, 7)).unwrap();
        block.finish().unwrap();
        let num_rows = END_ROW - first_row;
        assert_eq!(
            texts(&block, 0, num_rows),
            texts(&whole, first_row, END_ROW)
        );
    }
}

#[test]
fn a_block_takes_no_rows_of_another_place_or_state() {
    let mut whole = decoder();
    let old = with_snapshot(&response(0, 10), "00000000000000aa");
    whole.push(&old).unwrap();
    let refused = |stream: &[u8]| whole.row_block(50, 1 << 20).push(stream).unwrap_err().kind;
    assert_eq!(refused(&response(49, 7)), DecodeErrorKind::RowOverlap);
    assert_eq!(refused(&response(51, 7)), DecodeErrorKind::RowGap);
    let other = with_snapshot(&response(50, 7), "00000000000000ab");
    assert_eq!(refused(&other), DecodeErrorKind::SourceChanged);
}

#[test]
fn the_first_rows_can_be_kept() {
    for num_rows in [0, 1, 9, 10, 11, 55, 130, 1000] {
        let mut decoder = whole();
        decoder.keep_first(num_rows);
        let kept = (num_rows.div_ceil(10) * 10).min(END_ROW);
        assert_eq!(decoder.progress().num_rows, kept);
        assert_eq!(texts(&decoder, 0, kept), texts(&whole(), 0, kept));
    }
}
