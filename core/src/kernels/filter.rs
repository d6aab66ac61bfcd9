use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::column::{num_rows, push_codes};
use super::error::{KernelError, filled};
use super::key::{Keyed, Physical, each_boolean, each_bytes, with_native};
use super::key_test::{KeyTest, LiteralKey, packed};
use super::literal::Literal;
use super::predicate::{Leaf, Predicate, Test, parse_predicate};
use super::row_order::RowOrder;
use super::texts::Texts;
use crate::semantics::{Comparison, value_type};
use crate::table::Table;
use crate::text::{CellKind, CellText, FixedOffsets, TimeZones, underlying, write_cell};

/// Rows that one step reads.
const STEP_ROWS: usize = 8192;

/// Finds the rows for which a predicate is true, with SQL's semantics: a comparison with null is
/// neither true nor false.
#[derive(Debug)]
pub struct FilterJob {
    predicate: Predicate,
    base: Arc<RowOrder>,
    /// The number of rows of each chunk.
    chunk_lens: Vec<usize>,
    chunk: usize,
    start: usize,
    done_rows: usize,
    num_rows: usize,
    words: Vec<u64>,
    /// For a base that is a list: the rows that match, and the number of tested rows.
    kept: Vec<u32>,
    num_listed: usize,
    /// The number of rows of a step.
    step_rows: usize,
    /// For each leaf of the predicate: its results for the values of the last dictionary.
    pointed: Vec<Option<Pointed>>,
}

/// The results for the values of a dictionary.
#[derive(Debug)]
struct Pointed {
    dictionary: usize,
    answers: Truth,
}

/// For each row of a range, whether the predicate is true and whether it is false. For null it is
/// neither.
#[derive(Debug)]
struct Truth {
    yes: Vec<u64>,
    no: Vec<u64>,
}

impl FilterJob {
    /// A job that filters `base`, which are rows of the current `table`, by a predicate in JSON.
    ///
    /// # Errors
    /// `bad_filter`, `unknown_column`, `out_of_memory`.
    pub fn try_new(
        table: &Table,
        base: Arc<RowOrder>,
        json: &str,
        zones: &dyn TimeZones,
    ) -> Result<Self, KernelError> {
        let predicate = parse_predicate(json, table, zones)?;
        let num_rows = num_rows(table)? as usize;
        let mut pointed = Vec::new();
        pointed.resize_with(count_leaves(&predicate), || None);
        Ok(Self {
            step_rows: step_rows(&predicate),
            predicate,
            base,
            chunk_lens: table.chunk_lens(),
            chunk: 0,
            start: 0,
            done_rows: 0,
            num_rows,
            kept: Vec::new(),
            num_listed: 0,
            words: filled(0, num_rows.div_ceil(64))?,
            pointed,
        })
    }

    /// Works for about a millisecond. Returns true when all rows are tested.
    // Its own function, because browsers compile a large one slowly, and a module may step all kinds of jobs in one.
    #[inline(never)]
    pub fn step(&mut self, zones: &dyn TimeZones) -> bool {
        let Some(&len) = self.chunk_lens.get(self.chunk) else {
            return self.step_list();
        };
        let end = len.min(self.start + self.step_rows);
        let mut leaf_index = 0;
        let range = ChunkRange {
            chunk: self.chunk,
            start: self.start,
            end,
            first_row: self.done_rows as u32,
            zones,
        };
        let truth = range.predicate(&self.predicate, &mut self.pointed, &mut leaf_index);
        self.put(&truth.yes, end - self.start);
        self.done_rows += end - self.start;
        self.start = end;
        if end == len {
            (self.chunk, self.start) = (self.chunk + 1, 0);
        }
        false
    }

    /// Tests the next rows of a list.
    fn step_list(&mut self) -> bool {
        let RowOrder::List(rows) = &*self.base else {
            return true;
        };
        let end = rows.len().min(self.num_listed + STEP_ROWS);
        let has = |row: &&u32| self.words[(**row / 64) as usize] >> (**row % 64) & 1 == 1;
        let kept = rows[self.num_listed..end].iter().filter(has);
        self.kept.extend(kept);
        self.num_listed = end;
        end == rows.len()
    }

    /// The fraction of the work that is done, from 0 to 1.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        self.done_rows as f64 / self.num_rows.max(1) as f64
    }

    /// The matching rows, in the order of the base.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub fn finish(self) -> Result<RowOrder, KernelError> {
        match &*self.base {
            RowOrder::List(_) => Ok(RowOrder::List(self.kept)),
            base => base.intersect(self.words),
        }
    }

    /// Sets the bits of the next `len` rows.
    fn put(&mut self, yes: &[u64], len: usize) {
        let (first, shift) = (self.done_rows / 64, self.done_rows % 64);
        for (index, &word) in yes.iter().enumerate().take(len.div_ceil(64)) {
            self.words[first + index] |= word << shift;
            if shift > 0 && word >> (64 - shift) != 0 {
                self.words[first + index + 1] |= word >> (64 - shift);
            }
        }
    }
}

fn count_leaves(predicate: &Predicate) -> usize {
    match predicate {
        Predicate::And(items) | Predicate::Or(items) => items.iter().map(count_leaves).sum(),
        Predicate::Not(inner) => count_leaves(inner),
        Predicate::Leaf(_) => 1,
        Predicate::Matches(_) => 0,
    }
}

fn step_rows(predicate: &Predicate) -> usize {
    let least = |items: &[Predicate]| items.iter().map(step_rows).min();
    match predicate {
        Predicate::And(items) | Predicate::Or(items) => least(items).unwrap_or(STEP_ROWS),
        Predicate::Not(inner) => step_rows(inner),
        Predicate::Leaf(_) => STEP_ROWS,
        Predicate::Matches(search) => search.num_step_rows().min(STEP_ROWS),
    }
}

/// Rows `[start, end)` of a chunk.
#[derive(Clone, Copy)]
struct ChunkRange<'a> {
    chunk: usize,
    start: usize,
    end: usize,
    /// The number of the first of these rows in the table.
    first_row: u32,
    zones: &'a dyn TimeZones,
}

impl ChunkRange<'_> {
    fn predicate(
        self,
        predicate: &Predicate,
        pointed: &mut [Option<Pointed>],
        leaf_index: &mut usize,
    ) -> Truth {
        match predicate {
            Predicate::And(items) => {
                let mut all = self.constant(true);
                for item in items {
                    let truth = self.predicate(item, pointed, leaf_index);
                    all.zip(
                        &truth,
                        |mine, other| mine & other,
                        |mine, other| mine | other,
                    );
                }
                all
            }
            Predicate::Or(items) => {
                let mut any = self.constant(false);
                for item in items {
                    let truth = self.predicate(item, pointed, leaf_index);
                    any.zip(
                        &truth,
                        |mine, other| mine | other,
                        |mine, other| mine & other,
                    );
                }
                any
            }
            Predicate::Not(inner) => {
                let Truth { yes, no } = self.predicate(inner, pointed, leaf_index);
                Truth { yes: no, no: yes }
            }
            Predicate::Leaf(leaf) => {
                *leaf_index += 1;
                self.leaf(leaf, &mut pointed[*leaf_index - 1])
            }
            Predicate::Matches(search) => {
                let len = self.end - self.start;
                let rows: Vec<u32> = (self.first_row..).take(len).collect();
                let mut yes = vec![0; len.div_ceil(64)];
                search.each_match(&rows, self.zones, |index| {
                    yes[index / 64] |= 1 << (index % 64);
                });
                Truth::of_values(yes, None, self.start, self.end)
            }
        }
    }

    /// A word for 64 rows each, with a bit for each row.
    fn ones(len: usize) -> Vec<u64> {
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        if let (Some(last), 1..) = (words.last_mut(), len % 64) {
            *last >>= 64 - len % 64;
        }
        words
    }

    fn constant(self, value: bool) -> Truth {
        let ones = Self::ones(self.end - self.start);
        let zeros = vec![0; ones.len()];
        if value {
            Truth {
                yes: ones,
                no: zeros,
            }
        } else {
            Truth {
                yes: zeros,
                no: ones,
            }
        }
    }

    fn leaf(self, leaf: &Leaf, pointed: &mut Option<Pointed>) -> Truth {
        let array = &leaf.column.chunks()[self.chunk];
        match (&leaf.test, leaf.column.dictionary_of(self.chunk)) {
            (Test::Constant(value), _) => self.constant(*value),
            (Test::IsNull { negated }, _) => {
                let yes = packed(self.start..self.end, |index| {
                    is_null(array, index) != *negated
                });
                Truth::of_values(yes, None, self.start, self.end)
            }
            (test, None) => answers(test, array, self.start, self.end),
            (test, Some(dictionary)) => {
                let known = pointed
                    .take()
                    .filter(|known| known.dictionary == dictionary);
                let known = pointed.insert(known.unwrap_or_else(|| {
                    let values = &leaf.column.dictionaries()[dictionary];
                    let answers = answers(test, values, 0, values.len());
                    Pointed {
                        dictionary,
                        answers,
                    }
                }));
                let mut codes = Vec::with_capacity(self.end - self.start);
                push_codes(array, self.start, self.end, &mut codes);
                let of_codes = |words: &[u64]| {
                    let is_in = |code: &u32| {
                        let word = words.get((code / 64) as usize).copied();
                        word.unwrap_or(0) >> (code % 64) & 1 == 1
                    };
                    packed(&codes, is_in)
                };
                Truth {
                    yes: of_codes(&known.answers.yes),
                    no: of_codes(&known.answers.no),
                }
            }
        }
    }
}

fn is_null(array: &ArrayRef, index: usize) -> bool {
    let (array, index) = underlying(array.as_ref(), index);
    matches!(array.data_type(), DataType::Null) || array.is_null(index)
}

impl Truth {
    /// The answers `yes` for slots `[start, end)` of an array, without those for null.
    fn of_values(mut yes: Vec<u64>, nulls: Option<&NullBuffer>, start: usize, end: usize) -> Self {
        let valid = match nulls {
            None => ChunkRange::ones(end - start),
            Some(nulls) => {
                let bits = nulls.inner().slice(start, end - start);
                bits.bit_chunks().iter_padded().take(yes.len()).collect()
            }
        };
        let pairs = yes.iter_mut().zip(&valid);
        let no = pairs.map(|(word, valid)| {
            let no = !*word & valid;
            *word &= valid;
            no
        });
        Self {
            no: no.collect(),
            yes,
        }
    }

    fn zip(&mut self, other: &Self, yes: impl Fn(u64, u64) -> u64, no: impl Fn(u64, u64) -> u64) {
        for (mine, theirs) in self.yes.iter_mut().zip(&other.yes) {
            *mine = yes(*mine, *theirs);
        }
        for (mine, theirs) in self.no.iter_mut().zip(&other.no) {
            *mine = no(*mine, *theirs);
        }
    }
}

struct TruthBuilder {
    truth: Truth,
    len: usize,
    word: [u64; 2],
}

impl TruthBuilder {
    fn new(len: usize) -> Self {
        let room = len.div_ceil(64);
        Self {
            truth: Truth {
                yes: Vec::with_capacity(room),
                no: Vec::with_capacity(room),
            },
            len: 0,
            word: [0; 2],
        }
    }

    #[inline]
    fn push(&mut self, answer: Option<bool>) {
        let bit = self.len % 64;
        self.word[0] |= u64::from(answer == Some(true)) << bit;
        self.word[1] |= u64::from(answer == Some(false)) << bit;
        self.len += 1;
        if bit == 63 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.truth.yes.push(self.word[0]);
        self.truth.no.push(self.word[1]);
        self.word = [0; 2];
    }

    fn finish(mut self) -> Truth {
        if !self.len.is_multiple_of(64) {
            self.flush();
        }
        self.truth
    }
}

/// Tests slots `[start, end)` of a plain array.
fn answers(test: &Test, array: &ArrayRef, start: usize, end: usize) -> Truth {
    match test {
        Test::Contains(pattern) if array.data_type().is_string() => {
            let mut yes = vec![0; (end - start).div_ceil(64)];
            Texts::of(array).find(start..end, pattern, &mut Vec::new(), |index| {
                yes[(index - start) / 64] |= 1 << ((index - start) % 64);
            });
            Truth::of_values(yes, array.nulls(), start, end)
        }
        Test::Contains(_) | Test::StartsWith(_) => texts_hold(test, array, start, end),
        _ => with_native!(Physical::of(array.data_type()), N => {
            numbers_hold::<N>(test, array, start, end)
        }, _ => texts_hold(test, array, start, end)),
    }
}

// Browsers compile a large function slowly, so what differs by type is a function of its own.

/// Tests numbers.
#[inline(never)]
fn numbers_hold<N>(test: &Test, array: &ArrayRef, start: usize, end: usize) -> Truth
where
    N: Keyed<Key: LiteralKey>,
{
    let test = KeyTest::<N::Key>::new(test);
    let data = array.to_data();
    let yes = test.packed(&data.buffer::<N>(0)[start..end]);
    Truth::of_values(yes, array.nulls(), start, end)
}

/// Tests texts, booleans and binary values. Values of other types become texts, unless they are compared.
#[inline(never)]
fn texts_hold(test: &Test, array: &ArrayRef, start: usize, end: usize) -> Truth {
    let mut truth = TruthBuilder::new(end - start);
    let mut push = |text: Option<&[u8]>| truth.push(text.map(|text| text_holds(test, text)));
    let is_of_text = matches!(test, Test::Contains(_) | Test::StartsWith(_));
    match Physical::of(value_type(array.data_type())) {
        Physical::Bytes => each_bytes(array, start, end, push),
        _ if is_of_text => {
            let mut text = String::new();
            for index in start..end {
                text.clear();
                let mut out = CellText::new(&mut text, 0);
                let kind = write_cell(array, None, index, &FixedOffsets, &mut out);
                push((kind != CellKind::Null).then_some(text.as_bytes()));
            }
        }
        Physical::Boolean => {
            let test = KeyTest::<u64>::new(test);
            each_boolean(array.as_boolean(), start, end, |value| {
                truth.push(value.map(|value| test.holds(u64::from(value))));
            });
        }
        _ => (start..end).for_each(|_| push(None)),
    }
    truth.finish()
}

fn text_holds(test: &Test, value: &[u8]) -> bool {
    let with = |literal: &Literal| match literal {
        Literal::Bytes(bytes) => Some(value.cmp(bytes)),
        _ => None,
    };
    match test {
        Test::Compare(op, literal) => with(literal).is_some_and(|order| match op {
            Comparison::Eq => order.is_eq(),
            Comparison::Ne => order.is_ne(),
            Comparison::Lt => order.is_lt(),
            Comparison::Le => order.is_le(),
            Comparison::Gt => order.is_gt(),
            Comparison::Ge => order.is_ge(),
        }),
        Test::InBytes(values) => values.contains(value),
        Test::Contains(pattern) => pattern.find_from(value, 0).is_some(),
        Test::StartsWith(prefix) => value.starts_with(prefix),
        _ => false,
    }
}
