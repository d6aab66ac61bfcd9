//! Sorts, searches and counts of drawn columns, whose values are not spread evenly.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::*;
use colonnade_core::decode::Decoder;
use colonnade_core::kernels::{FilterJob, FindRequest, RowOrder, SortJob, SortKey, SummaryJob};
use colonnade_core::text::{CellKind, CellText, FixedOffsets};
use serde_json::{Value, json};

use crate::random::{Random, stream};
use crate::summary_and_find::{find, told};
use crate::{Compare, SEED, all, comparator, decode, filter_of, key, listed, sort};

const NUM_ROUNDS: u64 = 100;

/// The index of the first column of texts.
const TEXT: usize = 3;

/// Integers: few or many, sorted or not, with outliers, around zero, or spread over magnitudes.
fn integers(random: &mut Random, num_rows: usize) -> Vec<i64> {
    let kind = random.below(8);
    let bits = random.below(40);
    let scale = 1 + random.below(1 << bits);
    (0..num_rows)
        .map(|row| match kind {
            0 => 7,
            1 => random.below(3) as i64,
            2 => row as i64,
            3 => -(row as i64) / 3,
            4 if random.below(1000) == 0 => [i64::MIN, i64::MAX][random.below(2)],
            4 => random.below(1000) as i64,
            5 => random.below(2 * scale) as i64 - scale as i64,
            6 => (random.next() >> random.below(64)) as i64,
            _ => random.next() as i64,
        })
        .collect()
}

/// Texts with beginnings in common, of one folder or of several, some of which are beginnings of others, and with zeros.
/// In some, a byte is another one or the last ones are missing.
fn texts(random: &mut Random, num_rows: usize) -> Vec<String> {
    let common = "https://example.com/shop/".repeat(random.below(3));
    let folders: Vec<String> = (0..1 + random.below(20))
        .map(|folder| "x".repeat(random.below(20)) + &folder.to_string())
        .collect();
    let integers = integers(random, num_rows);
    let ends = [
        "",
        "\u{0}",
        "\u{0}\u{0}",
        "/",
        "/a longer end than one key holds",
    ];
    let num_levels = 1 + random.below(4);
    let others = [0, 1, 20][random.below(3)];
    let texts = integers.iter().map(|number| {
        let path = (0..num_levels).map(|_| folders[random.below(folders.len())].as_str());
        let path = path.collect::<Vec<_>>().join("/");
        let end = ends[random.below(ends.len())];
        let mut text = format!("{common}{path}/{number}{end}").into_bytes();
        if random.below(100) < others {
            let at = random.below(text.len());
            match random.below(2) {
                0 => text.truncate(at),
                _ => text[at] = b"\0!z"[random.below(3)],
            }
        }
        String::from_utf8(text).unwrap()
    });
    texts.collect()
}

fn nullable<T>(random: &mut Random, values: Vec<T>) -> Vec<Option<T>> {
    let share = [0, 1, 50, 100][random.below(4)];
    let values = values.into_iter();
    values
        .map(|value| (random.below(100) >= share).then_some(value))
        .collect()
}

/// A column of each way in which keys are read.
fn columns(
    random: &mut Random,
    num_rows: usize,
    dictionary: &ArrayRef,
) -> Vec<(&'static str, ArrayRef)> {
    let numbers = integers(random, num_rows);
    let floats = integers(random, num_rows)
        .into_iter()
        .map(|value| match random.below(50) {
            0 => f64::NAN,
            1 => -0.0,
            _ => value as f64 / 1e6,
        });
    let floats: Vec<f64> = floats.collect();
    let wide = integers(random, num_rows).into_iter().map(i128::from);
    let factor = [1, 1 << 70][random.below(2)];
    let wide: Vec<i128> = wide.map(|value| value.wrapping_mul(factor) >> 2).collect();
    let codes = (0..num_rows).map(|_| random.below(dictionary.len()) as i32);
    let codes: Vec<i32> = codes.collect();
    let (plain, views) = (texts(random, num_rows), texts(random, num_rows));
    let mut ends = vec![num_rows as i32];
    while random.below(20) > 0 {
        ends.push(1 + random.below(num_rows) as i32);
    }
    ends.sort_unstable();
    ends.dedup();
    let runs = texts(random, ends.len());
    let runs = StringArray::from(nullable(random, runs));
    let runs = RunArray::try_new(&Int32Array::from(ends), &runs).unwrap();
    vec![
        (
            "int",
            Arc::new(Int64Array::from(nullable(random, numbers))) as ArrayRef,
        ),
        (
            "float",
            Arc::new(Float64Array::from(nullable(random, floats))),
        ),
        (
            "wide",
            Arc::new(Decimal128Array::from(nullable(random, wide))),
        ),
        ("text", Arc::new(StringArray::from(nullable(random, plain)))),
        (
            "view",
            Arc::new(StringViewArray::from(nullable(random, views))),
        ),
        (
            "dict",
            Arc::new(DictionaryArray::<Int32Type>::new(
                Int32Array::from(nullable(random, codes)),
                Arc::clone(dictionary),
            )),
        ),
        ("runs", Arc::new(runs)),
    ]
}

/// A drawn table, its stream, and its columns as single arrays.
struct Drawn {
    random: Random,
    decoder: Decoder,
    stream: Vec<u8>,
    whole: RecordBatch,
}

/// Rows `[start, end)` of a batch, with those values of the column `dict` that rows before `end` have, so that a
/// later batch brings the others as a delta.
fn with_known_values(whole: &RecordBatch, start: usize, end: usize) -> RecordBatch {
    let dict = whole.schema().index_of("dict").unwrap();
    let mut columns = whole.slice(start, end - start).columns().to_vec();
    let codes = whole.column(dict).as_dictionary::<Int32Type>();
    let last = codes.keys().iter().take(end).flatten().max();
    let known = codes.values().slice(0, last.unwrap_or(0) as usize + 1);
    let keys = codes.keys().slice(start, end - start);
    columns[dict] = Arc::new(DictionaryArray::try_new(keys, known).unwrap());
    RecordBatch::try_new(whole.schema(), columns).unwrap()
}

impl Drawn {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let most = [40, 3000, 30_000, 200_000][random.below(4)];
        let num_rows = 1 + random.below(most);
        let num_values = 1 + random.below(num_rows);
        let values = texts(&mut random, num_values);
        let dictionary = Arc::new(StringArray::from(nullable(&mut random, values))) as ArrayRef;
        let columns = columns(&mut random, num_rows, &dictionary);
        let columns = columns.into_iter().map(|(name, array)| (name, array, true));
        let whole = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let mut batches = Vec::new();
        let mut start = 0;
        while start < num_rows {
            let len = (1 + random.below(num_rows)).min(num_rows - start);
            batches.push(with_known_values(&whole, start, start + len));
            start += len;
        }
        let stream = stream(&batches);
        Self {
            random,
            decoder: decode(&stream),
            stream,
            whole,
        }
    }

    fn column(&mut self) -> String {
        let index = self.random.below(self.whole.num_columns());
        self.whole.schema().field(index).name().clone()
    }

    fn keys(&mut self) -> Vec<SortKey> {
        (0..1 + self.random.below(3))
            .map(|_| key(&self.column(), self.random.below(2) == 0))
            .collect()
    }

    /// The rows in the order of `keys`; equal ones stay as they are.
    fn sorted(&self, mut rows: Vec<u32>, keys: &[SortKey]) -> Vec<u32> {
        let compares: Vec<Compare> = keys
            .iter()
            .map(|key| {
                let column = self.whole.column_by_name(&key.column).unwrap();
                comparator(column, key.descending)
            })
            .collect();
        rows.sort_by(|a, b| {
            compares.iter().fold(Ordering::Equal, |order, compare| {
                order.then_with(|| compare(*a as usize, *b as usize))
            })
        });
        rows
    }

    /// All rows, some in the table's order, or all in another order.
    fn base(&mut self) -> RowOrder {
        let before = key(&self.column(), true);
        let table = self.decoder.table().unwrap();
        match self.random.below(3) {
            0 => all(table),
            1 => filter_of(
                table,
                all(table),
                &json!({"op": "not_null", "column": "int"}),
            )
            .unwrap(),
            _ => RowOrder::List(sort(table, &all(table), &[before]).unwrap()),
        }
    }

    /// The text of a cell; `None` for null.
    fn text(&self, column: usize, row: u32) -> Option<String> {
        let table = self.decoder.table().unwrap();
        let (chunk, index) = table.locate(row.into()).unwrap();
        let mut text = String::new();
        let mut out = CellText::new(&mut text, 0);
        let kind = table.write_cell(column, chunk, index, &FixedOffsets, &mut out);
        (kind.unwrap() != CellKind::Null).then_some(text)
    }

    /// A text that a cell or two cells together may contain, and whether its case matters.
    fn needle(&mut self) -> (String, bool) {
        let column = match self.random.below(2) {
            0 => TEXT,
            _ => self.random.below(self.whole.num_columns()),
        };
        let row = self.random.below(self.whole.num_rows()) as u32;
        let next_row = row + u32::from(row + 1 < self.whole.num_rows() as u32);
        let texts = [row, next_row].map(|row| self.text(column, row).unwrap_or_default());
        let text: Vec<char> = texts.concat().chars().collect();
        let start = self.random.below(text.len() + 1);
        let len = 1 + self.random.below(12);
        let needle: String = text[start..].iter().take(len).collect();
        let needle = match self.random.below(4) {
            _ if needle.is_empty() => "/".to_owned(),
            0 => needle.to_uppercase(),
            _ => needle,
        };
        (needle, self.random.below(2) == 0)
    }
}

#[test]
fn every_distribution_is_sorted_as_the_slow_way_does() {
    for seed in (0..NUM_ROUNDS).map(|round| SEED + 1000 + round) {
        let mut drawn = Drawn::new(seed);
        let keys = drawn.keys();
        let base = drawn.base();
        let expected = drawn.sorted(listed(&base), &keys);
        let table = drawn.decoder.table().unwrap();
        let sorted = sort(table, &base, &keys).unwrap();
        assert!(sorted == expected, "seed {seed}, {keys:?}");
    }
}

#[test]
fn texts_that_differ_only_in_their_last_bytes_are_sorted() {
    let same = "so it goes on ".repeat(50_000);
    let texts = ["b", "a", "", "b", "a"].map(|end| same.clone() + end);
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
    let decoder = decode(&stream(&[batch]));
    let table = decoder.table().unwrap();
    let rows = RowOrder::List(vec![0, 1, 2, 3, 4]);
    let sorted = sort(table, &rows, &[key("text", false)]).unwrap();
    assert_eq!(sorted, [2, 1, 4, 0, 3]);
    let sorted = sort(table, &rows, &[key("text", true)]).unwrap();
    assert_eq!(sorted, [0, 3, 1, 4, 2]);
}

#[test]
fn rows_that_arrive_meanwhile_are_neither_sorted_nor_filtered() {
    let mut num_tables = 0;
    for seed in (0..NUM_ROUNDS).map(|round| SEED + 4000 + round) {
        let mut drawn = Drawn::new(seed);
        let keys = drawn.keys();
        let mut arrived = drawn.random.below(drawn.stream.len());
        let mut decoder = decode(&drawn.stream[..arrived]);
        let Some(num_rows) = decoder.table().map(|table| table.num_rows() as u32) else {
            continue;
        };
        num_tables += 1;
        let table = decoder.table().unwrap();
        let base = Arc::new(all(table));
        let mut sort = SortJob::try_new(table, Arc::clone(&base), &keys).unwrap();
        let some = json!({"op": "not_null", "column": "text"}).to_string();
        let mut filter = FilterJob::try_new(table, base, &some, &FixedOffsets).unwrap();
        let (mut is_sorted, mut is_filtered) = (false, false);
        while !is_sorted || !is_filtered {
            is_sorted = is_sorted || sort.step().unwrap();
            is_filtered = is_filtered || filter.step(&FixedOffsets);
            let rest = &drawn.stream[arrived..];
            let len = drawn
                .random
                .below(rest.len().div_ceil(3) + 1)
                .min(rest.len());
            decoder.push(&rest[..len]).unwrap();
            arrived += len;
        }
        let expected = drawn.sorted((0..num_rows).collect(), &keys);
        assert!(listed(&sort.finish()) == expected, "seed {seed}, {keys:?}");
        let is_text = |row: &u32| drawn.whole.column(TEXT).is_valid(*row as usize);
        let expected: Vec<u32> = (0..num_rows).filter(is_text).collect();
        assert!(listed(&filter.finish().unwrap()) == expected, "seed {seed}");
    }
    assert!(num_tables > NUM_ROUNDS / 2);
}

#[test]
fn drawn_texts_are_found_where_they_are() {
    for seed in (0..NUM_ROUNDS).map(|round| SEED + 2000 + round) {
        let mut drawn = Drawn::new(seed);
        let (text, match_case) = drawn.needle();
        let base = drawn.base();
        let request = FindRequest {
            text: text.clone(),
            from: drawn.random.below(base.len() + 1),
            limit: [1, 10, usize::MAX][drawn.random.below(3)],
            columns: None,
            match_case,
        };
        let table = drawn.decoder.table().unwrap();
        let folded = |text: &str| match match_case {
            true => text.to_owned(),
            false => text.to_lowercase(),
        };
        let mut matches = Vec::new();
        let mut next = request.from;
        while next < base.len() && matches.len() < request.limit {
            let row = base.get(next).unwrap();
            let schema = drawn.whole.schema();
            let columns: Vec<&str> = (0..schema.fields().len())
                .filter(|&column| {
                    let cell = drawn.text(column, row);
                    cell.is_some_and(|cell| folded(&cell).contains(&folded(&text)))
                })
                .map(|column| schema.field(column).name().as_str())
                .collect();
            if !columns.is_empty() {
                matches.push(json!({"row": next, "columns": columns}));
            }
            next += 1;
        }
        let expected = json!({
            "matches": matches,
            "next": (next < base.len()).then_some(next),
            "searched": next - request.from,
        });
        assert!(
            find(table, base, &request) == expected,
            "seed {seed}, {request:?}"
        );
        for (column, name) in (TEXT..).zip(["text", "view", "dict", "runs"]) {
            let contains = json!({"op": "contains", "column": name, "value": text});
            let rows = 0..table.num_rows() as u32;
            let expected: Vec<u32> = rows
                .filter(|row| {
                    drawn
                        .text(column, *row)
                        .is_some_and(|cell| cell.contains(&text))
                })
                .collect();
            let found = listed(&filter_of(table, all(table), &contains).unwrap());
            assert!(found == expected, "seed {seed}, {contains}");
        }
    }
}

#[test]
fn the_most_frequent_values_are_counted() {
    for seed in (0..NUM_ROUNDS).map(|round| SEED + 3000 + round) {
        let mut drawn = Drawn::new(seed);
        let base = drawn.base();
        let table = drawn.decoder.table().unwrap();
        for (column, name) in (TEXT..).zip(["text", "view", "dict", "runs"]) {
            let counts_of = |rows: &RowOrder| {
                let mut counts: HashMap<String, u64> = HashMap::new();
                for text in listed(rows)
                    .iter()
                    .filter_map(|row| drawn.text(column, *row))
                {
                    *counts.entry(text).or_default() += 1;
                }
                counts
            };
            let mut job = SummaryJob::try_new(table, name, 1 << 20, 10).unwrap();
            let summary = told(&mut job);
            let counts = counts_of(&all(table));
            let mut top: Vec<(&String, u64)> = counts.iter().map(|(text, n)| (text, *n)).collect();
            top.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
            top.truncate(10);
            let as_json = |top: &[(&String, u64)]| -> Value {
                let items = top
                    .iter()
                    .map(|(text, n)| json!({"value": text, "count": n}));
                items.collect()
            };
            assert_eq!(summary["top"], as_json(&top), "seed {seed}, {name}");
            assert_eq!(
                summary["min"],
                json!(counts.keys().min()),
                "seed {seed}, {name}"
            );
            assert_eq!(
                summary["max"],
                json!(counts.keys().max()),
                "seed {seed}, {name}"
            );
            if counts.len() > 1 << 16 {
                continue;
            }
            let mut within = job.within(&base).unwrap();
            let summary = told(&mut within);
            let counts = counts_of(&base);
            let mut top: Vec<(&String, u64)> = top
                .iter()
                .map(|(text, _)| (*text, counts.get(*text).copied().unwrap_or(0)))
                .collect();
            top.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
            assert_eq!(summary["top"], as_json(&top), "seed {seed}, {name} within");
            assert_eq!(
                summary["min"],
                json!(counts.keys().min()),
                "seed {seed}, {name}"
            );
        }
    }
}
