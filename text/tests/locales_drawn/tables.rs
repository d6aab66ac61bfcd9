//! Small columns and what they are read as.

use std::fmt::Write;

use arrow_schema::DataType;
use colonnade_text::csv::Dialect;
use colonnade_text::{TextErrorKind, TextOptions};

use crate::draw::{Cell, Column, Truth, days_since_1970};
use crate::read::{Table, decode, format_of, infer, read, read_as};

/// A text whose column `v` has these values.
fn text_of(values: &[&str]) -> String {
    let mut text = "v;k\n".to_owned();
    for value in values {
        writeln!(text, "{value};x").unwrap();
    }
    text
}

fn number(text: &str) -> Truth {
    let (integer, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{integer}{fraction}").parse().unwrap();
    Truth::Number(digits, fraction.len() as u32)
}

fn numbers(texts: &[&str]) -> Vec<Truth> {
    texts.iter().map(|text| number(text)).collect()
}

fn date(year: i64, month: i64, day: i64) -> Truth {
    Truth::Date(days_since_1970(year, month, day))
}

fn timestamp(year: i64, month: i64, day: i64, time: (i64, i64, i64), milliseconds: u32) -> Truth {
    let seconds = time.0 * 3600 + time.1 * 60 + time.2;
    let days = days_since_1970(year, month, day);
    Truth::Timestamp(days * 86_400 + seconds, milliseconds * 1_000_000)
}

fn assert_values(table: &Table, values: &[&str], truths: &[Truth]) {
    assert_eq!(values.len(), truths.len());
    assert_eq!(table.num_rows(), values.len(), "{values:?}");
    let cells = values.iter().zip(truths).map(|(text, truth)| Cell {
        text: (*text).to_owned(),
        truth: *truth,
    });
    let column = Column {
        name: "v".into(),
        locale: "",
        cells: cells.map(Some).collect(),
        min_readings: 0,
    };
    assert!(!table.is_text(0), "{values:?} are text");
    assert_eq!(table.check(0, &column), Ok(()), "{values:?}");
}

/// `reading` is empty for plain values.
fn assert_read(values: &[&str], reading: &str, truths: &[Truth]) {
    let table = read(&text_of(values), &TextOptions::default()).unwrap();
    assert_values(&table, values, truths);
    let found = table.metadata(0, "colonnade.reading");
    assert_eq!(found.unwrap_or_default(), reading, "{values:?}");
    assert_eq!(table.metadata(0, "colonnade.readings"), None, "{values:?}");
    let data_type = table.schema.field(0).data_type();
    let is_double = *data_type == DataType::Float64;
    assert!(!is_double || reading.is_empty(), "{values:?}");
}

/// Text with these readings, in any order.
fn assert_text(values: &[&str], readings: &[&str]) {
    let table = read(&text_of(values), &TextOptions::default()).unwrap();
    assert!(table.is_text(0), "{values:?} are {:?}", table.schema);
    let mut found = table.readings(0).unwrap().unwrap_or_default();
    found.sort_unstable();
    assert_eq!(found, readings, "{values:?}");
}

#[test]
fn numbers_have_the_values_of_their_locale() {
    for values in [["1 234,5"], ["1\u{a0}234,5"], ["1\u{202f}234,5"]] {
        assert_read(&values, "number(,)", &numbers(&["1234.5"]));
    }
    for values in [["1'234.50"], ["1\u{2019}234.50"]] {
        assert_read(&values, "number(.)", &numbers(&["1234.50"]));
    }
    for (values, reading, truths) in [
        (&["2.535,04"][..], "number(,)", &["2535.04"][..]),
        (&["1,5", "1.234"], "number(,)", &["1.5", "1234"]),
        (&["1.234", "1,5"], "number(,)", &["1234", "1.5"]),
        (&["0,125", "1,234"], "number(,)", &["0.125", "1.234"]),
        (&["1234,567"], "number(,)", &["1234.567"]),
        (&["1.234.567", "-12"], "number(,)", &["1234567", "-12"]),
        (&["1,234,567"], "number(.)", &["1234567"]),
        (&["1,23,456.78"], "number(.)", &["123456.78"]),
        (&["12,34,567"], "number(.)", &["1234567"]),
        (&["\u{2212}5,5"], "number(,)", &["-5.5"]),
        (&["\u{2212}1\u{a0}234,5"], "number(,)", &["-1234.5"]),
        (&["0.125", "1.234"], "", &["0.125", "1.234"]),
        (&["1.5", "42", "-7"], "", &["1.5", "42", "-7"]),
        (&["42", "1234"], "", &["42", "1234"]),
    ] {
        assert_read(values, reading, &numbers(truths));
    }
}

#[test]
fn dates_have_the_order_that_all_fit() {
    let days = [date(2026, 1, 8), date(2026, 1, 31)];
    for (values, reading) in [
        (["08.01.2026", "31.01.2026"], "date(DD.MM.YYYY)"),
        (["8.1.2026", "31.1.2026"], "date(DD.MM.YYYY)"),
        (["08/01/2026", "31/01/2026"], "date(DD/MM/YYYY)"),
        (["1/8/2026", "1/31/2026"], "date(MM/DD/YYYY)"),
        (["8-1-2026", "31-1-2026"], "date(DD-MM-YYYY)"),
        (["2026/01/08", "2026/01/31"], "date(YYYY/MM/DD)"),
        (["2026-01-08", "2026-01-31"], ""),
    ] {
        assert_read(&values, reading, &days);
    }
    // How the readings with spaces are spelled does not matter here.
    for values in [
        ["8. 1. 2026", "31. 1. 2026"],
        ["2026. 1. 8.", "2026. 1. 31."],
    ] {
        let table = read(&text_of(&values), &TextOptions::default()).unwrap();
        assert_values(&table, &values, &days);
    }
}

#[test]
fn times_follow_dates() {
    let noon = |hour, minute, second| timestamp(2025, 12, 31, (hour, minute, second), 0);
    for (value, reading, truth) in [
        ("31/12/2025 14:05", "date(DD/MM/YYYY)", noon(14, 5, 0)),
        ("31.12.2025, 14:05:06", "date(DD.MM.YYYY)", noon(14, 5, 6)),
        ("31.12.2025 9:05", "date(DD.MM.YYYY)", noon(9, 5, 0)),
        ("31.12.2025T14:05:06", "date(DD.MM.YYYY)", noon(14, 5, 6)),
        ("31.12.2025 14.05", "date(DD.MM.YYYY)", noon(14, 5, 0)),
        ("31.12.2025 14.05.06", "date(DD.MM.YYYY)", noon(14, 5, 6)),
        ("12/31/2025, 2:05 PM", "date(MM/DD/YYYY)", noon(14, 5, 0)),
        ("12/31/2025, 12:05 AM", "date(MM/DD/YYYY)", noon(0, 5, 0)),
        ("12/31/2025, 12:05 pm", "date(MM/DD/YYYY)", noon(12, 5, 0)),
        (
            "12/31/2025, 2:05:06\u{202f}p.m.",
            "date(MM/DD/YYYY)",
            noon(14, 5, 6),
        ),
        (
            "31.12.2025 14:05:06,007",
            "date(DD.MM.YYYY)",
            timestamp(2025, 12, 31, (14, 5, 6), 7),
        ),
        ("2025-12-31T14:05:06", "", noon(14, 5, 6)),
    ] {
        assert_read(&[value], reading, &[truth]);
    }
}

#[test]
fn values_with_two_meanings_are_text_with_readings() {
    let numbers = ["number(,)", "number(.)"];
    for values in [&["1.234"][..], &["1,234"], &["1.234", "-5"], &["12,345"]] {
        assert_text(values, &numbers);
    }
    let points = ["date(DD.MM.YYYY)", "date(MM.DD.YYYY)"];
    assert_text(&["01.02.2026"], &points);
    assert_text(&["1.2.2026 14:05"], &points);
    let slashes = ["date(DD/MM/YYYY)", "date(MM/DD/YYYY)"];
    assert_text(&["01/02/2026", "12/12/2026"], &slashes);
}

#[test]
fn other_values_are_text() {
    for values in [
        &["192.168.100.200"][..],
        &["007"],
        &["007", "1,5"],
        &["+1,5"],
        &["1.234,5", "1,234.5"],
        &["1 234.567,8"],
        &["1.23,5"],
        &["12.34.567,8", "1.2345"],
        &["31.02.2026"],
        &["29/02/2025"],
        &["31.12.2025", "12/31/2025"],
        &["31.12.2025", "12.31.2025"],
        &["31.12.2025 24:05"],
        &["12/31/2025 14:05 PM"],
    ] {
        assert_text(values, &[]);
    }
}

#[test]
fn years_of_two_digits_are_read_when_asked_for() {
    let values = ["31.12.25", "01.02.68", "01.02.69", "31.12.99"];
    let text = text_of(&values);
    let table = read(&text, &TextOptions::default()).unwrap();
    assert!(table.is_text(0));
    let readings = table.readings(0).unwrap().unwrap_or_default();
    assert!(readings.iter().any(|word| word == "date(DD.MM.YY)"));
    let table = read_as(&text, "v", "date(DD.MM.YY)").unwrap();
    let years = [
        date(2025, 12, 31),
        date(2068, 2, 1),
        date(1969, 2, 1),
        date(1999, 12, 31),
    ];
    assert_values(&table, &values, &years);
}

#[test]
fn a_reading_that_is_asked_for_is_used() {
    for (value, reading, truth) in [
        ("1.234", "number(.)", number("1.234")),
        ("1.234", "number(,)", number("1234")),
        ("01.02.2026", "date(DD.MM.YYYY)", date(2026, 2, 1)),
        ("01.02.2026", "date(MM.DD.YYYY)", date(2026, 1, 2)),
    ] {
        let table = read_as(&text_of(&[value]), "v", reading).unwrap();
        assert_values(&table, &[value], &[truth]);
    }
    assert!(read_as(&text_of(&["1,234.5"]), "v", "number(,)").is_err());
    assert!(read_as(&text_of(&["12.31.2025"]), "v", "date(DD.MM.YYYY)").is_err());
}

/// Reads `later` with the types that the rows before decide.
fn read_behind(first: &[&str], later: &str) -> Table {
    let start = text_of(first);
    let text = format!("{start}{later};x\n");
    let format = format_of(&text, &TextOptions::default());
    let schema = infer(&format, &[start.as_bytes()]).unwrap().schema();
    let table = decode(&format, schema, &[text.as_bytes()]).unwrap();
    if let Some(error) = &table.error {
        let TextErrorKind::Misfit { column, value, .. } = &error.kind else {
            panic!("{error:?}");
        };
        assert_eq!((column.as_str(), value.as_str()), ("v", later));
        assert_eq!(error.offset_bytes, start.len() as u64);
        assert_eq!(table.num_rows(), first.len());
    }
    table
}

#[test]
fn behind_the_sample_a_value_of_another_reading_is_an_error() {
    for (first, later) in [
        (&["1,5", "2,25"][..], "1,234.5"),
        (&["2.535,04"], "1,234.5"),
        (&["1 234,5"], "1.5"),
        (&["1'234.5"], "1'234,5"),
        (&["1.5"], "1,5"),
        (&["12"], "1.234"),
        (&["12"], "1,234"),
        (&["1,234,567"], "1.234.567"),
        (&["31.12.2025"], "12.31.2025"),
        (&["31.12.2025"], "31/12/2025"),
        (&["31/12/2025 14:05"], "12/31/2025 14:05"),
        (&["2025-12-31"], "31.12.2025"),
    ] {
        let table = read_behind(first, later);
        assert!(table.error.is_some(), "{later} behind {first:?}");
    }
}

/// All values of the first rows are the same in two readings, so that these rows cannot tell which one is right.
#[test]
fn behind_the_sample_what_it_left_open_is_not_guessed() {
    for (first, later) in [
        ("01/01/2026", "01/02/2026"),
        ("01.01.2026", "01.02.2026"),
        ("02/02/2026 14:05", "01/02/2026 14:05"),
        ("1 234", "1,234"),
        ("1 234", "1.234"),
        ("1'234", "1.234"),
        ("\u{2212}5", "1,234"),
    ] {
        let table = read_behind(&[first], later);
        let is_text = table.is_text(0);
        assert!(is_text || table.error.is_some(), "{later} behind {first}");
    }
}

#[test]
fn values_with_two_meanings_are_no_header() {
    for text in [
        "1.234;2.345\n3.456;4.567\n",
        "01.02.2026;x\n03.04.2026;y\n",
        "31.12.25;x\n30.12.25;y\n",
        "x;1.234.567\ny;2.345.678\n",
        "31.12.2025;x\n30.12.2025;y\n",
    ] {
        assert!(!Dialect::detect(text.as_bytes()).has_header, "{text:?}");
    }
}
