//! Drawn texts are read as exactly the values that they were drawn from, or not at all.
//!
//! `COLONNADE_CASES` is the number of texts, `COLONNADE_SEED` the seed of the first.

#![allow(clippy::unwrap_used)]

mod check;
mod draw;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use colonnade_text::json::{Decoder, Inference, Inferred, Layout, Options};
use colonnade_text::{TextError, TextErrorKind};

use check::{check_value, value_of};
use draw::{Drawn, Random};

const WHOLE: Range<u64> = 0..u64::MAX;

fn env_number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Calls `check` with a generator for each case, whose seed is printed if the case fails.
fn for_each_case(check: impl Fn(&mut Random)) {
    let num_cases = env_number("COLONNADE_CASES").unwrap_or(3_000);
    let first_seed = env_number("COLONNADE_SEED").unwrap_or(1);
    for seed in first_seed..first_seed + num_cases {
        let result =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&mut Random(seed))));
        if let Err(panic) = result {
            eprintln!("COLONNADE_SEED={seed} COLONNADE_CASES=1");
            std::panic::resume_unwind(panic);
        }
    }
}

/// The bytes that a reader of `range` gets.
fn bytes_of(text: &[u8], range: &Range<u64>) -> Vec<u8> {
    let start = (range.start.saturating_sub(1) as usize).min(text.len());
    text[start..].to_vec()
}

/// Calls `push` with pieces of random size until it returns true.
fn push_pieces<E>(
    random: &mut Random,
    text: &[u8],
    mut push: impl FnMut(&[u8]) -> Result<bool, E>,
) -> Result<(), E> {
    let max_bytes = random.pick(&[1, 7, 100, 100_000]);
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at((1 + random.below(max_bytes)).min(rest.len()));
        if push(piece)? {
            return Ok(());
        }
        rest = behind;
    }
    Ok(())
}

fn infer(
    random: &mut Random,
    mut inference: Inference,
    text: &[u8],
) -> Result<Inferred, TextError> {
    push_pieces(random, text, |piece| inference.push(piece))?;
    inference.finish()?;
    let empty = TextError {
        kind: TextErrorKind::Empty,
        offset_bytes: 0,
    };
    inference.into_inferred().ok_or(empty)
}

/// What a decoder makes of a text.
#[derive(Debug, PartialEq)]
struct Decoded {
    batches: Vec<RecordBatch>,
    error: Option<TextError>,
}

impl Decoded {
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

struct Plan {
    options: Options,
    schema: SchemaRef,
    projection: Vec<usize>,
    batch_rows: usize,
}

impl Plan {
    fn new(random: &mut Random, options: Options, inferred: &Inferred) -> Self {
        let schema = Arc::new(inferred.schema());
        let num_fields = schema.fields().len();
        let mut projection: Vec<_> = (0..num_fields).collect();
        if random.once_in(3) {
            projection.retain(|_| random.once_in(2));
            projection.reverse();
        }
        Self {
            options,
            schema,
            projection,
            batch_rows: random.pick(&[1, 3, 1_000]),
        }
    }

    fn decode(&self, random: &mut Random, text: &[u8], range: Range<u64>) -> Decoded {
        let bytes = bytes_of(text, &range);
        let mut decoder = Decoder::new(
            self.options,
            &self.schema,
            &self.projection,
            range,
            self.batch_rows,
        )
        .unwrap();
        let pushed = push_pieces(random, &bytes, |piece| decoder.push(piece));
        let error = pushed.and_then(|()| decoder.finish()).err();
        Decoded {
            batches: std::iter::from_fn(|| decoder.next_batch()).collect(),
            error,
        }
    }
}

/// Panics unless the batches have exactly the values of the rows that begin at `first_row`.
fn check_rows(decoded: &Decoded, drawn: &Drawn, first_row: usize) {
    let mut rows = drawn.rows.iter().skip(first_row);
    for batch in &decoded.batches {
        for row in 0..batch.num_rows() {
            let values = rows.next().expect("a row too many");
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                check_value(column, row, field, value_of(values, field.name()));
            }
        }
    }
}

fn options_of(drawn: &Drawn) -> Options {
    let options = Options::detect(&drawn.text);
    assert_eq!(options.layout == Layout::Array, drawn.is_array);
    options
}

#[test]
fn whole_texts_are_read_exactly() {
    for_each_case(|random| {
        let drawn = Drawn::new(random);
        let options = options_of(&drawn);
        let inferred = infer(random, Inference::new(options), &drawn.text).unwrap();
        assert_eq!(inferred.num_rows(), drawn.rows.len() as u64);
        for row in &drawn.rows {
            for (name, _) in row {
                assert!(inferred.schema().field_with_name(&name.content).is_ok());
            }
        }
        let plan = Plan::new(random, options, &inferred);
        let decoded = plan.decode(random, &drawn.text, WHOLE);
        assert_eq!(decoded.error, None);
        assert_eq!(decoded.num_rows(), drawn.rows.len());
        check_rows(&decoded, &drawn, 0);
    });
}

#[test]
fn ranges_together_are_the_whole_text() {
    for_each_case(|random| {
        let drawn = Drawn::new(random);
        if drawn.is_array {
            return;
        }
        let options = options_of(&drawn);
        let whole = infer(random, Inference::new(options), &drawn.text).unwrap();
        let plan = Plan::new(random, options, &whole);
        let num_bytes = drawn.text.len();
        let mut bounds = vec![0, u64::MAX];
        bounds.extend((0..random.below(6)).map(|_| random.below(num_bytes + 2) as u64));
        bounds.sort_unstable();
        let mut merged = Inferred::default();
        let mut num_rows = 0;
        for pair in bounds.windows(2) {
            let range = pair[0]..pair[1];
            let decoded = plan.decode(random, &drawn.text, range.clone());
            assert_eq!(decoded.error, None);
            let expected = drawn
                .offsets
                .iter()
                .filter(|offset| range.contains(offset))
                .count();
            assert_eq!(decoded.num_rows(), expected, "{range:?}");
            check_rows(&decoded, &drawn, num_rows);
            num_rows += decoded.num_rows();
            let bytes = bytes_of(&drawn.text, &range);
            if let Ok(part) = infer(random, Inference::with_range(options, range), &bytes) {
                merged.merge(part);
            }
        }
        assert_eq!(num_rows, drawn.rows.len());
        assert_eq!(merged.num_rows(), whole.num_rows());
        assert_eq!(merged.schema(), whole.schema());
    });
}

#[test]
fn rows_behind_a_sample_are_read_exactly_or_refused() {
    for_each_case(|random| {
        let drawn = Drawn::new(random);
        let options = options_of(&drawn);
        let max_rows = 1 + random.below(drawn.rows.len()) as u64;
        let first_end = drawn
            .offsets
            .get(1)
            .map_or(drawn.text.len(), |&end| end as usize);
        let sample = first_end + random.below(drawn.text.len() - first_end + 1);
        let inference = Inference::new(options).with_max_rows(max_rows);
        let inferred = infer(random, inference, &drawn.text[..sample]).unwrap();
        assert!((1..=max_rows).contains(&inferred.num_rows()));
        let plan = Plan::new(random, options, &inferred);
        let decoded = plan.decode(random, &drawn.text, WHOLE);
        check_rows(&decoded, &drawn, 0);
        let num_rows = decoded.num_rows();
        assert!(num_rows as u64 >= inferred.num_rows());
        match decoded.error {
            None => assert_eq!(num_rows, drawn.rows.len()),
            Some(error) => {
                let is_late = matches!(
                    error.kind,
                    TextErrorKind::Misfit { .. } | TextErrorKind::NewField { .. }
                );
                assert!(is_late, "{error:?}");
                assert_eq!(error.offset_bytes, drawn.offsets[num_rows]);
            }
        }
        for row in drawn.rows.iter().take(num_rows) {
            for (name, _) in row {
                assert!(
                    plan.schema.field_with_name(&name.content).is_ok(),
                    "{name:?} is dropped"
                );
            }
        }
    });
}

fn mutate(random: &mut Random, text: &mut Vec<u8>) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(text.len());
        let byte = random.pick(b"\"\\{}[],:\n\r 0-.eunt\x00\x1f\x80\xc3\xff");
        match random.below(5) {
            0 => text.truncate(at),
            1 if !text.is_empty() => text[at] = byte,
            2 if !text.is_empty() => {
                text.remove(at);
            }
            3 => {
                let end = (at + random.below(30)).min(text.len());
                let copy = text[at..end].to_vec();
                text.splice(at..at, copy);
            }
            _ => text.insert(at, byte),
        }
    }
}

#[test]
fn mutated_texts_are_read_the_same_in_all_pieces() {
    for_each_case(|random| {
        let drawn = Drawn::new(random);
        let mut options = options_of(&drawn);
        let inferred = infer(random, Inference::new(options), &drawn.text).unwrap();
        options.allows_nan = random.once_in(4);
        let plan = Plan::new(random, options, &inferred);
        let mut text = drawn.text.clone();
        mutate(random, &mut text);
        let one = plan.decode(random, &text, WHOLE);
        let other = plan.decode(random, &text, WHOLE);
        assert_eq!(one, other);
        let one = infer(random, Inference::new(options), &text).map(|inferred| inferred.schema());
        let other = infer(random, Inference::new(options), &text).map(|inferred| inferred.schema());
        assert_eq!(one, other);
    });
}
