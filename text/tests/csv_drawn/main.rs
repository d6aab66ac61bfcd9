//! Reads CSV texts that are drawn at random. The values that were drawn are the truth: every value that
//! is read must be the one drawn, digit by digit, or reading must fail.
//!
//! `COLONNADE_CASES` is the number of texts, `COLONNADE_SEED` the first seed.

#![allow(clippy::unwrap_used)]

mod draw;
mod exact;

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use colonnade_text::csv::{Decoder, Dialect, Inference, Inferred, LineEnd, QuoteScan};
use colonnade_text::{DecimalSign, TextErrorKind};

use draw::{Drawn, Random, draw};
use exact::is_exact;

fn infer(random: &mut Random, drawn: &Drawn) -> Inferred {
    let mut inference = Inference::new(&drawn.dialect);
    for piece in pieces(random, drawn.text.as_bytes()) {
        inference.push(piece).unwrap();
    }
    inference.finish().unwrap();
    inference.into_inferred().unwrap()
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
        inference.finish().unwrap();
        let schema = Arc::new(inference.into_inferred().unwrap().schema());
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
                decimal: random.one_in(2).then_some(DecimalSign::Comma),
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
    if let Err(error) = inference.finish() {
        return format!("{error:?}");
    }
    let Some(inferred) = inference.into_inferred() else {
        return String::new();
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
