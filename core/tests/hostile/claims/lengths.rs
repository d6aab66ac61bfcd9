use arrow_ipc::CompressionType;
use arrow_schema::{DataType, Field};
use colonnade_core::text::FixedOffsets;
use colonnade_core::wire::DecodeErrorKind::{
    InvalidData, InvalidHeader, MemoryBudgetExceeded, NotArrow, OverLimit, TruncatedMessage,
};

use crate::BUDGET_BYTES;
use crate::crafted::{Claim, Stream, schema};

use super::{CODECS, MIB, accepted, compressed, decode, refused};

#[test]
fn claimed_decompressed_lengths_over_the_budget() {
    for codec in CODECS {
        for claimed_bytes in [1 << 40, i64::MAX, BUDGET_BYTES as i64 + 1] {
            let claim = compressed(codec, &[7; 1000], claimed_bytes);
            let stream = Stream::of(DataType::Int8, &[claim]);
            refused(&stream, MemoryBudgetExceeded, 1, "memory budget");
        }
        let claim = compressed(codec, &[7; 1000], -2);
        let stream = Stream::of(DataType::Int8, &[claim]);
        refused(&stream, InvalidHeader, 1, "negative");
    }
}

#[test]
fn bombs_that_claim_little() {
    for codec in CODECS {
        let claim = compressed(codec, &vec![0; 64 * MIB], 1000);
        let stream = Stream::of(DataType::Int8, &[claim]);
        assert!(stream.bytes.len() < MIB, "{} bytes", stream.bytes.len());
        refused(&stream, InvalidData, 1, "its prefix says 1000");
    }
}

#[test]
fn buffers_that_are_over_the_budget_together() {
    let one = compressed(CompressionType::ZSTD, &vec![0; 6 * MIB], 6 * MIB as i64);
    let (_, values) = (one.buffers[0], one.buffers[1]);
    let rows = 6 * MIB as i64;
    let claim = Claim {
        rows,
        nodes: vec![(rows, 0); 3],
        buffers: [(0, 0), values].repeat(3),
        ..one
    };
    let columns = ["a", "b", "c"].map(|name| Field::new(name, DataType::Int8, true));
    let stream = Stream::new(&[schema(columns.to_vec()), claim.message()]);
    refused(&stream, MemoryBudgetExceeded, 1, "memory budget");
}

#[test]
fn decompressed_rows_wait_for_a_larger_budget() {
    let num_rows = 12 * MIB;
    for codec in CODECS {
        let claim = compressed(codec, &vec![7; num_rows], num_rows as i64);
        let stream = Stream::of(DataType::Int8, &[claim.clone(), claim]);
        let (mut decoder, result) = decode(&stream);
        let error = result.unwrap_err();
        assert_eq!(
            (error.kind, error.byte),
            (MemoryBudgetExceeded, stream.starts[2])
        );
        assert!(decoder.space().is_empty());
        let progress = decoder.set_memory_bytes(4 * BUDGET_BYTES).unwrap();
        assert_eq!(progress.num_rows, 2 * num_rows as u64);
    }
}

#[test]
fn copies_of_unaligned_values_count_in_the_budget() {
    let num_bytes = 8 * MIB;
    let mut claim = Claim::batch(&[num_bytes as i64 / 16], &[&[], &vec![1; num_bytes]]);
    claim.body.splice(0..0, [0; 8]);
    claim.buffers[1].0 += 8;
    let stream = Stream::of(DataType::Decimal128(38, 0), &[claim]);
    refused(&stream, MemoryBudgetExceeded, 1, "memory budget");
    let mut decoder = decode(&stream).0;
    decoder.set_memory_bytes(2 * BUDGET_BYTES).unwrap();
    assert!(decoder.used_bytes() >= 2 * num_bytes as u64);
    let table = decoder.table().unwrap();
    let window = table.window(0..1, &[0], 0, &FixedOffsets).unwrap();
    let text = i128::from_le_bytes([1; 16]).to_string();
    assert!(window.bytes.ends_with(text.as_bytes()));
    drop(decoder.take_table());
    assert!(decoder.used_bytes() < MIB as u64);
}

#[test]
fn claimed_row_counts() {
    let rows = |rows: i64| Claim {
        rows,
        nodes: vec![(rows, 0)],
        ..Claim::default()
    };
    for claimed in [1 << 62, (1 << 32) + 100, 1 << 31] {
        refused(
            &Stream::of(DataType::Null, &[rows(claimed)]),
            OverLimit,
            1,
            "row count",
        );
    }
    refused(
        &Stream::of(DataType::Null, &[rows(-1)]),
        InvalidHeader,
        1,
        "negative",
    );
    // Even the maximum number of null rows takes no memory.
    let most = i64::from(i32::MAX);
    let stream = Stream::of(DataType::Null, &[rows(most), rows(most), rows(most)]);
    assert_eq!(accepted(&stream).progress().num_rows, 3 * most as u64);
    let empty = DataType::FixedSizeBinary(0);
    let claim = Claim::batch(&[most], &[&[], &[]]);
    accepted(&Stream::of(empty, &[claim]));
}

#[test]
fn rows_inside_of_rows_that_take_no_bytes() {
    let most = i64::from(i32::MAX);
    let item = || Field::new("item", DataType::Null, true);
    let list = DataType::FixedSizeList(item().into(), i32::MAX);
    let stream = Stream::of(list, &[Claim::batch(&[1, most], &[&[]])]);
    refused(&stream, OverLimit, 1, "16777216");
    let list = DataType::List(item().into());
    let offsets = [0i32.to_le_bytes(), i32::MAX.to_le_bytes()].concat();
    let stream = Stream::of(list, &[Claim::batch(&[1, most], &[&[], &offsets])]);
    refused(&stream, OverLimit, 1, "16777216");
    let values = DataType::FixedSizeBinary(0);
    let dictionary = DataType::Dictionary(DataType::Int8.into(), values.into());
    let values = Claim::batch(&[most], &[&[], &[]]).dictionary_batch(0, false);
    refused(&Stream::of(dictionary, &[values]), OverLimit, 1, "16777216");
}

#[test]
fn claimed_body_lengths() {
    let claims = [
        (1 << 62, MemoryBudgetExceeded, "memory budget"),
        ((1 << 32) + 800, MemoryBudgetExceeded, "memory budget"),
        (200 << 20, MemoryBudgetExceeded, "memory budget"),
        (-8, InvalidHeader, "negative"),
        (0, InvalidHeader, "buffer length"),
    ];
    for (body_bytes, kind, what) in claims {
        let claim = Claim {
            body_bytes: Some(body_bytes),
            ..Claim::batch(&[2], &[&[], &[1, 2]])
        };
        refused(&Stream::of(DataType::Int8, &[claim]), kind, 1, what);
    }
}

#[test]
fn claimed_metadata_lengths() {
    for length in [i32::MAX, -1, 3, (16 << 20) + 1] {
        let mut message = vec![0xff; 4];
        message.extend_from_slice(&length.to_le_bytes());
        let stream = Stream::new(&[schema(vec![]), message]);
        refused(&stream, NotArrow, 1, "bytes of metadata");
    }
    let mut message = vec![0xff; 4];
    message.extend_from_slice(&(1i32 << 20).to_le_bytes());
    let stream = Stream::new(&[schema(vec![]), message]);
    let error = decode(&stream).1.unwrap_err();
    assert_eq!(
        (error.kind, error.byte),
        (TruncatedMessage, stream.bytes.len() as u64)
    );
}
