//! Work on small streams. Its memory is bounded by the result and by the bytes that arrived.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use colonnade_core::kernels::{
    ColumnValues, FilterJob, Repeats, RowOrder, SortJob, SortKey, SummaryJob,
};
use colonnade_core::text::FixedOffsets;

use crate::crafted::{Claim, Stream};
use crate::meter;

use super::{MIB, accepted, le};

#[test]
fn values_of_a_long_run() {
    let num_rows = 1 << 20;
    let ends = le::<4>(&[num_rows]);
    let claim = Claim::batch(&[num_rows.into(), 1, 1], &[&[], &ends, &[], &[7]]);
    let runs = DataType::RunEndEncoded(
        Field::new("run_ends", DataType::Int32, false).into(),
        Field::new("values", DataType::Int8, true).into(),
    );
    let decoder = accepted(&Stream::of(runs, &[claim]));
    let table = decoder.table().unwrap();
    let (all, num_rows) = (RowOrder::All(num_rows as u32), num_rows as usize);
    let read = || ColumnValues::read(table, &all, 0, 0, num_rows);
    let (values, cost) = meter::measure(read);
    let values = values.unwrap().unwrap();
    assert_eq!(values.bytes, vec![7; num_rows]);
    assert_eq!(values.validity, vec![1; num_rows]);
    assert!(cost.peak_bytes < 3 * num_rows, "{cost:?}");
    let (repeats, cost) = meter::measure(|| Repeats::read(table, &all, 0, 0..num_rows));
    assert_eq!(repeats.unwrap().unwrap().codes, vec![0; num_rows]);
    assert!(cost.peak_bytes < 6 * num_rows, "{cost:?}");
}

#[test]
fn few_rows_with_a_large_dictionary() {
    let num_values = 4 << 20;
    let values: Vec<u8> = (0..num_values).map(|value| value as u8).collect();
    let keys = le::<4>(&[5, num_values - 1, 3]);
    let claims = [
        Claim::batch(&[num_values.into()], &[&[], &values]).dictionary_batch(0, false),
        Claim::batch(&[3], &[&[], &keys]),
    ];
    let dictionary = DataType::Dictionary(DataType::Int32.into(), DataType::Int8.into());
    let decoder = accepted(&Stream::of(dictionary, &claims));
    let table = decoder.table().unwrap();
    let key = SortKey {
        column: "c".to_owned(),
        descending: false,
    };
    let (sorted, cost) = meter::measure(|| {
        let mut job = SortJob::try_new(table, Arc::new(RowOrder::All(3)), &[key]).unwrap();
        while !job.step().unwrap() {}
        job.finish()
    });
    assert_eq!(sorted, RowOrder::List(vec![1, 2, 0]));
    assert!(cost.peak_bytes < MIB, "{cost:?}");
    let (summary, cost) = meter::measure(|| {
        let mut job = SummaryJob::try_new(table, "c", 1 << 20).unwrap();
        while !job.step() {}
        job.finish(&FixedOffsets)
    });
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(
        [&summary["min"], &summary["max"], &summary["distinct"]],
        [
            &serde_json::json!("-1"),
            &serde_json::json!("5"),
            &serde_json::json!(3)
        ]
    );
    assert!(cost.peak_bytes < MIB, "{cost:?}");
}

#[test]
fn a_filter_of_sorted_rows() {
    let num_rows = (1 << 20) + 1;
    let claim = Claim::batch(&[i64::from(num_rows)], &[&[], &[]]);
    let decoder = accepted(&Stream::of(DataType::FixedSizeBinary(0), &[claim]));
    let table = decoder.table().unwrap();
    let rows: Vec<u32> = (0..num_rows).rev().collect();
    let base = Arc::new(RowOrder::List(rows.clone()));
    let predicate = r#"{"op": "not_null", "column": "c"}"#;
    let (found, cost) = meter::measure(|| {
        let mut job = FilterJob::try_new(table, base, predicate, &FixedOffsets).unwrap();
        while !job.step() {}
        job.finish().unwrap()
    });
    assert_eq!(found, RowOrder::List(rows));
    // Four bytes a row and a bitmap, without spare capacity.
    assert!(cost.peak_bytes < 5 * MIB, "{cost:?}");
}

#[test]
fn a_long_text_in_a_list_that_is_cut() {
    let num_bytes = MIB as i32;
    let text = vec![b'a'; MIB];
    let claim = Claim::batch(
        &[10, 1],
        &[
            &[],
            &le::<4>(&[0; 10]),
            &le::<4>(&[1; 10]),
            &[],
            &le::<4>(&[0, num_bytes]),
            &text,
        ],
    );
    let item = Field::new("item", DataType::Utf8, true);
    let decoder = accepted(&Stream::of(DataType::ListView(item.into()), &[claim]));
    let table = decoder.table().unwrap();
    let (window, cost) = meter::measure(|| table.window(0..10, &[0], 5, &FixedOffsets));
    assert!(window.unwrap().bytes.ends_with(b"[\"aaa[\"aaa"));
    assert!(cost.peak_bytes < MIB / 4, "{cost:?}");
}
