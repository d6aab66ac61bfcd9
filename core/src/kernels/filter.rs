use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::column::{num_rows, pointed_values, pointers};
use super::error::{KernelError, filled, with_room};
use super::key::{
    Key, Key256, Keyed, Physical, each_boolean, each_bytes, each_native, with_native,
};
use super::literal::Literal;
use super::predicate::{Leaf, Predicate, Test, parse_predicate};
use super::row_order::RowOrder;
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
    /// For each leaf of the predicate: its results for the values of the last dictionary.
    pointed: Vec<Option<Pointed>>,
}

#[derive(Debug)]
struct Pointed {
    values: ArrayRef,
    answers: Vec<Option<bool>>,
}

/// For each row of a range, whether the predicate is true and whether it is false. For null it is
/// neither.
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
        let num_listed = match &*base {
            RowOrder::List(rows) => rows.len(),
            _ => 0,
        };
        let mut pointed = Vec::new();
        pointed.resize_with(count_leaves(&predicate), || None);
        Ok(Self {
            predicate,
            base,
            chunk_lens: table.chunk_lens(),
            chunk: 0,
            start: 0,
            done_rows: 0,
            num_rows,
            kept: with_room(num_listed)?,
            num_listed: 0,
            words: filled(0, num_rows.div_ceil(64))?,
            pointed,
        })
    }

    /// Works for about a millisecond. Returns true when all rows are tested.
    pub fn step(&mut self) -> bool {
        let Some(&len) = self.chunk_lens.get(self.chunk) else {
            return self.step_list();
        };
        let end = len.min(self.start + STEP_ROWS);
        let mut leaf_index = 0;
        let range = ChunkRange {
            chunk: self.chunk,
            start: self.start,
            end,
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
    }
}

/// Rows `[start, end)` of a chunk.
#[derive(Clone, Copy)]
struct ChunkRange {
    chunk: usize,
    start: usize,
    end: usize,
}

impl ChunkRange {
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
        }
    }

    fn constant(self, value: bool) -> Truth {
        let ones = self.masked(vec![u64::MAX; (self.end - self.start).div_ceil(64)]);
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

    /// The words without the bits after the last row.
    fn masked(self, mut words: Vec<u64>) -> Vec<u64> {
        let rest = (self.end - self.start) % 64;
        if let (Some(last), 1..) = (words.last_mut(), rest) {
            *last &= (1 << rest) - 1;
        }
        words
    }

    fn leaf(self, leaf: &Leaf, pointed: &mut Option<Pointed>) -> Truth {
        let array = &leaf.column.chunks()[self.chunk];
        match (&leaf.test, pointed_values(array)) {
            (Test::Constant(value), _) => self.constant(*value),
            (Test::IsNull { negated }, _) => {
                let mut truth = TruthBuilder::new(self);
                for index in self.start..self.end {
                    truth.push(Some(is_null(array, index) != *negated));
                }
                truth.finish()
            }
            (test, None) => {
                answers(test, array, self.start, self.end, TruthBuilder::new(self)).finish()
            }
            (test, Some(values)) => {
                let is_same = |known: &&mut Pointed| Arc::ptr_eq(&known.values, values);
                if pointed.as_mut().filter(is_same).is_none() {
                    *pointed = Some(Pointed {
                        values: Arc::clone(values),
                        answers: answers(test, values, 0, values.len(), Vec::new()),
                    });
                }
                let known = pointed.as_ref().map_or(&[][..], |known| &known.answers);
                let mut truth = TruthBuilder::new(self);
                for pointer in pointers(array, self.start, self.end) {
                    truth.push(pointer.and_then(|index| known[index]));
                }
                truth.finish()
            }
        }
    }
}

fn is_null(array: &ArrayRef, index: usize) -> bool {
    let (array, index) = underlying(array.as_ref(), index);
    matches!(array.data_type(), DataType::Null) || array.is_null(index)
}

impl Truth {
    fn zip(&mut self, other: &Self, yes: impl Fn(u64, u64) -> u64, no: impl Fn(u64, u64) -> u64) {
        for (mine, theirs) in self.yes.iter_mut().zip(&other.yes) {
            *mine = yes(*mine, *theirs);
        }
        for (mine, theirs) in self.no.iter_mut().zip(&other.no) {
            *mine = no(*mine, *theirs);
        }
    }
}

/// Receives the answers row by row.
trait Answers {
    fn push(&mut self, answer: Option<bool>);
}

impl Answers for Vec<Option<bool>> {
    fn push(&mut self, answer: Option<bool>) {
        Vec::push(self, answer);
    }
}

struct TruthBuilder {
    truth: Truth,
    len: usize,
    word: [u64; 2],
}

impl TruthBuilder {
    fn new(range: ChunkRange) -> Self {
        let room = (range.end - range.start).div_ceil(64);
        Self {
            truth: Truth {
                yes: Vec::with_capacity(room),
                no: Vec::with_capacity(room),
            },
            len: 0,
            word: [0; 2],
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

impl Answers for TruthBuilder {
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
}

/// Tests slots `[start, end)` of a plain array.
fn answers<A: Answers>(test: &Test, array: &ArrayRef, start: usize, end: usize, mut out: A) -> A {
    match test {
        Test::Contains(finder) => {
            each_text(array, start, end, |text| {
                out.push(text.map(|text| finder.find(text).is_some()));
            });
            return out;
        }
        Test::StartsWith(prefix) => {
            each_text(array, start, end, |text| {
                out.push(text.map(|text| text.starts_with(prefix)));
            });
            return out;
        }
        Test::IsNull { .. } | Test::Constant(_) | Test::Compare(..) | Test::In(_) => {}
    }
    let physical = Physical::of(array.data_type());
    with_native!(physical, N => {
        let test = KeyTest::<<N as Keyed>::Key>::new(test);
        each_native::<N>(array, start, end, |value| {
            out.push(value.map(|value| test.holds(value.key())));
        });
    }, _ => match physical {
        Physical::Boolean => {
            let test = KeyTest::<u64>::new(test);
            each_boolean(array.as_boolean(), start, end, |value| {
                out.push(value.map(|value| test.holds(u64::from(value))));
            });
        }
        _ => each_bytes(array, start, end, |value| {
            out.push(value.map(|value| bytes_hold(test, value)));
        }),
    });
    out
}

fn each_text(array: &ArrayRef, start: usize, end: usize, mut visit: impl FnMut(Option<&[u8]>)) {
    if Physical::of(value_type(array.data_type())) == Physical::Bytes {
        return each_bytes(array, start, end, visit);
    }
    let mut text = String::new();
    for index in start..end {
        text.clear();
        let mut out = CellText::new(&mut text, 0);
        let kind = write_cell(array, None, index, &FixedOffsets, &mut out);
        visit((kind != CellKind::Null).then_some(text.as_bytes()));
    }
}

/// A key that a literal of the same width can become.
trait LiteralKey: Key {
    fn of(literal: &Literal) -> Option<Self>;
}

impl LiteralKey for u64 {
    fn of(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Narrow(key) => Some(*key),
            _ => None,
        }
    }
}

impl LiteralKey for u128 {
    fn of(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Wide(key) => Some(*key),
            _ => None,
        }
    }
}

impl LiteralKey for Key256 {
    fn of(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Widest(key) => Some(*key),
            _ => None,
        }
    }
}

/// A test of keys.
enum KeyTest<K> {
    Constant(bool),
    Compare(Comparison, K),
    /// Keys in ascending order.
    In(Vec<K>),
}

impl<K: LiteralKey> KeyTest<K> {
    fn new(test: &Test) -> Self {
        match test {
            Test::Compare(op, literal) => Self::compare(*op, literal),
            Test::In(literals) => {
                let mut keys: Vec<K> = literals.iter().filter_map(K::of).collect();
                keys.sort_unstable();
                Self::In(keys)
            }
            _ => Self::Constant(false),
        }
    }

    fn compare(op: Comparison, literal: &Literal) -> Self {
        match literal {
            Literal::Below => Self::Constant(matches!(
                op,
                Comparison::Ne | Comparison::Gt | Comparison::Ge
            )),
            Literal::Above => Self::Constant(matches!(
                op,
                Comparison::Ne | Comparison::Lt | Comparison::Le
            )),
            Literal::After(before) => match (op, K::of(before)) {
                (Comparison::Lt | Comparison::Le, Some(key)) => Self::Compare(Comparison::Le, key),
                (Comparison::Gt | Comparison::Ge, Some(key)) => Self::Compare(Comparison::Gt, key),
                _ => Self::Constant(op == Comparison::Ne),
            },
            literal => match K::of(literal) {
                Some(key) => Self::Compare(op, key),
                None => Self::Constant(false),
            },
        }
    }

    #[inline]
    fn holds(&self, key: K) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Compare(Comparison::Eq, other) => key == *other,
            Self::Compare(Comparison::Ne, other) => key != *other,
            Self::Compare(Comparison::Lt, other) => key < *other,
            Self::Compare(Comparison::Le, other) => key <= *other,
            Self::Compare(Comparison::Gt, other) => key > *other,
            Self::Compare(Comparison::Ge, other) => key >= *other,
            Self::In(keys) => keys.binary_search(&key).is_ok(),
        }
    }
}

fn bytes_hold(test: &Test, value: &[u8]) -> bool {
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
        Test::In(literals) => literals
            .iter()
            .any(|literal| with(literal).is_some_and(std::cmp::Ordering::is_eq)),
        _ => false,
    }
}
