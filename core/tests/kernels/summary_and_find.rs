//! Compares summaries with the sorted column, and the found texts with the displayed ones.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Float64Type};
use arrow_array::{Array, Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use colonnade_core::decode::Decoder;
use colonnade_core::kernels::{FindJob, FindRequest, RowOrder, SummaryJob};
use colonnade_core::table::Table;
use colonnade_core::text::FixedOffsets;
use colonnade_core::wire::Limits;
use serde_json::{Value, json};

use crate::random::{Random, columns, stream};
use crate::{
    SEED, all, as_value, comparator, decode, filter, filter_of, fixture, key, listed, plain, sort,
};

fn summary(table: &Table, column: &str) -> Value {
    told(&mut SummaryJob::try_new(table, column, 1 << 20, 10).unwrap())
}

/// Runs a job to its end and returns its summary.
pub(crate) fn told(job: &mut SummaryJob) -> Value {
    while !job.step() {
        assert!((0.0..=1.0).contains(&job.fraction()));
    }
    serde_json::from_str(&job.finish(&FixedOffsets)).unwrap()
}

#[test]
fn summaries_are_those_of_the_sorted_column() {
    let mut random = Random::new(SEED + 3);
    let batches = columns(&mut random, 9000);
    let decoder = decode(&stream(&batches));
    let table = decoder.table().unwrap();
    let whole = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    for (index, field) in whole.schema().fields().iter().enumerate() {
        let summary = summary(table, field.name());
        let array = whole.column(index);
        let values = plain(array);
        assert_eq!(summary["rows"], json!(values.len()));
        assert_eq!(summary["nulls"], json!(values.null_count()), "{field}");
        if matches!(field.data_type(), DataType::Interval(_)) {
            assert!(summary["min"].is_null() && summary["distinct"].is_null());
            continue;
        }
        let compare = comparator(array, false);
        let mut order: Vec<usize> = (0..values.len())
            .filter(|row| values.is_valid(*row))
            .collect();
        order.sort_by(|a, b| compare(*a, *b));
        let distinct = 1 + order
            .windows(2)
            .filter(|pair| compare(pair[0], pair[1]).is_lt())
            .count();
        let error = summary["distinct"].as_f64().unwrap() / distinct as f64 - 1.0;
        assert!(
            error.abs() < 0.03,
            "{field}: {} of {distinct}",
            summary["distinct"]
        );
        let float = |row: &usize| {
            let floats = matches!(values.data_type(), DataType::Float64)
                .then(|| values.as_primitive::<Float64Type>());
            floats.is_none_or(|floats| floats.value(*row).is_finite())
        };
        order.retain(float);
        let is_same = |text: &Value, row: usize| {
            let value = as_value(text.as_str().unwrap());
            let equal = json!({"op": "eq", "column": field.name(), "value": value});
            match filter(table, &equal) {
                Ok(rows) => rows.contains(&(row as u32)),
                Err(_) => matches!(field.data_type(), DataType::Duration(_)),
            }
        };
        assert!(
            is_same(&summary["min"], order[0]),
            "{field} {}",
            summary["min"]
        );
        assert!(
            is_same(&summary["max"], order[order.len() - 1]),
            "{field} {}",
            summary["max"]
        );
        if let Some(counts) = summary["histogram"]["counts"].as_array() {
            let counted: u64 = counts.iter().map(|count| count.as_u64().unwrap()).sum();
            assert_eq!(counted, order.len() as u64, "{field}");
            assert_eq!(
                summary["histogram"]["edges"].as_array().unwrap().len(),
                counts.len() + 1
            );
            let mean = summary["mean"].as_str().unwrap();
            let number = |row: &usize| {
                let text = match field.data_type() {
                    DataType::Decimal128(..) => values
                        .as_primitive::<Decimal128Type>()
                        .value_as_string(*row),
                    DataType::Decimal256(..) => values
                        .as_primitive::<Decimal256Type>()
                        .value_as_string(*row),
                    _ => return None,
                };
                text.parse::<f64>().ok()
            };
            if let Some(numbers) = order.iter().map(number).collect::<Option<Vec<_>>>() {
                let most = numbers
                    .iter()
                    .fold(0.0_f64, |most, number| most.max(number.abs()));
                let expected = numbers.iter().sum::<f64>() / numbers.len() as f64;
                let error = mean.parse::<f64>().unwrap() - expected;
                assert!(error.abs() <= most * 1e-9, "{field} {mean} {expected}");
            }
            // Floats do not have all of its digits.
            let is_wide = field.name() == "d256";
            for (quarters, name) in [(1, "lower"), (2, "median"), (3, "upper")] {
                let row = order[(order.len() * quarters).div_ceil(4) - 1];
                let found = &summary["quartiles"][name];
                assert!(is_wide || is_same(found, row), "{field} {name} {found}");
            }
            assert_eq!(summary["quartiles"]["is_approximate"], false);
        }
        if field.data_type().is_string() {
            let texts: Vec<Option<&str>> = match field.data_type() {
                DataType::Utf8 => values.as_string::<i32>().iter().collect(),
                DataType::LargeUtf8 => values.as_string::<i64>().iter().collect(),
                _ => values.as_string_view().iter().collect(),
            };
            let texts = texts.into_iter().flatten();
            let mut lengths: Vec<usize> = texts.map(|text| text.chars().count()).collect();
            lengths.sort_unstable();
            let at = |quarters: usize| lengths[(lengths.len() * quarters).div_ceil(4).max(1) - 1];
            let expected = json!({"min": at(0), "lower": at(1), "median": at(2), "upper": at(3),
                "max": at(4), "is_approximate": false});
            assert_eq!(summary["lengths"], expected, "{field}");
            let num_empty = lengths.iter().filter(|length| **length == 0).count();
            assert_eq!(summary["empties"], num_empty);
            assert_eq!(summary["distinct"], distinct);
            assert_eq!(summary["distinct_is_approximate"], false);
        }
        if let Some(top) = summary["top"].as_array() {
            for value in top {
                let rows = filter(
                    table,
                    &json!({"op": "eq", "column": field.name(), "value": value["value"]}),
                );
                assert_eq!(value["count"], json!(rows.unwrap().len()), "{field}");
            }
        }
    }
}

#[test]
fn rows_alone_have_their_own_summary() {
    let mut random = Random::new(SEED + 6);
    let batches = columns(&mut random, 3000);
    let decoder = decode(&stream(&batches));
    let table = decoder.table().unwrap();
    let rows: Vec<u32> = (0..3000).filter(|row| row % 3 == 1).collect();
    let chosen = arrow_array::UInt32Array::from(rows.clone());
    let whole = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    let chosen = arrow_select::take::take_record_batch(&whole, &chosen).unwrap();
    let alone = decode(&stream(&[chosen]));
    let alone = alone.table().unwrap();
    let rows = RowOrder::List(rows);
    for field in whole.schema().fields() {
        let name = field.name();
        let mut of_rows = SummaryJob::of_rows(table, &rows, name, 1 << 20, 700).unwrap();
        let mut of_all = SummaryJob::of_rows(alone, &all(alone), name, 1 << 20, 700).unwrap();
        assert_eq!(told(&mut of_rows), told(&mut of_all), "{field}");
    }
}

#[test]
fn summaries_go_on_with_rows_that_come() {
    let mut random = Random::new(SEED + 4);
    let batches = columns(&mut random, 9000);
    let stream = stream(&batches);
    let names: Vec<String> = batches[0]
        .schema()
        .fields()
        .iter()
        .map(|f| f.name().clone())
        .collect();
    let mut decoder = Decoder::new(u64::MAX, Limits::default());
    let mut jobs: Vec<SummaryJob> = Vec::new();
    for piece in stream.chunks(stream.len() / 7) {
        decoder.push(piece).unwrap();
        let Some(table) = decoder.table() else {
            continue;
        };
        for (index, name) in names.iter().enumerate() {
            match jobs.get_mut(index) {
                Some(job) => job.resume(table).unwrap(),
                None => jobs.push(SummaryJob::try_new(table, name, 1 << 20, 10).unwrap()),
            }
            assert_eq!(told(&mut jobs[index]), summary(table, name), "{name}");
        }
    }
    let table = decoder.table().unwrap();
    assert_eq!(table.num_rows(), 9000);
    assert_eq!(summary(table, &names[0])["rows"], json!(9000));
}

#[test]
fn bins_are_ranges_and_views_have_the_same_bins() {
    let mut random = Random::new(SEED + 5);
    let batches = columns(&mut random, 3000);
    let decoder = decode(&stream(&batches));
    let table = decoder.table().unwrap();
    let some: Vec<u32> = (0..3000).filter(|row| row % 3 == 1).rev().collect();
    for field in batches[0].schema().fields() {
        let name = field.name();
        let mut whole = SummaryJob::try_new(table, name, 1 << 20, 10).unwrap();
        let whole_told = told(&mut whole);
        let within = told(&mut whole.within(&RowOrder::List(some.clone())).unwrap());
        assert_eq!(within["rows"], json!(1000));
        let counted = |range: &Value| {
            let rows = filter(table, range).ok()?;
            let shown = rows.iter().filter(|row| *row % 3 == 1).count();
            Some((rows.len(), shown))
        };
        let nulls = counted(&json!({"op": "is_null", "column": name}));
        assert_eq!(within["nulls"], json!(nulls.unwrap().1), "{field}");
        assert_eq!(
            within["histogram"]["edges"],
            whole_told["histogram"]["edges"]
        );
        let edges = whole_told["histogram"]["edges"].as_array();
        for (bin, pair) in edges
            .into_iter()
            .flat_map(|edges| edges.windows(2).enumerate())
        {
            let is_last = bin + 2 == edges.unwrap().len();
            let (op, end) = if is_last {
                ("le", &whole_told["max"])
            } else {
                ("lt", &pair[1])
            };
            let range = json!({"and": [{"op": "ge", "column": name, "value": pair[0]},
                                       {"op": op, "column": name, "value": end}]});
            let Some((all, shown)) = counted(&range) else {
                assert!(
                    matches!(field.data_type(), DataType::Duration(_)),
                    "{field}"
                );
                continue;
            };
            // Its edges are floats, which do not have all digits of the values beside them.
            if name == "d256" {
                continue;
            }
            assert_eq!(
                whole_told["histogram"]["counts"][bin],
                json!(all),
                "{field} {bin} {range}"
            );
            assert_eq!(
                within["histogram"]["counts"][bin],
                json!(shown),
                "{field} {bin}"
            );
        }
        for value in within["top"].as_array().into_iter().flatten() {
            let equal = json!({"op": "eq", "column": name, "value": value["value"]});
            assert_eq!(value["count"], json!(counted(&equal).unwrap().1), "{field}");
        }
    }
}

#[test]
fn texts_beyond_the_limit_are_not_counted() {
    let decoder = decode(&fixture("predicates.arrows"));
    let table = decoder.table().unwrap();
    let limited = told(&mut SummaryJob::try_new(table, "dict", 1, 10).unwrap());
    assert!(limited["top"].is_null() && limited["distinct"].as_u64() > Some(1));
    assert!(summary(table, "dict")["top"].is_array());
}

#[test]
fn every_type_has_a_summary() {
    let decoder = decode(&fixture("every_type.arrows"));
    let table = decoder.table().unwrap();
    let expected: Value = serde_json::from_slice(&fixture("every_type.json")).unwrap();
    for column in expected.as_array().unwrap() {
        let name = column["name"].as_str().unwrap();
        let texts = column["text"].as_array().unwrap();
        let summary = summary(table, name);
        assert_eq!(summary["type"], column["type"], "{name}");
        let nulls = texts.iter().filter(|text| text.is_null()).count();
        assert_eq!(summary["nulls"], json!(nulls), "{name}");
        for end in ["min", "max"] {
            assert!(
                summary[end].is_null() || texts.contains(&summary[end]),
                "{name} {end} {}",
                summary[end]
            );
        }
    }
}

#[test]
fn means_are_exact_or_rounded_to_the_unit() {
    let decoder = decode(&fixture("predicates.arrows"));
    let table = decoder.table().unwrap();
    assert_eq!(summary(table, "dec")["mean"], "1428571428.8557143");
    assert_eq!(
        summary(table, "wide")["max"],
        format!("1{}.000", "0".repeat(50))
    );
    assert_eq!(summary(table, "i8")["histogram"]["edges"][1], "-120");
    let f64 = summary(table, "f64");
    assert_eq!(
        (&f64["nan"], &f64["infinite"], &f64["mean"]),
        (&json!(1), &json!(2), &json!("0"))
    );
    assert_eq!(
        summary(table, "dict")["top"][0],
        json!({"value": "AIR", "count": 3})
    );
    assert_eq!(summary(table, "time")["mean"], "06:51:25.929");
}

pub(crate) fn find(table: &Table, base: RowOrder, request: &FindRequest) -> Value {
    let mut job = FindJob::try_new(table, Arc::new(base), request).unwrap();
    while !job.step(&FixedOffsets) {}
    serde_json::from_str(&job.finish()).unwrap()
}

#[test]
fn texts_are_found_as_they_are_shown() {
    let decoder = decode(&fixture("predicates.arrows"));
    let table = decoder.table().unwrap();
    let request = |text: &str| FindRequest {
        text: text.into(),
        from: 0,
        limit: 100,
        columns: None,
        match_case: false,
    };
    let air = find(table, all(table), &request("aIr"));
    let rows: Vec<_> = air["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["row"].clone())
        .collect();
    assert_eq!(json!(rows), json!([0, 3, 5, 7]));
    assert_eq!((&air["next"], &air["searched"]), (&Value::Null, &json!(8)));
    assert_eq!(air["matches"][0]["columns"], json!(["dict"]));
    let two = find(
        table,
        all(table),
        &FindRequest {
            limit: 1,
            from: 1,
            ..request("AIR")
        },
    );
    assert_eq!(
        two,
        json!({"matches": [{"row": 3, "columns": ["dict"]}], "next": 4, "searched": 3})
    );
    let turned = find(
        table,
        RowOrder::List(vec![7, 3]),
        &FindRequest {
            match_case: true,
            ..request("AIR")
        },
    );
    assert_eq!(turned["matches"][0]["row"], 1);
    let time = find(
        table,
        all(table),
        &FindRequest {
            columns: Some(vec!["time".into()]),
            ..request("12:00:00.001")
        },
    );
    assert_eq!(time["matches"][0]["row"], 5);
    let none = find(
        table,
        all(table),
        &FindRequest {
            columns: Some(vec!["i64".into()]),
            ..request("x")
        },
    );
    assert_eq!(none["searched"], 8);
    let beyond = find(
        table,
        all(table),
        &FindRequest {
            from: 99,
            ..request("a")
        },
    );
    assert_eq!(beyond, json!({"matches": [], "next": null, "searched": 0}));
    let empty = FindJob::try_new(table, Arc::new(all(table)), &request(""));
    assert_eq!(empty.unwrap_err().code, "bad_parameter");
}

#[test]
fn a_filter_matches_the_rows_that_a_search_finds() {
    let mut random = Random::new(SEED + 7);
    let batches = columns(&mut random, 3000);
    let decoder = decode(&stream(&batches));
    let table = decoder.table().unwrap();
    let names: Vec<_> = batches[0]
        .schema()
        .fields()
        .iter()
        .map(|f| f.name().clone())
        .collect();
    for round in 0..60 {
        let digits = random.below(1000).to_string();
        let text = ["a", "E", "-", "é", "10", "true", ":0", &digits][round % 8];
        let columns = match random.below(3) {
            0 => None,
            num => Some(
                (0..num)
                    .map(|_| names[random.below(names.len())].clone())
                    .collect(),
            ),
        };
        let match_case = random.below(2) == 0;
        let predicate =
            json!({"op": "matches", "value": text, "columns": columns, "match_case": match_case});
        let request = FindRequest {
            text: text.to_owned(),
            from: 0,
            limit: usize::MAX,
            columns,
            match_case,
        };
        let found = find(table, all(table), &request);
        let found = found["matches"].as_array().unwrap().iter();
        let found: Vec<u32> = found
            .map(|found| found["row"].as_u64().unwrap() as u32)
            .collect();
        assert_eq!(filter(table, &predicate).unwrap(), found, "{predicate}");
        let others = filter(table, &json!({ "not": predicate })).unwrap();
        assert_eq!(others.len() + found.len(), 3000, "{predicate}");
        let sparse = RowOrder::List((0..3000).rev().filter(|row| row % 7 == 0).collect());
        let sparse = listed(&filter_of(table, sparse, &predicate).unwrap());
        assert!(
            sparse
                .iter()
                .rev()
                .copied()
                .eq(found.into_iter().filter(|row| row % 7 == 0))
        );
    }
    for (wrong, code) in [
        (json!({"op": "matches", "value": ""}), "bad_filter"),
        (
            json!({"op": "matches", "value": "a", "columns": ["none"]}),
            "unknown_column",
        ),
    ] {
        assert_eq!(filter(table, &wrong).unwrap_err().code, code);
    }
}

#[test]
fn columns_of_one_name_are_told_apart() {
    let ints = |values: [i32; 3]| Arc::new(Int32Array::from(values.to_vec())) as _;
    let fields = ["a", "a", "a (2)", ""].map(|name| Field::new(name, DataType::Int32, true));
    let columns = vec![
        ints([1, 2, 3]),
        ints([3, 2, 1]),
        ints([7, 9, 8]),
        ints([0; 3]),
    ];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), columns).unwrap();
    let decoder = decode(&stream(&[batch]));
    let table = decoder.table().unwrap();
    for (column, order) in [("a", [0, 1, 2]), ("a (3)", [2, 1, 0]), ("a (2)", [0, 2, 1])] {
        assert_eq!(
            sort(table, &all(table), &[key(column, false)]).unwrap(),
            order
        );
        assert_eq!(summary(table, column)["column"], column);
    }
    let first = json!({"op": "eq", "column": "a (3)", "value": 3});
    assert_eq!(filter(table, &first).unwrap(), [0]);
    let request = FindRequest {
        text: "3".into(),
        from: 0,
        limit: 100,
        columns: None,
        match_case: false,
    };
    assert_eq!(
        find(table, all(table), &request)["matches"],
        json!([{"row": 0, "columns": ["a (3)"]}, {"row": 2, "columns": ["a"]}])
    );
}
