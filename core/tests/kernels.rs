//! Compares the kernels with arrow-rs's own comparisons on random columns of every type, and with cases
//! that the server answers, too.

#![allow(clippy::unwrap_used)]

#[path = "kernels/distributions.rs"]
mod distributions;
#[path = "kernels/random.rs"]
mod random;
#[path = "kernels/summary_and_find.rs"]
mod summary_and_find;
#[path = "kernels/values.rs"]
mod values;

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};
use colonnade_core::decode::Decoder;
use colonnade_core::kernels::{FilterJob, KernelError, RowOrder, SortJob, SortKey};
use colonnade_core::table::Table;
use colonnade_core::text::{CellText, FixedOffsets, write_cell};
use colonnade_core::wire::Limits;
use random::{Random, columns, stream};
use serde_json::{Value, json};

const SEED: u64 = 20_260_101;

fn decode(stream: &[u8]) -> Decoder {
    let mut decoder = Decoder::new(u64::MAX, Limits::default());
    decoder.push(stream).unwrap();
    decoder
}

fn listed(rows: &RowOrder) -> Vec<u32> {
    (0..rows.len())
        .map(|position| rows.get(position).unwrap())
        .collect()
}

fn all(table: &Table) -> RowOrder {
    RowOrder::All(table.num_rows() as u32)
}

fn sort(table: &Table, base: &RowOrder, keys: &[SortKey]) -> Result<Vec<u32>, KernelError> {
    let mut job = SortJob::try_new(table, Arc::new(base.clone()), keys)?;
    let mut fraction = 0.0;
    let mut placed = Vec::new();
    while !job.step()? {
        assert!((0.0..=1.0).contains(&job.fraction()));
        assert!(
            job.fraction() >= fraction,
            "{} after {fraction}",
            job.fraction()
        );
        fraction = job.fraction();
        // Rows that have their places keep them.
        let num_placed = job.num_placed();
        placed.extend(listed(&job.placed(placed.len()..num_placed)?));
        assert_eq!(placed.len(), num_placed);
        let some = num_placed / 3..num_placed / 2;
        assert_eq!(listed(&job.placed(some.clone())?), placed[some]);
    }
    let sorted = listed(&job.finish());
    assert!(sorted.starts_with(&placed), "{keys:?}");
    Ok(sorted)
}

fn filter_of(table: &Table, base: RowOrder, predicate: &Value) -> Result<RowOrder, KernelError> {
    let base = Arc::new(base);
    let mut job = FilterJob::try_new(table, base, &predicate.to_string(), &FixedOffsets)?;
    while !job.step(&FixedOffsets) {}
    job.finish()
}

fn filter(table: &Table, predicate: &Value) -> Result<Vec<u32>, KernelError> {
    filter_of(table, all(table), predicate).map(|rows| listed(&rows))
}

#[test]
fn a_view_has_no_rows_that_came_after_it() {
    let values = |start: i64| -> ArrayRef {
        Arc::new(arrow_array::Int64Array::from_iter_values(
            start..start + 100,
        ))
    };
    let batches = [0, 100]
        .map(|start| arrow_array::RecordBatch::try_from_iter([("a", values(start))]).unwrap());
    let mut writer =
        arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    writer.write(&batches[0]).unwrap();
    let num_first = writer.get_ref().len();
    writer.write(&batches[1]).unwrap();
    let bytes = writer.into_inner().unwrap();
    let mut decoder = Decoder::new(u64::MAX, Limits::default());
    decoder.push(&bytes[..num_first]).unwrap();
    let even = json!({"op": "ge", "column": "a", "value": 2});
    let before = all(decoder.table().unwrap());
    let bitmap = filter_of(decoder.table().unwrap(), before.clone(), &even).unwrap();
    decoder.push(&bytes[num_first..]).unwrap();
    let table = decoder.table().unwrap();
    assert_eq!(table.num_rows(), 200);
    let late = json!({"op": "ge", "column": "a", "value": 90});
    for view in [before, bitmap] {
        let rows = filter_of(table, view, &late).unwrap();
        assert_eq!(listed(&rows), Vec::from_iter(90..100));
    }
}

fn key(column: &str, descending: bool) -> SortKey {
    SortKey {
        column: column.into(),
        descending,
    }
}

/// The array with floats as f64 with one zero and one NaN, and with the values of dictionaries and
/// run-end encoding.
fn plain(array: &ArrayRef) -> ArrayRef {
    let floats: Vec<Option<f64>> = match array.data_type() {
        DataType::Float16 => array
            .as_primitive::<Float16Type>()
            .iter()
            .map(|v| v.map(f64::from))
            .collect(),
        DataType::Float32 => array
            .as_primitive::<Float32Type>()
            .iter()
            .map(|v| v.map(f64::from))
            .collect(),
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().collect(),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let taken = arrow_select::take::take(dictionary.values(), dictionary.keys(), None);
            return plain(&taken.unwrap());
        }
        _ => return Arc::clone(array),
    };
    let one = |value: f64| {
        if value.is_nan() {
            f64::NAN
        } else {
            value + 0.0
        }
    };
    Arc::new(
        floats
            .into_iter()
            .map(|v| v.map(one))
            .collect::<Float64Array>(),
    )
}

fn is_nan(array: &ArrayRef, index: usize) -> bool {
    matches!(array.data_type(), DataType::Float64)
        && array.is_valid(index)
        && array.as_primitive::<Float64Type>().value(index).is_nan()
}

/// The text of a cell as predicates expect it: binary without the number of bytes.
fn as_value(text: &str) -> &str {
    let is_binary = text.ends_with(" bytes)") || text.ends_with(" byte)");
    let end = text.rfind('(').filter(|_| is_binary);
    text[..end.unwrap_or(text.len())].trim_end_matches(|c| is_binary && c == ' ')
}

type Compare = Box<dyn Fn(usize, usize) -> Ordering>;

/// The documented order of a sort by one column.
fn comparator(array: &ArrayRef, descending: bool) -> Compare {
    let array = plain(array);
    let options = SortOptions {
        descending,
        nulls_first: false,
    };
    let compare = make_comparator(&array, &array, options).unwrap();
    Box::new(move |a, b| {
        let both_valid = array.is_valid(a) && array.is_valid(b);
        match (is_nan(&array, a), is_nan(&array, b)) {
            (true, false) if both_valid => Ordering::Greater,
            (false, true) if both_valid => Ordering::Less,
            _ => compare(a, b),
        }
    })
}

#[test]
fn every_type_is_sorted_as_the_slow_way_does() {
    println!("seed {SEED}");
    let mut random = Random::new(SEED);
    for num_rows in [0, 1, 700, 9000] {
        let batches = columns(&mut random, num_rows);
        let decoder = decode(&stream(&batches));
        let Some(table) = decoder.table() else {
            continue;
        };
        let concatenated =
            arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
        for (index, field) in concatenated.schema().fields().iter().enumerate() {
            for descending in [false, true] {
                let compare = comparator(concatenated.column(index), descending);
                let mut expected: Vec<u32> = (0..concatenated.num_rows() as u32).collect();
                expected.sort_by(|a, b| compare(*a as usize, *b as usize));
                let sorted = sort(table, &all(table), &[key(field.name(), descending)]).unwrap();
                assert!(
                    sorted == expected,
                    "{field}, descending {descending}, {num_rows} rows"
                );
            }
        }
    }
}

#[test]
fn ties_are_broken_by_the_next_key_and_then_by_the_order_before() {
    let mut random = Random::new(SEED + 1);
    let batches = columns(&mut random, 3000);
    let decoder = decode(&stream(&batches));
    let table = decoder.table().unwrap();
    let whole = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    let names = whole
        .schema()
        .fields()
        .iter()
        .map(|f| f.name().clone())
        .collect::<Vec<_>>();
    for _ in 0..30 {
        let keys: Vec<SortKey> = (0..3)
            .map(|_| key(&names[random.below(names.len())], random.below(2) == 0))
            .collect();
        let base = filter_of(
            table,
            all(table),
            &json!({"op": "not_null", "column": names[0]}),
        )
        .unwrap();
        let mut expected = listed(&base);
        let compares: Vec<Compare> = keys
            .iter()
            .map(|key| comparator(whole.column_by_name(&key.column).unwrap(), key.descending))
            .collect();
        expected.sort_by(|a, b| {
            compares.iter().fold(Ordering::Equal, |order, compare| {
                order.then_with(|| compare(*a as usize, *b as usize))
            })
        });
        let sorted = sort(table, &base, &keys).unwrap();
        assert!(sorted == expected, "seed {}, {keys:?}", SEED + 1);
        let again = sort(table, &RowOrder::List(sorted.clone()), &keys[1..]).unwrap();
        expected.sort_by(|a, b| {
            compares[1..]
                .iter()
                .fold(Ordering::Equal, |order, compare| {
                    order.then_with(|| compare(*a as usize, *b as usize))
                })
        });
        assert!(again == expected, "a sorted view again, {keys:?}");
    }
}

#[test]
fn every_type_is_filtered_as_the_slow_way_does() {
    println!("seed {SEED}");
    let mut random = Random::new(SEED + 2);
    let batches = columns(&mut random, 9000);
    let decoder = decode(&stream(&batches));
    let table = decoder.table().unwrap();
    let whole = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    for (index, field) in whole.schema().fields().iter().enumerate() {
        let array = plain(whole.column(index));
        let compare = make_comparator(&array, &array, SortOptions::default()).unwrap();
        let expect = |test: &dyn Fn(usize) -> bool| -> Vec<u32> {
            (0..array.len())
                .filter(|row| array.is_valid(*row) && test(*row))
                .map(|row| row as u32)
                .collect()
        };
        for _ in 0..6 {
            let picked = random.below(array.len());
            if array.is_null(picked) {
                continue;
            }
            let mut value = String::new();
            write_cell(
                whole.column(index),
                None,
                picked,
                &FixedOffsets,
                &mut CellText::new(&mut value, 0),
            );
            let value = as_value(&value);
            for (op, holds) in [
                ("eq", [false, true, false]),
                ("ne", [true, false, true]),
                ("lt", [true, false, false]),
                ("le", [true, true, false]),
                ("gt", [false, false, true]),
                ("ge", [false, true, true]),
            ] {
                let predicate = json!({"op": op, "column": field.name(), "value": value});
                let rows = match filter(table, &predicate) {
                    Ok(rows) => rows,
                    Err(error) => {
                        let is_span = matches!(
                            field.data_type(),
                            DataType::Duration(_) | DataType::Interval(_)
                        );
                        assert!(is_span, "{predicate}: {error}");
                        continue;
                    }
                };
                let expected = expect(&|row| holds[(compare(row, picked) as i8 + 1) as usize]);
                assert!(rows == expected, "{predicate} of {field}");
            }
            let list = json!({"op": "in", "column": field.name(), "value": [value, value]});
            if let Ok(rows) = filter(table, &list) {
                assert!(
                    rows == expect(&|row| compare(row, picked).is_eq()),
                    "{list}"
                );
                let negated = filter(table, &json!({"not": list})).unwrap();
                assert!(
                    negated == expect(&|row| compare(row, picked).is_ne()),
                    "not {list}"
                );
            }
        }
        let nulls = filter(table, &json!({"op": "is_null", "column": field.name()})).unwrap();
        assert_eq!(nulls.len(), array.null_count(), "{field}");
        let valid = filter(table, &json!({"op": "not_null", "column": field.name()})).unwrap();
        assert_eq!(nulls.len() + valid.len(), array.len());
    }
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn predicates_mean_what_they_mean_at_the_server() {
    let cases: Value = serde_json::from_slice(&fixture("predicates.json")).unwrap();
    let decoder = decode(&fixture("predicates.arrows"));
    let table = decoder.table().unwrap();
    for case in cases.as_array().unwrap() {
        let outcome = filter(table, &case["filter"]);
        match (&case["rows"], outcome) {
            (Value::Array(rows), Ok(found)) => assert_eq!(json!(found), json!(rows), "{case}"),
            (_, Err(error)) => assert_eq!(json!(error.code), case["error"], "{case}: {error}"),
            (_, Ok(found)) => panic!("{case} found {found:?}"),
        }
    }
}

#[test]
fn sorts_are_what_they_are_at_the_server() {
    let cases: Value = serde_json::from_slice(&fixture("sorts.json")).unwrap();
    let decoder = decode(&fixture("predicates.arrows"));
    let table = decoder.table().unwrap();
    for case in cases.as_array().unwrap() {
        let keys: Vec<SortKey> = case["sort"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| {
                let item = item.as_str().unwrap();
                key(item.trim_start_matches('-'), item.starts_with('-'))
            })
            .collect();
        assert_eq!(
            json!(sort(table, &all(table), &keys).unwrap()),
            case["rows"],
            "{case}"
        );
    }
}

#[test]
fn refusals_say_what_would_be_right() {
    let decoder = decode(&fixture("every_type.arrows"));
    let table = decoder.table().unwrap();
    let refused = |predicate: Value| filter(table, &predicate).unwrap_err().to_string();
    assert_eq!(
        refused(json!({"op": "eq", "column": "int46", "value": 1}))
            .split("; ")
            .next()
            .unwrap(),
        "there is no column \"int46\""
    );
    assert!(refused(json!({"op": "like", "column": "int64", "value": 1})).contains("starts_with"));
    for field in table.schema().fields.iter() {
        let name = field.field.name();
        let sorted = sort(table, &all(table), &[key(name, false)]);
        if field.field.data_type().is_nested()
            && !matches!(field.field.data_type(), DataType::RunEndEncoded(..))
        {
            assert_eq!(sorted.unwrap_err().code, "bad_sort", "{name}");
            assert!(
                refused(json!({"op": "eq", "column": name, "value": "1"})).contains("is_null"),
                "{name}"
            );
        }
    }
    assert_eq!(sort(table, &all(table), &[]).unwrap_err().code, "bad_sort");
}
