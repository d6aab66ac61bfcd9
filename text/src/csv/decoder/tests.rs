use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Field, Schema};

use super::*;
use crate::TextErrorKind;

fn schema(types: &[(&str, DataType)]) -> SchemaRef {
    let field = |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), true);
    Arc::new(Schema::new(types.iter().map(field).collect::<Vec<_>>()))
}

fn two_integers() -> SchemaRef {
    schema(&[("a", DataType::Int64), ("b", DataType::Int64)])
}

/// The values of the last column, and the error.
fn read(text: &str, range: Range<u64>, projection: &[usize]) -> (Vec<i64>, Option<TextError>) {
    let start = usize::try_from(range.start.saturating_sub(1)).unwrap();
    let mut decoder =
        Decoder::new(&Dialect::default(), &two_integers(), projection, range, 2).unwrap();
    let pushed = decoder.push(&text.as_bytes()[start..]);
    let error = pushed.and_then(|_| decoder.finish()).err();
    let mut values = Vec::new();
    while let Some(batch) = decoder.next_batch() {
        assert!((1..=2).contains(&batch.num_rows()));
        match batch.columns().last() {
            Some(column) => values.extend(column.as_primitive::<Int64Type>().values()),
            None => values.extend(std::iter::repeat_n(0, batch.num_rows())),
        }
    }
    (values, error)
}

#[test]
fn ranges_read_every_record_once() {
    let text = "a,b\n1,2\n\n3,4\n5,6\n7,8";
    for first in 1..=text.len() as u64 {
        for second in first..=text.len() as u64 {
            let ranges = [0..first, first..second, second..u64::MAX];
            let parts = ranges.map(|range| read(text, range, &[0, 1]));
            assert!(parts.iter().all(|(_, error)| error.is_none()));
            let values: Vec<_> = parts.into_iter().flat_map(|(values, _)| values).collect();
            assert_eq!(values, [2, 4, 6, 8], "{first} {second}");
        }
    }
}

#[test]
fn a_range_ends_without_more_text() {
    let range = 0..5;
    let mut decoder = Decoder::new(&Dialect::default(), &two_integers(), &[0], range, 9).unwrap();
    assert_eq!(decoder.push(b"a,b\n1,"), Ok(false));
    assert_eq!(decoder.push(b"2\n3,4\n5,6\n"), Ok(true));
    assert_eq!(decoder.next_batch().unwrap().num_rows(), 1);
    assert_eq!(decoder.push(b"7\n"), Ok(true));
    assert_eq!(decoder.finish(), Ok(()));
    assert!(decoder.next_batch().is_none());
}

#[test]
fn all_rows_before_a_wrong_record_are_read() {
    let found = |found| TextErrorKind::FieldCount { found, expected: 2 };
    let error = |kind, offset_bytes| Some(TextError { kind, offset_bytes });
    for projection in [&[][..], &[1], &[1, 0, 1]] {
        let (values, failed) = read("a,b\n1,2\n3,4\n5,6\n7\n", 0..u64::MAX, projection);
        assert_eq!((values.len(), failed), (3, error(found(1), 16)));
    }
    let (values, failed) = read("a,b\n1,2\nx,4\n5,y\n", 2..u64::MAX, &[1, 0]);
    assert_eq!(values, [1]);
    let failed = failed.unwrap();
    assert_eq!(failed.offset_bytes, 8);
    assert_eq!(
        failed.to_string(),
        "\"x\" in column \"a\" is not of type int64"
    );
    let (values, failed) = read("a,b\n1,2\n3,4\n5,y\nx,8\n", 0..u64::MAX, &[0, 1]);
    assert_eq!((values, failed.unwrap().offset_bytes), (vec![2, 4], 12));
}

#[test]
fn the_header_must_have_the_columns_of_the_schema() {
    let kind = |text| read(text, 0..u64::MAX, &[0]).1.map(|error| error.kind);
    let wrong = TextErrorKind::FieldCount {
        found: 3,
        expected: 2,
    };
    assert_eq!(kind("a,b,c\n1,2\n"), Some(wrong));
    assert_eq!(kind(""), Some(TextErrorKind::Empty));
    assert_eq!(kind("a,b"), None);
}

#[test]
fn other_types_and_projections_are_refused() {
    let decoder = |data_type, projection: &[usize]| {
        let schema = schema(&[("a", data_type)]);
        Decoder::new(&Dialect::default(), &schema, projection, 0..1, 1)
    };
    assert!(decoder(DataType::Int32, &[0]).is_err());
    assert!(decoder(DataType::Int32, &[]).is_ok());
    assert!(decoder(DataType::Utf8, &[1]).is_err());
}
