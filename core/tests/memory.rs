//! The memory of message bodies: only what arrives is used, it is counted, and it is reused.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use colonnade_core::decode::Decoder;
use colonnade_core::text::FixedOffsets;
use colonnade_core::wire::{DecodeErrorKind, Limits, SlabPool};

fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone()));
    let texts = rows.map(|row| format!("row {row}"));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()
}

/// `num_batches` batches of `batch_rows` rows.
fn stream(num_batches: i64, batch_rows: i64) -> Vec<u8> {
    let schema = batch(0..1).schema();
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    for index in 0..num_batches {
        let rows = index * batch_rows..(index + 1) * batch_rows;
        writer.write(&batch(rows)).unwrap();
    }
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn decode(pool: &SlabPool, bytes: &[u8]) -> Decoder {
    let mut decoder = Decoder::with_pool(u64::MAX, Limits::default(), pool.clone());
    decoder.push(bytes).unwrap();
    decoder.finish().unwrap();
    decoder
}

fn assert_rows(decoder: &Decoder) {
    let table = decoder.table().unwrap();
    let mut expected = 0;
    for chunk in table.columns()[0].chunks() {
        for value in chunk.unwrap().as_primitive::<Int64Type>().values() {
            assert_eq!(*value, expected);
            expected += 1;
        }
    }
    assert_eq!(table.num_rows(), expected as u64);
}

fn first_address(decoder: &Decoder) -> *const i64 {
    let chunk = decoder.table().unwrap().columns()[0].chunk(0).unwrap();
    chunk.as_primitive::<Int64Type>().values().as_ptr()
}

#[test]
fn the_next_stream_gets_the_memory_of_one_that_is_gone() {
    let pool = SlabPool::default();
    let bytes = stream(200, 1000);
    let first = decode(&pool, &bytes);
    let address = first_address(&first);
    assert_rows(&first);
    drop(first);
    let free_bytes = pool.free_bytes();
    assert!(free_bytes > 0);
    for _ in 0..3 {
        let next = decode(&pool, &bytes);
        assert_rows(&next);
        assert_eq!(first_address(&next), address);
        drop(next);
        assert_eq!(pool.free_bytes(), free_bytes, "nothing was allocated");
    }
}

#[test]
fn few_rows_hold_no_more_of_a_budget_in_memory_that_is_used_again() {
    const BUDGET_BYTES: u64 = 6000;
    let pool = SlabPool::default();
    // Leaves one free block of memory, nearly as large as the budget.
    drop(decode(&pool, &stream(1, 280)));
    let free_bytes = pool.free_bytes() as u64;
    assert!((BUDGET_BYTES / 2..BUDGET_BYTES).contains(&free_bytes));
    let mut decoder = Decoder::with_pool(BUDGET_BYTES, Limits::default(), pool);
    decoder.push(&stream(100, 10)).unwrap_err();
    let num_rows = decoder.table().unwrap().num_rows();
    assert!(num_rows > 100);
    decoder.keep_first(num_rows / 4);
    let held_bytes = decoder.used_bytes();
    assert!(held_bytes < BUDGET_BYTES / 2, "{held_bytes}");
}

#[test]
fn arrays_outlive_their_decoder() {
    let pool = SlabPool::default();
    let bytes = stream(50, 100);
    let decoder = decode(&pool, &bytes);
    let chunk = Arc::clone(decoder.table().unwrap().columns()[0].chunk(7).unwrap());
    drop(decoder);
    // The memory of other decoders must not overlap memory in use.
    let others = [decode(&pool, &bytes), decode(&pool, &bytes)];
    let values = chunk.as_primitive::<Int64Type>().values();
    assert!(values.iter().copied().eq(700..800));
    others.iter().for_each(assert_rows);
}

#[test]
fn memory_is_little_more_than_the_bodies() {
    for (num_batches, batch_rows) in [(1, 10), (3, 7), (2000, 10), (300, 1000), (7, 200_000)] {
        let bytes = stream(num_batches, batch_rows);
        let decoder = decode(&SlabPool::default(), &bytes);
        let used_bytes = decoder.used_bytes() as f64;
        let number_bytes = (num_batches * batch_rows * 8) as f64;
        assert!(used_bytes > number_bytes, "{used_bytes}");
        assert!(used_bytes < 1.1 * bytes.len() as f64 + 64.0, "{used_bytes}");
        assert_rows(&decoder);
    }
}

#[test]
fn what_is_taken_counts_until_it_is_dropped() {
    let bytes = stream(100, 1000);
    let mut decoder = decode(&SlabPool::default(), &bytes);
    let used_bytes = decoder.used_bytes();
    let table = decoder.take_table().unwrap();
    assert_eq!(decoder.used_bytes(), used_bytes);
    drop(table);
    assert_eq!(decoder.used_bytes(), 0);
}

#[test]
fn rows_within_the_budget_stay_and_the_next_message_is_refused() {
    let bytes = stream(100, 1000);
    let mut decoder = Decoder::new(bytes.len() as u64 / 2, Limits::default());
    let error = decoder.push(&bytes).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::MemoryBudgetExceeded, "{error}");
    assert!((40..=50).contains(&(error.row / 1000)), "{error:?}");
    assert_eq!(error.row, decoder.progress().num_rows);
    assert_rows(&decoder);
    assert!(decoder.used_bytes() <= bytes.len() as u64 / 2);
}

/// A stream of one batch whose body claims to be `body_bytes` long, but has only 10 bytes.
fn claiming(body_bytes: i64) -> Vec<u8> {
    let bytes = stream(1, 1);
    let schema_end = 8 + u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
    let length = u32::from_le_bytes(bytes[schema_end + 4..][..4].try_into().unwrap()) as usize;
    let start = schema_end + 8;
    let metadata = &bytes[start..start + length];
    let said = arrow_ipc::root_as_message(metadata).unwrap().bodyLength();
    let claimed = (0..length - 7).find_map(|at| {
        let mut metadata = metadata.to_vec();
        if metadata[at..at + 8] != said.to_le_bytes() {
            return None;
        }
        metadata[at..at + 8].copy_from_slice(&body_bytes.to_le_bytes());
        let changed = arrow_ipc::root_as_message(&metadata).ok()?;
        (changed.bodyLength() == body_bytes).then_some(metadata)
    });
    let mut out = bytes[..start].to_vec();
    out.extend(claimed.unwrap());
    out.extend([0; 10]);
    out
}

/// Memory of this process that has been written, in bytes.
#[cfg(target_os = "linux")]
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[cfg(target_os = "linux")]
#[test]
fn a_claim_takes_no_memory_until_its_bytes_come() {
    const CLAIMED_BYTES: i64 = 8 << 30;
    let limits = Limits {
        max_body_bytes: u64::MAX,
        ..Limits::default()
    };
    let before = resident_bytes();
    let mut decoder = Decoder::new(u64::MAX, limits);
    decoder.push(&claiming(CLAIMED_BYTES)).unwrap();
    assert_eq!(
        decoder.finish().unwrap_err().kind,
        DecodeErrorKind::TruncatedMessage
    );
    let after = resident_bytes();
    // The other tests of this file need less than that.
    assert!(after < before + (1 << 30), "{before} {after}");
}

#[test]
fn a_claim_beyond_limit_budget_or_machine_is_an_error() {
    let refused = |memory_bytes, max_body_bytes, claimed| {
        let limits = Limits {
            max_body_bytes,
            ..Limits::default()
        };
        let mut decoder = Decoder::new(memory_bytes, limits);
        decoder.push(&claiming(claimed)).unwrap_err().kind
    };
    let default = Limits::default().max_body_bytes;
    assert_eq!(
        refused(u64::MAX, default, 2 << 30),
        DecodeErrorKind::OverLimit
    );
    for (memory_bytes, claimed) in [
        (64 << 20, 200 << 20),
        (u64::MAX, 1 << 50),
        (u64::MAX, i64::MAX),
        (u64::MAX, i64::MAX - 64),
    ] {
        assert_eq!(
            refused(memory_bytes, u64::MAX, claimed),
            DecodeErrorKind::MemoryBudgetExceeded
        );
    }
}

#[test]
fn half_read_messages_leave_their_room_to_the_next_response() {
    let bytes = stream(20, 1000);
    let mut decoder = Decoder::new(u64::MAX, Limits::default());
    decoder.push(&bytes[..bytes.len() - 100]).unwrap();
    let (used_bytes, num_rows) = (decoder.used_bytes(), decoder.progress().num_rows);
    for _ in 0..100 {
        decoder.resume(num_rows);
        // The schema, and part of the first batch.
        decoder.push(&bytes[..5000]).unwrap();
        assert!(decoder.used_bytes() <= used_bytes + 64);
    }
    let table = decoder.table().unwrap();
    let window = table.window(0..num_rows, &[0, 1], 0, &FixedOffsets);
    assert!(!window.unwrap().bytes.is_empty());
}

#[test]
fn memory_that_was_never_written_can_be_written_through_a_pointer() {
    let pool = SlabPool::default();
    let bytes = stream(20, 1000);
    // The second decoder reuses the slabs of the first.
    for piece_bytes in [7, 4096] {
        let mut decoder = Decoder::with_pool(u64::MAX, Limits::default(), pool.clone());
        let mut left = bytes.as_slice();
        while !left.is_empty() {
            let (address, len) = decoder.unwritten();
            let (piece, rest) = left.split_at(len.min(left.len()).min(piece_bytes));
            // SAFETY: the decoder owns `len` bytes at `address`.
            unsafe { piece.as_ptr().copy_to_nonoverlapping(address, piece.len()) };
            // SAFETY: they were written.
            unsafe { decoder.assume_written(piece.len()) };
            decoder.advance(piece.len()).unwrap();
            left = rest;
        }
        decoder.finish().unwrap();
        assert_rows(&decoder);
    }
}
