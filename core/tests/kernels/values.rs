//! The values of a column read at once: numbers, texts, and repeated texts.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Decimal128Array, LargeStringArray, RecordBatch, StringArray};
use colonnade_core::kernels::{ColumnValues, Repeats, RowOrder};
use colonnade_core::text::FixedOffsets;

use super::random::stream;
use super::{all, decode, fixture};

#[test]
fn values_are_those_that_are_stored() {
    let decoder = decode(&fixture("predicates.arrows"));
    let table = decoder.table().unwrap();
    let rows = RowOrder::List(vec![5, 4, 1, 2]);
    let index = |name: &str| {
        let fields = &table.schema().fields;
        fields
            .iter()
            .position(|field| field.field.name() == name)
            .unwrap()
    };
    let read = |name: &str| ColumnValues::read(table, &rows, index(name), 0, 4).unwrap();
    let i64 = read("i64").unwrap();
    let expected = [i64::MAX, 0, (1 << 53) + 1, 1 << 53].map(i64::to_le_bytes);
    assert_eq!((i64.kind, i64.bytes), ("i64", expected.concat()));
    assert_eq!(i64.validity, [1, 0, 1, 1]);
    assert_eq!(read("bool").unwrap().bytes, [0, 0, 0, 0]);
    assert_eq!(read("date").unwrap().kind, "i32");
    for text in ["text", "dec", "wide", "bin", "list", "dict"] {
        assert_eq!(read(text), None, "{text}");
    }
    let window = table
        .window_of(&rows, 1..3, &[index("i64")], 0, &FixedOffsets)
        .unwrap();
    assert!(window.bytes.ends_with(b"9007199254740993"));
    assert!(
        table
            .window_of(&rows, 1..5, &[0], 0, &FixedOffsets)
            .is_err()
    );
}

#[test]
fn repeated_values_have_the_texts_of_their_rows() {
    for name in ["every_type.arrows", "predicates.arrows"] {
        let decoder = decode(&fixture(name));
        let table = decoder.table().unwrap();
        let num_rows = table.num_rows() as u32;
        let twice = RowOrder::List((0..num_rows).chain((0..num_rows).rev()).collect());
        let positions = 1..twice.len();
        let mut num_read = 0;
        for (index, field) in table.schema().fields.iter().enumerate() {
            let Some(repeats) = Repeats::read(table, &twice, index, positions.clone()).unwrap()
            else {
                continue;
            };
            let represented = repeats
                .codes
                .iter()
                .map(|&code| repeats.rows.get(code as usize).unwrap());
            let window = |rows: &RowOrder, positions| {
                table.window_of(rows, positions, &[index], 0, &FixedOffsets)
            };
            let texts = RowOrder::List(represented.collect());
            assert_eq!(
                window(&texts, 0..texts.len()),
                window(&twice, positions.clone()),
                "{}",
                field.field.name()
            );
            assert!(repeats.rows.len() <= num_rows as usize);
            num_read += 1;
        }
        assert!(num_read > 5, "{name}");
    }
}

/// The number of distinct values in a column of these texts; `None` if they seldom repeat.
fn num_told_apart(texts: impl Iterator<Item = String>) -> Option<usize> {
    let array: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("text", array)]).unwrap();
    let decoder = decode(&stream(&[batch]));
    let table = decoder.table().unwrap();
    let rows = all(table);
    let repeats = Repeats::read(table, &rows, 0, 0..rows.len());
    repeats.unwrap().map(|repeats| repeats.rows.len())
}

#[test]
fn values_of_any_length_are_told_apart() {
    // Texts that differ in one character at the start, the middle or the end, and texts of zeros.
    let texts = (0..=40).flat_map(|len| {
        let zeros = "\0".repeat(len);
        let changed = (0..len).map(move |at| {
            let mut text = vec![b'a'; len];
            text[at] = b'b';
            String::from_utf8(text).unwrap()
        });
        changed.chain([zeros, "a".repeat(len)])
    });
    let distinct: HashSet<String> = texts.collect();
    let twice = distinct.iter().chain(&distinct).cloned();
    assert_eq!(num_told_apart(twice), Some(distinct.len()));
}

#[test]
fn a_column_read_at_once_has_the_texts_of_its_cells() {
    let texts =
        |texts: [Option<&'static str>; 4]| -> ArrayRef { Arc::new(StringArray::from_iter(texts)) };
    let decimals = |values: [i128; 4]| -> ArrayRef {
        let array = Decimal128Array::from_iter_values(values);
        Arc::new(array.with_precision_and_scale(38, 3).unwrap())
    };
    let batches = [
        (
            texts([Some("one"), Some(""), Some("three"), Some("4")]),
            decimals([0, -1, 999, 1000]),
        ),
        (
            texts([Some("é"), Some("𝄞"), Some("three"), Some("")]),
            decimals([i128::MAX, -1_234_567, 7, 70]),
        ),
        (
            texts([Some("nine"), None, None, Some("twelve")]),
            decimals([1, 2, 3, i128::from(i64::MIN)]),
        ),
    ];
    let batches = batches.map(|(texts, decimals)| {
        let columns = [
            ("text", texts.clone()),
            (
                "large",
                Arc::new(LargeStringArray::from_iter(texts.as_string::<i32>())),
            ),
            ("decimal", decimals),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
            .unwrap()
    });
    let decoder = decode(&stream(&batches));
    let table = decoder.table().unwrap();
    for column in 0..3 {
        for (start, end) in (0..=12).flat_map(|start| (start..=12).map(move |end| (start, end))) {
            let by_cell = RowOrder::List((start..end).collect());
            let by_cell = table.window_of(&by_cell, 0..by_cell.len(), &[column], 0, &FixedOffsets);
            let range = u64::from(start)..u64::from(end);
            let at_once = table.window(range, &[column], 0, &FixedOffsets);
            assert_eq!(at_once, by_cell, "column {column}, rows {start} to {end}");
        }
    }
}

#[test]
fn values_that_seldom_repeat_are_not_told_apart() {
    let column = |num_values: u32, num_rows: u32| {
        num_told_apart((0..num_rows).map(|row| (row % num_values).to_string()))
    };
    assert_eq!(column(1000, 10_000), Some(1000));
    assert_eq!(column(1000, 900), Some(900));
    assert_eq!(column(1025, 2000), None);
    assert_eq!(column(4096, 100_000), None);
}

#[test]
fn long_values_are_not_told_apart() {
    let column = |num_values: usize| {
        num_told_apart((0..8).map(|row| "x".repeat((4 << 20) + row % num_values)))
    };
    assert_eq!(column(3), Some(3));
    assert_eq!(column(8), None);
}
