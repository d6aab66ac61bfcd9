//! Reads CSV texts that are drawn at random. The values that were drawn are the truth: every value that
//! is read must be the one drawn, digit by digit, or reading must fail.
//!
//! `COLONNADE_CASES` is the number of texts, `COLONNADE_SEED` the first seed.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use colonnade_text::TextErrorKind;
use colonnade_text::csv::{Decoder, Dialect, Inference, Inferred, LineEnd, QuoteScan};

/// Splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn one_in(&mut self, limit: usize) -> bool {
        self.below(limit) == 0
    }

    fn pick<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }

    fn digits(&mut self, length: usize) -> String {
        (0..length)
            .map(|_| (b'0' + self.below(10) as u8) as char)
            .collect()
    }

    fn integer(&mut self, max_digits: usize) -> String {
        let length = 1 + self.below(max_digits);
        let digits = self.digits(length);
        match digits.trim_start_matches('0') {
            "" => "0".into(),
            digits => digits.into(),
        }
    }

    fn date(&mut self) -> String {
        let year = *self.pick(&[1, 1600, 1969, 1970, 2024, 2261, 9999]);
        format!(
            "{year:04}-{:02}-{:02}",
            1 + self.below(12),
            1 + self.below(28)
        )
    }

    fn time(&mut self) -> String {
        let mut time = format!("{:02}:{:02}", self.below(24), self.below(60));
        if !self.one_in(4) {
            write!(time, ":{:02}", self.below(60)).unwrap();
            if self.one_in(2) {
                let length = 1 + self.below(9);
                write!(time, ".{}", self.digits(length)).unwrap();
            }
        }
        time
    }
}

/// A value that was drawn; `None` is null.
type Value = Option<String>;

const NUM_KINDS: usize = 14;

fn draw_value(random: &mut Random, kind: usize) -> Value {
    if random.one_in(8) {
        return None;
    }
    let sign = if random.one_in(3) { "-" } else { "" };
    Some(match kind {
        0 => format!("{sign}{}", random.integer(6)),
        1 => format!("{sign}{}", random.integer(21)),
        2 => format!("{sign}{}.{}", random.integer(4), random.integer(3)),
        3 => format!("{sign}{}.{}", random.integer(12), random.integer(12)),
        4 => format!(
            "{}e{}{}",
            random.integer(3),
            random.pick(&["", "+", "-"]),
            random.below(330)
        ),
        5 => random
            .pick(&["true", "True", "TRUE", "false", "False", "FALSE"])
            .to_string(),
        6 => random.date(),
        7 => random.time(),
        8 => format!("{}T{}", random.date(), random.time()),
        9 => format!("{} {}Z", random.date(), random.time()),
        10 => {
            let zone = random.pick(&["+02:00", "+0200", "+02"]).to_string();
            format!("{}T{}{zone}", random.date(), random.time())
        }
        11 => random
            .pick(&[
                "NaN", "inf", "-inf", "Infinity", "1.5", "-0", "01", "+1", ".5",
            ])
            .to_string(),
        12 => random
            .pick(&[
                "2024-02-30",
                "23:59:60",
                "12:00",
                "tRue",
                "1 ",
                " 1",
                "1,5",
                "null",
            ])
            .to_string(),
        _ => {
            let length = random.below(9);
            let letters = [
                "a", "b", "é", "🦀", "\"", ",", ";", "\t", "|", "\n", "\r", "\r\n", " ", "1", "#",
            ];
            (0..length).map(|_| *random.pick(&letters)).collect()
        }
    })
}

struct Drawn {
    dialect: Dialect,
    names: Vec<String>,
    rows: Vec<Vec<Value>>,
    text: String,
    /// The end of the header's line.
    header_bytes: usize,
}

fn draw(random: &mut Random) -> Drawn {
    let line_end = *random.pick(&["\n", "\r\n", "\r"]);
    let dialect = Dialect {
        delimiter: *random.pick(b",;\t|"),
        line_end: if line_end == "\r" {
            LineEnd::Cr
        } else {
            LineEnd::Lf
        },
        has_header: !random.one_in(4),
        ..Dialect::default()
    };
    let num_columns = 1 + random.below(6);
    let num_rows = random.below(60);
    let mut kinds: Vec<_> = (0..num_columns).map(|_| random.below(NUM_KINDS)).collect();
    // Most columns keep their kind of values; some get others from a drawn row on.
    let change_rate = *random.pick(&[1000, 1000, 30, 5]);
    let mut rows = Vec::new();
    for _ in 0..num_rows {
        if random.one_in(change_rate) {
            let column = random.below(num_columns);
            kinds[column] = random.below(NUM_KINDS);
        }
        rows.push(
            kinds
                .iter()
                .map(|kind| draw_value(random, *kind))
                .collect::<Vec<_>>(),
        );
    }
    let names: Vec<_> = (0..num_columns)
        .map(|column| match (dialect.has_header, column) {
            (true, 0) => "the \"first\",;\t|name".to_string(),
            (true, _) => format!("n{column}"),
            (false, _) => format!("column_{}", column + 1),
        })
        .collect();
    let mut text = String::new();
    if random.one_in(4) {
        text.push('\u{feff}');
    }
    let writer = Writer {
        dialect: &dialect,
        line_end,
        quote_rate: *random.pick(&[2, 20, usize::MAX]),
        blank_rate: if num_columns > 1 {
            *random.pick(&[3, usize::MAX])
        } else {
            usize::MAX
        },
    };
    if dialect.has_header {
        let names: Vec<_> = names.iter().cloned().map(Some).collect();
        writer.write(random, &mut text, &names);
    }
    let header_bytes = text.len();
    for row in &rows {
        writer.write(random, &mut text, row);
    }
    // The last line end may be missing, unless a blank line is then no row.
    let is_last_null = rows
        .last()
        .is_none_or(|row| row.len() == 1 && row[0].is_none());
    if random.one_in(3) && text.len() > header_bytes && !is_last_null && text.ends_with(line_end) {
        text.truncate(text.len() - line_end.len());
    }
    Drawn {
        dialect,
        names,
        rows,
        text,
        header_bytes,
    }
}

struct Writer<'a> {
    dialect: &'a Dialect,
    line_end: &'a str,
    quote_rate: usize,
    blank_rate: usize,
}

impl Writer<'_> {
    fn write(&self, random: &mut Random, text: &mut String, row: &[Value]) {
        for (column, value) in row.iter().enumerate() {
            if column > 0 {
                text.push(self.dialect.delimiter.into());
            }
            let Some(value) = value else { continue };
            let delimiter = char::from(self.dialect.delimiter);
            let must_quote = value.is_empty()
                || value.starts_with('"')
                || value.contains([delimiter, '\n', '\r']);
            if must_quote || random.one_in(self.quote_rate) {
                write!(text, "\"{}\"", value.replace('"', "\"\"")).unwrap();
            } else {
                text.push_str(value);
            }
        }
        text.push_str(self.line_end);
        while random.one_in(self.blank_rate) {
            text.push_str(self.line_end);
        }
    }
}

fn infer(random: &mut Random, drawn: &Drawn) -> Inferred {
    let mut inference = Inference::new(&drawn.dialect);
    for piece in pieces(random, drawn.text.as_bytes()) {
        inference.push(piece).unwrap();
    }
    inference.finish().unwrap()
}

fn pieces<'a>(random: &mut Random, mut text: &'a [u8]) -> Vec<&'a [u8]> {
    let most = *random.pick(&[1, 7, 100, 100_000]);
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let (piece, rest) = text.split_at((1 + random.below(most)).min(text.len()));
        pieces.push(piece);
        text = rest;
    }
    pieces
}

/// The batches of the rows that begin in a range, and the error that ended them.
fn decode(
    random: &mut Random,
    drawn: &Drawn,
    schema: &SchemaRef,
    projection: &[usize],
    start: usize,
    end: u64,
) -> (Vec<RecordBatch>, Option<TextErrorKind>) {
    let batch_rows = 1 + random.below(40);
    let range = start as u64..end;
    let mut decoder = Decoder::new(&drawn.dialect, schema, projection, range, batch_rows).unwrap();
    let mut error = None;
    for piece in pieces(random, &drawn.text.as_bytes()[start.saturating_sub(1)..]) {
        match decoder.push(piece) {
            Ok(false) => {}
            Ok(true) => break,
            Err(failed) => {
                error = Some(failed.kind);
                break;
            }
        }
    }
    if error.is_none() {
        error = decoder.finish().err().map(|error| error.kind);
    }
    let batches: Vec<_> = std::iter::from_fn(|| decoder.next_batch()).collect();
    assert!(
        batches
            .iter()
            .all(|batch| (1..=batch_rows).contains(&batch.num_rows()))
    );
    (batches, error)
}

fn is_row_exact(
    drawn: &Drawn,
    batch: &RecordBatch,
    row: usize,
    truth: usize,
    projection: &[usize],
) {
    for (array, &column) in batch.columns().iter().zip(projection) {
        let value = &drawn.rows[truth][column];
        match value {
            None => assert!(array.is_null(row), "row {truth} column {column} is null"),
            Some(value) => {
                assert!(array.is_valid(row), "row {truth} column {column} {value:?}");
                assert!(
                    is_exact(array.as_ref(), row, value),
                    "row {truth} column {column} {value:?} is {:?}",
                    array.slice(row, 1)
                );
            }
        }
    }
}

/// Whether an array has in `row` exactly what `text` says. Computes with digits, not with the reader.
fn is_exact(array: &dyn Array, row: usize, text: &str) -> bool {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row) == text,
        DataType::Boolean => text.eq_ignore_ascii_case(&array.as_boolean().value(row).to_string()),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string() == text,
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).to_string() == text,
        DataType::Float64 => is_exact_float(array.as_primitive::<Float64Type>().value(row), text),
        DataType::Decimal128(precision, scale) => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            let magnitude = value.unsigned_abs();
            assert!(magnitude < 10_u128.pow(u32::from(*precision)));
            let shown = (magnitude.to_string(), -i32::from(*scale));
            (value < 0) == text.starts_with('-') && canonical(&shown.0, shown.1) == parsed(text)
        }
        data_type => show_time(array, row, data_type) == expected_time(text, data_type),
    }
}

/// The nearest double as Rust's own parser finds it, and at most 17 digits.
fn is_exact_float(value: f64, text: &str) -> bool {
    if text == "NaN" {
        return value.is_nan();
    }
    let nearest: f64 = text.parse().unwrap();
    let words = ["inf", "-inf", "Infinity", "-Infinity"];
    nearest.to_bits() == value.to_bits()
        && (words.contains(&text) || (value.is_finite() && parsed(text).0.len() <= 17))
}

/// A decimal number as digits without zeros at their ends, and the exponent of the last digit.
fn canonical(digits: &str, exponent: i32) -> (String, i32) {
    let digits = digits.trim_start_matches('0');
    let cut = digits.trim_end_matches('0');
    if cut.is_empty() {
        return (String::new(), 0);
    }
    (cut.into(), exponent + (digits.len() - cut.len()) as i32)
}

fn parsed(text: &str) -> (String, i32) {
    let text = text.trim_start_matches('-');
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().unwrap();
    canonical(
        &format!("{integer}{fraction}"),
        exponent - fraction.len() as i32,
    )
}

/// A point in time: nanoseconds, and the zone.
type Time = (i128, Option<String>);

fn unit_nanoseconds(unit: &TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    }
}

fn show_time(array: &dyn Array, row: usize, data_type: &DataType) -> Time {
    let value = match data_type {
        DataType::Date32 => {
            i128::from(array.as_primitive::<Date32Type>().value(row)) * 86_400_000_000_000
        }
        DataType::Time32(unit) => {
            let value = match unit {
                TimeUnit::Second => array.as_primitive::<Time32SecondType>().value(row),
                _ => array.as_primitive::<Time32MillisecondType>().value(row),
            };
            i128::from(value) * unit_nanoseconds(unit)
        }
        DataType::Time64(unit) => {
            let value = match unit {
                TimeUnit::Nanosecond => array.as_primitive::<Time64NanosecondType>().value(row),
                _ => array.as_primitive::<Time64MicrosecondType>().value(row),
            };
            i128::from(value) * unit_nanoseconds(unit)
        }
        DataType::Timestamp(unit, _) => {
            let value = match unit {
                TimeUnit::Second => array.as_primitive::<TimestampSecondType>().value(row),
                TimeUnit::Millisecond => {
                    array.as_primitive::<TimestampMillisecondType>().value(row)
                }
                TimeUnit::Microsecond => {
                    array.as_primitive::<TimestampMicrosecondType>().value(row)
                }
                TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row),
            };
            i128::from(value) * unit_nanoseconds(unit)
        }
        other => panic!("type {other}"),
    };
    let zone = match data_type {
        DataType::Timestamp(_, zone) => zone.as_ref().map(ToString::to_string),
        _ => None,
    };
    (value, zone)
}

fn expected_time(text: &str, data_type: &DataType) -> Time {
    let (date, time) = match data_type {
        DataType::Time32(_) | DataType::Time64(_) => ("1970-01-01", text),
        _ => (&text[..10], text.get(11..).unwrap_or("00:00")),
    };
    assert!(*data_type != DataType::Date32 || text.len() == 10);
    let (time, zone, offset) = match time.split_once(['Z', '+']) {
        None => (time, None, 0),
        Some((time, "")) => (time, Some("UTC"), 0),
        Some((time, zone)) => {
            assert_eq!(zone[..2], *"02");
            (time, Some("+02:00"), 7200)
        }
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let clock = time.split(':').map(|part| part.parse::<i128>().unwrap());
    let scales = [3600, 60, 1];
    let seconds: i128 = clock.zip(scales).map(|(part, scale)| part * scale).sum();
    let nanoseconds: i128 = format!("{fraction:0<9}").parse().unwrap();
    let seconds = days_since_1970(date) * 86_400 + seconds - offset;
    (seconds * 1_000_000_000 + nanoseconds, zone.map(Into::into))
}

/// Adds up the lengths of years and months.
fn days_since_1970(date: &str) -> i128 {
    let parts: Vec<i128> = date.split('-').map(|part| part.parse().unwrap()).collect();
    let is_leap = |year: i128| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let years: i128 = (1..parts[0])
        .map(|year| 365 + i128::from(is_leap(year)))
        .sum();
    let lengths = [
        31,
        28 + i128::from(is_leap(parts[0])),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let months: i128 = lengths[..parts[1] as usize - 1].iter().sum();
    years + months + parts[2] - 1 - 719_162
}

fn env(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// Runs a test for each seed and says which one failed.
fn for_each_seed(cases: u64, test: fn(&mut Random)) {
    let first = env("COLONNADE_SEED", 1);
    for seed in first..first + cases {
        let run = std::panic::catch_unwind(|| test(&mut Random(seed)));
        assert!(run.is_ok(), "COLONNADE_SEED={seed} COLONNADE_CASES=1");
    }
}

/// Whether the text has blank lines at most, so that the number of its columns cannot be told.
fn has_no_record(drawn: &Drawn) -> bool {
    let mut values = drawn.rows.iter().flatten();
    let is_blank = drawn.names.len() == 1 && values.all(Option::is_none);
    !drawn.dialect.has_header && (is_blank || drawn.rows.is_empty())
}

#[test]
fn what_is_inferred_from_all_rows_reads_all_rows_exactly() {
    for_each_seed(env("COLONNADE_CASES", 3000), |random| {
        let drawn = draw(random);
        if has_no_record(&drawn) {
            return;
        }
        let inferred = infer(random, &drawn);
        assert_eq!(inferred.names, drawn.names);
        assert_eq!(
            inferred.num_rows,
            drawn.rows.len() as u64,
            "{:?}",
            drawn.text
        );
        let schema = Arc::new(inferred.schema());
        let all: Vec<_> = (0..drawn.names.len()).collect();
        let wanted = random.below(all.len() + 1);
        let projection: Vec<_> = (0..wanted).map(|_| *random.pick(&all)).collect();
        for projection in [all, projection] {
            check_whole(random, &drawn, &schema, &projection);
            check_ranges(random, &drawn, &schema, &projection);
        }
    });
}

fn check_whole(random: &mut Random, drawn: &Drawn, schema: &SchemaRef, projection: &[usize]) {
    let (batches, error) = decode(random, drawn, schema, projection, 0, u64::MAX);
    assert_eq!(error, None);
    check_rows(drawn, &batches, projection, drawn.rows.len());
}

/// Whether the batches hold the first `num_rows` rows.
fn check_rows(drawn: &Drawn, batches: &[RecordBatch], projection: &[usize], num_rows: usize) {
    let rows = batches
        .iter()
        .flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)));
    let mut num_read = 0;
    for (truth, (batch, row)) in rows.enumerate() {
        assert_eq!(batch.num_columns(), projection.len());
        is_row_exact(drawn, batch, row, truth, projection);
        num_read += 1;
    }
    assert_eq!(num_read, num_rows);
}

fn check_ranges(random: &mut Random, drawn: &Drawn, schema: &SchemaRef, projection: &[usize]) {
    let mut scan = QuoteScan::new(&drawn.dialect);
    for piece in pieces(random, drawn.text.as_bytes()) {
        scan.push(piece);
    }
    let line_end = if drawn.dialect.line_end == LineEnd::Cr {
        '\r'
    } else {
        '\n'
    };
    let header = if drawn.dialect.has_header {
        &drawn.names[..]
    } else {
        &[]
    };
    let values = drawn.rows.iter().flatten().flatten();
    let is_expected = header
        .iter()
        .chain(values)
        .any(|value| value.contains(line_end));
    assert_eq!(scan.has_quoted_line_end(), is_expected);
    if is_expected {
        return;
    }
    let length = drawn.text.len();
    let mut bounds: Vec<_> = (0..random.below(6))
        .map(|_| random.below(length + 1))
        .collect();
    bounds.extend([0, length]);
    bounds.sort_unstable();
    let mut batches = Vec::new();
    for bounds in bounds.windows(2) {
        let end = if bounds[1] == length {
            u64::MAX
        } else {
            bounds[1] as u64
        };
        let (read, error) = decode(random, drawn, schema, projection, bounds[0], end);
        assert_eq!(
            error, None,
            "range {bounds:?} of {length} with {} of header",
            drawn.header_bytes
        );
        batches.extend(read);
    }
    check_rows(drawn, &batches, projection, drawn.rows.len());
}

#[test]
fn what_is_inferred_from_a_sample_reads_exactly_or_fails() {
    for_each_seed(env("COLONNADE_CASES", 3000), |random| {
        let drawn = draw(random);
        if has_no_record(&drawn) {
            return;
        }
        let mut inference = Inference::new(&drawn.dialect).with_max_rows(random.below(12) as u64);
        inference.push(drawn.text.as_bytes()).unwrap();
        let schema = Arc::new(inference.finish().unwrap().schema());
        let all: Vec<_> = (0..drawn.names.len()).collect();
        let (batches, error) = decode(random, &drawn, &schema, &all, 0, u64::MAX);
        let num_read = batches.iter().map(RecordBatch::num_rows).sum();
        check_rows(&drawn, &batches, &all, num_read);
        match error {
            None => assert_eq!(num_read, drawn.rows.len()),
            Some(TextErrorKind::Misfit {
                column,
                value,
                fitting,
                ..
            }) => {
                let at = drawn.names.iter().position(|name| *name == column).unwrap();
                let drawn = drawn.rows[num_read][at].as_deref().unwrap();
                assert_eq!(value, drawn);
                assert!(colonnade_text::parse_type_word(&fitting).is_some());
            }
            Some(other) => panic!("{other:?}"),
        }
    });
}

#[test]
fn mutated_texts_neither_panic_nor_hang_nor_lose_rows() {
    for_each_seed(env("COLONNADE_CASES", 3000), |random| {
        let drawn = draw(random);
        let mut text = drawn.text.clone().into_bytes();
        for _ in 0..1 + random.below(4) {
            let at = random.below(text.len() + 1);
            match random.below(3) {
                0 => text.insert(at, *random.pick(b"\",;\n\r\\#\xff\xc3\0 1")),
                1 if at < text.len() => text[at] = random.next() as u8,
                _ => text.truncate(at),
            }
        }
        let dialect = match random.below(3) {
            0 => drawn.dialect.clone(),
            1 => Dialect::detect(&text),
            _ => Dialect {
                delimiter: random.next() as u8,
                quote: random.one_in(2).then_some(b'"'),
                escape: random.one_in(2).then_some(b'\\'),
                comment: random.one_in(2).then_some(b'#'),
                decimal_comma: random.one_in(2),
                null_words: vec!["null".into(), "1".into()],
                ..drawn.dialect.clone()
            },
        };
        let results = [0, 1].map(|_| read_anything(random, &dialect, &text));
        assert_eq!(
            results[0], results[1],
            "pieces change what is read of {text:?}"
        );
    });
}

/// Infers and reads text; returns its rows or the errors.
fn read_anything(random: &mut Random, dialect: &Dialect, text: &[u8]) -> String {
    let mut inference = Inference::new(dialect).with_max_rows(u64::MAX);
    for piece in pieces(random, text) {
        if let Err(error) = inference.push(piece) {
            return format!("{error:?}");
        }
    }
    let inferred = match inference.finish() {
        Ok(inferred) => inferred,
        Err(error) => return format!("{error:?}"),
    };
    let schema = Arc::new(inferred.schema());
    let all: Vec<_> = (0..inferred.names.len()).collect();
    let mut decoder = Decoder::new(dialect, &schema, &all, 0..u64::MAX, 7).unwrap();
    let pieces = pieces(random, text);
    let pushed = pieces
        .into_iter()
        .try_for_each(|piece| decoder.push(piece).map(|_| ()));
    let result = pushed.and_then(|()| decoder.finish());
    let mut shown = format!("{result:?}");
    let mut num_rows = 0;
    while let Some(batch) = decoder.next_batch() {
        num_rows += batch.num_rows() as u64;
        write!(shown, "{:?}", batch.columns()).unwrap();
    }
    assert_eq!(
        num_rows, inferred.num_rows,
        "a sample ends where reading fails"
    );
    let is_misfit = result.is_err_and(|error| matches!(error.kind, TextErrorKind::Misfit { .. }));
    assert!(!is_misfit, "{shown}");
    shown
}
