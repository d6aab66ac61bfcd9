//! Reads CSV texts of numbers and dates as the locales of many countries write them. The values that were drawn are
//! the truth: a column has exactly these values, or it is text that says with which readings it has them.
//!
//! `COLONNADE_CASES` is the number of texts, `COLONNADE_SEED` the first seed.

#![allow(clippy::unwrap_used)]

mod draw;
mod locales;
mod read;
mod tables;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use colonnade_text::{TextError, TextErrorKind, TextOptions};

use draw::{Column, Drawn, Random, draw};
use read::{Table, decode, format_of, infer, read, read_as};

/// The most failures that are shown.
const MAX_SHOWN: usize = 20;

/// Of so many texts, each locale has columns that are read without being asked for.
const MANY_CASES: u64 = 1000;

fn env(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

fn num_cases() -> u64 {
    env("COLONNADE_CASES", 1000)
}

/// Runs a check for each seed. Returns what failed.
fn for_each_seed(mut check: impl FnMut(&mut Random) -> Result<(), String>) -> Vec<String> {
    let first = env("COLONNADE_SEED", 1);
    let mut failures = Vec::new();
    for seed in first..first + num_cases() {
        let run = catch_unwind(AssertUnwindSafe(|| check(&mut Random(seed))));
        let result = run.unwrap_or_else(|_| Err("it panicked".into()));
        if let Err(error) = result {
            failures.push(format!("COLONNADE_SEED={seed} COLONNADE_CASES=1: {error}"));
        }
    }
    println!(
        "{} texts from COLONNADE_SEED={first} on, {} of them wrong",
        num_cases(),
        failures.len()
    );
    failures
}

fn assert_none(failures: &[String]) {
    let shown = failures[..failures.len().min(MAX_SHOWN)].join("\n");
    assert!(
        failures.is_empty(),
        "{} texts are wrong:\n{shown}",
        failures.len()
    );
}

/// How a column was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// As the values that were drawn.
    Right,
    /// As text with readings, one of which gives these values.
    Offered,
    /// As text, which was expected.
    Text,
}

/// Columns of one locale.
#[derive(Debug, Default)]
struct Counts {
    right: u64,
    offered: u64,
    text: u64,
    wrong: u64,
}

impl Counts {
    fn add(&mut self, outcome: Option<Outcome>) {
        let count = match outcome {
            Some(Outcome::Right) => &mut self.right,
            Some(Outcome::Offered) => &mut self.offered,
            Some(Outcome::Text) => &mut self.text,
            None => &mut self.wrong,
        };
        *count += 1;
    }
}

#[test]
fn columns_have_their_values_or_offer_readings_that_give_them() {
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    let failures = for_each_seed(|random| {
        let drawn = draw(random);
        let table = read(&drawn.text, &TextOptions::default())?;
        if table.num_rows() != drawn.records.len() {
            return Err(format!("{} rows", table.num_rows()));
        }
        let mut result = Ok(());
        for (index, column) in drawn.columns.iter().enumerate() {
            let outcome = check_column(&drawn, &table, index);
            let of_locale = counts.entry(column.locale).or_default();
            of_locale.add(outcome.as_ref().ok().copied());
            let named = outcome.map_err(|error| shown(column, &error));
            result = result.and(named.map(drop));
        }
        result
    });
    for (locale, counts) in &counts {
        println!(
            "{locale}: {} columns right, {} offered, {} text, {} wrong",
            counts.right, counts.offered, counts.text, counts.wrong
        );
    }
    assert_none(&failures);
    if num_cases() >= MANY_CASES {
        assert!(counts.values().all(|counts| counts.right > 0));
    }
}

/// An error with the column's locale, its name and some of its values.
fn shown(column: &Column, error: &str) -> String {
    let cells = column.cells.iter().flatten();
    let texts: Vec<_> = cells.take(5).map(|cell| cell.text.as_str()).collect();
    format!(
        "{} column {:?} {texts:?}: {error}",
        column.locale, column.name
    )
}

fn check_column(drawn: &Drawn, table: &Table, index: usize) -> Result<Outcome, String> {
    let column = &drawn.columns[index];
    table.check(index, column)?;
    if table.is_text(index) {
        return check_readings(drawn, table, index);
    }
    if let Some(reading) = table.metadata(index, "colonnade.reading") {
        let asked = read_as(&drawn.text, &column.name, reading)?;
        if asked.schema.field(index).data_type() != table.schema.field(index).data_type() {
            return Err(format!("{reading} gives another type when it is asked for"));
        }
        asked.check(index, column)?;
    }
    Ok(Outcome::Right)
}

/// Checks that a column of text can be read as the values that were drawn, unless it is text.
fn check_readings(drawn: &Drawn, table: &Table, index: usize) -> Result<Outcome, String> {
    let column = &drawn.columns[index];
    let Some(readings) = table.readings(index)? else {
        return if column.expects_text() {
            Ok(Outcome::Text)
        } else {
            Err("it is text without readings".into())
        };
    };
    if column.is_text() {
        return Err(format!("it is text, but may be read as {readings:?}"));
    }
    if readings.len() < column.min_readings {
        return Err(format!("it is text with the readings {readings:?}"));
    }
    let mut is_offered = false;
    for reading in &readings {
        let asked = read_as(&drawn.text, &column.name, reading)?;
        if asked.is_text(index) {
            return Err(format!("{reading} makes text of it"));
        }
        is_offered |= asked.check(index, column).is_ok();
    }
    if is_offered {
        Ok(Outcome::Offered)
    } else {
        Err(format!("no reading of {readings:?} gives its values"))
    }
}

fn pieces<'a>(random: &mut Random, mut text: &'a [u8]) -> Vec<&'a [u8]> {
    let most = random.pick(&[1, 7, 100, 100_000]);
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let (piece, rest) = text.split_at((1 + random.below(most)).min(text.len()));
        pieces.push(piece);
        text = rest;
    }
    pieces
}

#[test]
fn pieces_and_halves_have_the_columns_of_the_whole() {
    let failures = for_each_seed(|random| {
        let drawn = draw(random);
        let text = drawn.text.as_bytes();
        let format = format_of(&drawn.text, &TextOptions::default());
        let schema = infer(&format, &[text])?.schema();
        let whole = decode(&format, schema.clone(), &[text])?;
        let pieces = pieces(random, text);
        if infer(&format, &pieces)?.schema() != schema {
            return Err("pieces have another schema".into());
        }
        let in_pieces = decode(&format, schema.clone(), &pieces)?;
        if in_pieces.batches != whole.batches || in_pieces.error != whole.error {
            return Err("pieces have other rows".into());
        }
        let at = random.below(drawn.records.len() + 1);
        let (first, second) = drawn.records.split_at(at);
        let half = |records: &[String]| {
            let text = drawn.header.clone() + &records.concat();
            infer(&format, &[text.as_bytes()])
        };
        let (first, second) = (half(first)?, half(second)?);
        for (mut merged, other) in [(first.clone(), second.clone()), (second, first)] {
            merged.merge(other)?;
            if merged.schema() != schema {
                let merged = merged.schema();
                return Err(format!("halves at {at}: {merged:?}, the whole: {schema:?}"));
            }
        }
        Ok(())
    });
    assert_none(&failures);
}

#[test]
fn what_the_first_rows_decide_reads_exactly_or_fails() {
    let failures = for_each_seed(|random| {
        let drawn = draw(random);
        let num_first = random.below(drawn.records.len().min(12) + 1);
        let first = drawn.header.clone() + &drawn.records[..num_first].concat();
        let format = format_of(&drawn.text, &TextOptions::default());
        let schema = infer(&format, &[first.as_bytes()])?.schema();
        let table = decode(&format, schema, &[drawn.text.as_bytes()])?;
        for (index, column) in drawn.columns.iter().enumerate() {
            table.check(index, column).map_err(|error| {
                let error = shown(column, &error);
                format!("decided by {num_first} rows: {error}")
            })?;
        }
        check_end(&drawn, &table)
    });
    assert_none(&failures);
}

/// Checks that reading ended behind the last row, or at the value that the error names.
fn check_end(drawn: &Drawn, table: &Table) -> Result<(), String> {
    let num_read = table.num_rows();
    let Some(error) = &table.error else {
        return if num_read == drawn.records.len() {
            Ok(())
        } else {
            Err(format!("{num_read} rows without an error"))
        };
    };
    let TextError {
        kind: TextErrorKind::Misfit { column, value, .. },
        offset_bytes,
    } = error
    else {
        return Err(error.to_string());
    };
    let found = drawn.columns.iter().find(|found| found.name == *column);
    let cell = found.and_then(|found| found.cells.get(num_read)?.as_ref());
    let before: usize = drawn.records[..num_read].iter().map(String::len).sum();
    let is_named = cell.is_some_and(|cell| cell.text == *value)
        && *offset_bytes == (drawn.header.len() + before) as u64;
    if is_named {
        Ok(())
    } else {
        Err(format!("row {num_read} is not the one of {error:?}"))
    }
}
