//! Legal streams of nested types that are hard to read: long runs, and dictionaries that grow.

use arrow_schema::{DataType, Field};
use colonnade_core::decode::Decoder;
use colonnade_core::text::FixedOffsets;
use colonnade_core::wire::{DecodeErrorKind, Limits};

use crate::BUDGET_BYTES;
use crate::crafted::{Claim, Stream, numbered_schema};

use super::{accepted, le};

/// The texts of the column in `rows`, each followed by a line break.
fn texts(decoder: &Decoder, rows: std::ops::Range<u64>) -> String {
    let table = decoder.table().unwrap();
    let mut texts = String::new();
    for row in rows {
        let (chunk, index) = table.locate(row).unwrap();
        let mut cell = String::new();
        let mut out = colonnade_core::text::CellText::new(&mut cell, 0);
        table
            .write_cell(0, chunk, index, &FixedOffsets, &mut out)
            .unwrap();
        texts.push_str(&cell);
        texts.push('\n');
    }
    texts
}

fn runs(ends: DataType) -> DataType {
    DataType::RunEndEncoded(
        Field::new("run_ends", ends, false).into(),
        Field::new("values", DataType::Int8, true).into(),
    )
}

fn item(data_type: DataType) -> std::sync::Arc<Field> {
    Field::new("item", data_type, true).into()
}

fn dictionary(key: DataType, values: DataType) -> DataType {
    DataType::Dictionary(key.into(), values.into())
}

/// A batch of `num_keys` rows with the keys 0, 1, 2 …
fn all_keys(num_keys: i32) -> Claim {
    let keys: Vec<i32> = (0..num_keys).collect();
    Claim::batch(&[num_keys.into()], &[&[], &le::<4>(&keys)])
}

#[test]
fn run_ends_beyond_32_bits() {
    let ends: Vec<u8> = [5i64, 1 << 32, (1 << 32) + 1]
        .iter()
        .flat_map(|end| end.to_le_bytes())
        .collect();
    let claim = Claim::batch(&[10, 3, 3], &[&[], &ends, &[], &[1, 2, 3]]);
    let decoder = accepted(&Stream::of(runs(DataType::Int64), &[claim]));
    assert_eq!(texts(&decoder, 4..6), "1\n2\n");
    assert_eq!(texts(&decoder, 9..10), "2\n");
}

#[test]
fn a_dictionary_with_more_rows_than_its_run_ends_can_count() {
    let part =
        |value: u8| Claim::batch(&[20_000, 1, 1], &[&[], &le::<2>(&[20_000]), &[], &[value]]);
    let claims = [
        part(1).dictionary_batch(0, false),
        part(2).dictionary_batch(0, true),
        all_keys(40_000),
    ];
    let data_type = dictionary(DataType::Int32, runs(DataType::Int16));
    let decoder = accepted(&Stream::of(data_type, &claims));
    assert_eq!(texts(&decoder, 0..1), "1\n");
    assert_eq!(texts(&decoder, 19_999..20_001), "1\n2\n");
    assert_eq!(texts(&decoder, 39_999..40_000), "2\n");
}

#[test]
fn a_dictionary_of_views_of_more_items_than_32_bits_count() {
    let num_items = 60_000;
    let part = |num_rows: i64| {
        let zeros = le::<4>(&vec![0; num_rows as usize]);
        let sizes = le::<4>(&vec![num_items; num_rows as usize]);
        Claim::batch(&[num_rows, num_items.into()], &[&[], &zeros, &sizes])
    };
    let claims = [
        part(1).dictionary_batch(0, false),
        part(40_000).dictionary_batch(0, true),
        all_keys(40_001),
    ];
    let data_type = dictionary(DataType::Int32, DataType::ListView(item(DataType::Null)));
    let stream = Stream::of(data_type, &claims);
    // Only cut texts are read, because all texts are too large.
    let mut decoder = Decoder::new(BUDGET_BYTES, Limits::of_memory());
    decoder.push(&stream.bytes).unwrap();
    let table = decoder.table().unwrap();
    table.columns()[0].validate_full().unwrap();
    assert!(
        table
            .window(0..40_001, &[0], 20, &FixedOffsets)
            .unwrap()
            .bytes
            .ends_with(b"[null,null,null,null")
    );
}

#[test]
fn a_dictionary_of_more_items_than_an_array_holds() {
    // 256 lists of 2^24 items, which take no bytes, have 2^32 items. On 32 bits, that is 0.
    let num_items = 1i64 << 24;
    let offsets = [0i64.to_le_bytes(), num_items.to_le_bytes()].concat();
    let null = || item(DataType::Null);
    let fixed = DataType::FixedSizeList(null(), num_items as i32);
    for (values, buffers) in [
        (fixed, &[&[][..]][..]),
        (DataType::LargeList(null()), &[&[], &offsets]),
    ] {
        let mut claims: Vec<Claim> = (0..256)
            .map(|part| Claim::batch(&[1, num_items], buffers).dictionary_batch(0, part > 0))
            .collect();
        claims.push(all_keys(256));
        let stream = Stream::of(dictionary(DataType::Int32, values), &claims);
        let mut decoder = Decoder::new(BUDGET_BYTES, Limits::of_memory());
        decoder.push(&stream.bytes).unwrap();
        let error = decoder.table().unwrap().columns()[0].chunk(0).unwrap_err();
        assert_eq!(error.kind, DecodeErrorKind::OverLimit, "{error}");
    }
}

#[test]
fn a_dictionary_of_overlapping_views() {
    let num_items = 2_000;
    let part = |num_rows: i64, value: u8| {
        let zeros = le::<4>(&vec![0; num_rows as usize]);
        let sizes = le::<4>(&vec![num_items; num_rows as usize]);
        let items = vec![value; num_items as usize];
        Claim::batch(
            &[num_rows, num_items.into()],
            &[&[], &zeros, &sizes, &[], &items],
        )
    };
    let claims = [
        part(1, 1).dictionary_batch(0, false),
        part(50_000, 2).dictionary_batch(0, true),
        all_keys(50_001),
    ];
    let data_type = dictionary(DataType::Int32, DataType::ListView(item(DataType::Int8)));
    let decoder = accepted(&Stream::of(data_type, &claims));
    assert!(texts(&decoder, 0..1).starts_with("[1,1,"));
    assert!(texts(&decoder, 50_000..50_001).starts_with("[2,2,"));
}

#[test]
fn a_dictionary_of_dictionaries_that_both_grow() {
    let words = |words: std::ops::Range<i32>| {
        let texts: Vec<String> = words.map(|word| word.to_string()).collect();
        let mut offsets = vec![0];
        for text in &texts {
            offsets.push(offsets[offsets.len() - 1] + text.len() as i32);
        }
        let num_words = texts.len() as i64;
        Claim::batch(
            &[num_words],
            &[&[], &le::<4>(&offsets), texts.concat().as_bytes()],
        )
    };
    let lists = |keys: &[u8]| {
        let offsets = le::<4>(&[0, keys.len() as i32]);
        Claim::batch(&[1, keys.len() as i64], &[&[], &offsets, &[], keys])
    };
    let inner = dictionary(DataType::Int8, DataType::Utf8);
    let column = dictionary(DataType::Int32, DataType::List(item(inner)));
    let all: Vec<u8> = (0..128).collect();
    let stream = Stream::new(&[
        numbered_schema(vec![Field::new("c", column, true)]),
        words(0..100).dictionary_batch(0, false).message(),
        lists(&all[..100]).dictionary_batch(1, false).message(),
        words(100..128).dictionary_batch(0, true).message(),
        lists(&all).dictionary_batch(1, true).message(),
        all_keys(2).message(),
    ]);
    let decoder = accepted(&stream);
    assert!(texts(&decoder, 0..1).ends_with(",\"98\",\"99\"]\n"));
    assert!(texts(&decoder, 1..2).ends_with(",\"126\",\"127\"]\n"));
}
