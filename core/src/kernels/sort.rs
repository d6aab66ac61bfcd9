use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::column::{Column, column_index, num_rows, pointed_values, pointers};
use super::error::{KernelError, with_room};
use super::key::{Key, Keyed, Physical, each_boolean, each_bytes, each_native, with_native};
use super::radix::Radix;
use super::row_order::RowOrder;
use super::text_sort::{TextSort, ranks};
use crate::table::Table;

/// Rows that one step reads.
const STEP_ROWS: usize = 32_768;

/// The maximum number of values of a dictionary whose keys a step reads at once. A value can take less
/// memory than its key, and a batch can refer to few values of a large dictionary.
const MAX_VALUE_KEYS: usize = 1 << 20;

/// One key of a sort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortKey {
    /// The column's name.
    pub column: String,
    /// Largest first.
    pub descending: bool,
}

/// Sorts rows. Nulls are last in both directions, with NaN before them. −0 equals 0, text is compared
/// by UTF-8 bytes, and ties keep their previous order.
///
/// The job does one stable sort for each key, beginning with the last key. A key of more than 64 bits
/// takes several sorts.
#[derive(Debug)]
pub struct SortJob {
    /// The remaining sorts; the next one is last.
    passes: Vec<Pass>,
    num_passes: usize,
    order: Vec<u32>,
    state: State,
    num_rows: usize,
}

/// One stable sort: by 64 bits of a column, or by its text.
#[derive(Debug, Clone)]
struct Pass {
    column: Column,
    descending: bool,
    limb: usize,
}

#[derive(Debug)]
enum State {
    /// Lists the rows of a view.
    List {
        base: Arc<RowOrder>,
    },
    Next,
    Gather(Gather),
    Split(Split),
    /// Separates the nulls of a text column.
    SplitText {
        pass: Pass,
        at: usize,
        rows: Vec<u32>,
        last: Vec<u32>,
    },
    Radix {
        radix: Radix,
        last: Vec<u32>,
    },
    Text {
        sort: TextSort,
        last: Vec<u32>,
    },
}

/// Reads a column's keys in row order.
#[derive(Debug)]
struct Gather {
    pass: Pass,
    chunk: usize,
    start: usize,
    keys: Vec<u64>,
    /// Whether the value of each row is null, NaN, or neither. Empty until a null or NaN occurs.
    kinds: Vec<Kind>,
    /// For text in dictionaries: the ranks of the values of each chunk's dictionary.
    ranks: Vec<(ArrayRef, Vec<u64>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Value,
    Nan,
    Null,
}

impl SortJob {
    /// A job that sorts `base`, which are rows of the current `table`.
    ///
    /// # Errors
    /// `unknown_column`, `bad_sort` for columns without an order, `out_of_memory`.
    pub fn try_new(
        table: &Table,
        base: Arc<RowOrder>,
        keys: &[SortKey],
    ) -> Result<Self, KernelError> {
        if keys.is_empty() {
            return Err(KernelError::new(
                "bad_sort",
                "the sort has no columns; name at least one",
            ));
        }
        let mut passes = Vec::new();
        for key in keys {
            let column = Column::try_new(table, column_index(table, &key.column)?)?;
            let physical = column.physical();
            if physical == Physical::Unordered {
                return Err(KernelError::new(
                    "bad_sort",
                    format!(
                        "column {:?} is {}, which has no order; sort by another column",
                        column.name,
                        crate::wire::type_name(&column.data_type)
                    ),
                ));
            }
            for limb in (0..physical.num_limbs().max(1)).rev() {
                passes.push(Pass {
                    column: column.clone(),
                    descending: key.descending,
                    limb,
                });
            }
        }
        Ok(Self {
            num_passes: passes.len(),
            passes,
            order: with_room(base.len())?,
            state: State::List { base },
            num_rows: num_rows(table)? as usize,
        })
    }

    /// Works for a few milliseconds at most. Returns true when everything is sorted.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub fn step(&mut self) -> Result<bool, KernelError> {
        self.state = match std::mem::replace(&mut self.state, State::Next) {
            State::Next => match self.passes.pop() {
                None => return Ok(true),
                Some(pass) => self.begin(pass)?,
            },
            State::List { base } => {
                let start = self.order.len();
                let end = base.len().min(start + STEP_ROWS);
                self.order.extend((start..end).map_while(|at| base.get(at)));
                if end < base.len() {
                    State::List { base }
                } else {
                    State::Next
                }
            }
            State::Gather(mut gather) => {
                if gather.step() {
                    let order = std::mem::take(&mut self.order);
                    State::Split(Split::try_new(gather, order)?)
                } else {
                    State::Gather(gather)
                }
            }
            State::Split(mut split) => {
                if split.step() {
                    split.nans.append(&mut split.nulls);
                    State::Radix {
                        radix: Radix::new(split.keys, split.rows),
                        last: split.nans,
                    }
                } else {
                    State::Split(split)
                }
            }
            State::SplitText {
                pass,
                mut at,
                mut rows,
                mut last,
            } => {
                let end = self.order.len().min(at + STEP_ROWS);
                for &row in &self.order[at..end] {
                    let (chunk, index) = pass.column.locate(row);
                    let kept = if chunk.is_null(index) {
                        &mut last
                    } else {
                        &mut rows
                    };
                    kept.push(row);
                }
                at = end;
                if at < self.order.len() {
                    State::SplitText {
                        pass,
                        at,
                        rows,
                        last,
                    }
                } else {
                    let sort = TextSort::try_new(pass.column, rows, pass.descending)?;
                    State::Text { sort, last }
                }
            }
            State::Radix { mut radix, last } => {
                if radix.step()? {
                    self.order = joined(radix.finish(), &last);
                    State::Next
                } else {
                    State::Radix { radix, last }
                }
            }
            State::Text { mut sort, last } => {
                if sort.step()? {
                    self.order = joined(sort.finish()?, &last);
                    State::Next
                } else {
                    State::Text { sort, last }
                }
            }
        };
        Ok(false)
    }

    /// The fraction of the work that is done, from 0 to 1.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        let within = match &self.state {
            State::List { .. } => return 0.0,
            State::Next | State::SplitText { .. } => 0.0,
            State::Split(_) => 0.2,
            State::Gather(gather) => 0.2 * gather.keys.len() as f64 / self.num_rows.max(1) as f64,
            State::Radix { radix, .. } => 0.2 + 0.8 * radix.fraction(),
            State::Text { sort, .. } => sort.fraction(),
        };
        let begun = self.num_passes - self.passes.len();
        let whole = match self.state {
            State::Next => begun,
            _ => begun - 1,
        };
        (whole as f64 + within) / self.num_passes as f64
    }

    /// The rows in sorted order.
    #[must_use]
    pub fn finish(self) -> RowOrder {
        RowOrder::List(self.order)
    }

    fn begin(&mut self, pass: Pass) -> Result<State, KernelError> {
        let chunks = pass.column.chunks();
        let is_text = pass.column.physical() == Physical::Bytes;
        let are_plain = chunks.iter().all(|chunk| pointed_values(chunk).is_none());
        if is_text && are_plain {
            return Ok(State::SplitText {
                pass,
                at: 0,
                rows: with_room(self.order.len())?,
                last: Vec::new(),
            });
        }
        Ok(State::Gather(Gather {
            ranks: if is_text { ranks(chunks)? } else { Vec::new() },
            pass,
            chunk: 0,
            start: 0,
            keys: with_room(self.num_rows)?,
            kinds: Vec::new(),
        }))
    }
}

/// Separates the rows that have keys from those without. The latter come last, NaN before null.
#[derive(Debug)]
struct Split {
    order: Vec<u32>,
    at: usize,
    /// Keys by row of the table.
    all_keys: Vec<u64>,
    kinds: Vec<Kind>,
    /// All bits are set to invert keys for a descending sort.
    flip: u64,
    /// The key of each row in `rows`.
    keys: Vec<u64>,
    rows: Vec<u32>,
    nans: Vec<u32>,
    nulls: Vec<u32>,
}

impl Split {
    fn try_new(gather: Gather, order: Vec<u32>) -> Result<Self, KernelError> {
        Ok(Self {
            keys: with_room(order.len())?,
            rows: with_room(order.len())?,
            at: 0,
            order,
            all_keys: gather.keys,
            kinds: gather.kinds,
            flip: if gather.pass.descending { u64::MAX } else { 0 },
            nans: Vec::new(),
            nulls: Vec::new(),
        })
    }

    /// Separates the next rows. Returns true when all rows are separated.
    fn step(&mut self) -> bool {
        let end = self.order.len().min(self.at + STEP_ROWS);
        for &row in &self.order[self.at..end] {
            let kind = self.kinds.get(row as usize).copied();
            match kind.unwrap_or(Kind::Value) {
                Kind::Value => {
                    self.keys.push(self.all_keys[row as usize] ^ self.flip);
                    self.rows.push(row);
                }
                Kind::Nan => self.nans.push(row),
                Kind::Null => self.nulls.push(row),
            }
        }
        self.at = end;
        end == self.order.len()
    }
}

fn joined(mut rows: Vec<u32>, last: &[u32]) -> Vec<u32> {
    rows.extend_from_slice(last);
    rows
}

impl Gather {
    /// Reads the next rows. Returns true when all rows are read.
    fn step(&mut self) -> bool {
        let chunks = self.pass.column.chunks();
        let Some(array) = chunks.get(self.chunk) else {
            return true;
        };
        let end = array.len().min(self.start + STEP_ROWS);
        let mut out = Keys {
            keys: &mut self.keys,
            kinds: &mut self.kinds,
        };
        match pointed_values(array) {
            None => put_keys(array, self.pass.limb, self.start, end, &mut out),
            Some(values) => {
                let known = self.ranks.iter().find(|(of, _)| Arc::ptr_eq(of, values));
                let (mut keys, mut kinds) = (Vec::new(), Vec::new());
                let is_small = known.is_none() && values.len() <= MAX_VALUE_KEYS;
                if is_small {
                    let mut value_keys = Keys {
                        keys: &mut keys,
                        kinds: &mut kinds,
                    };
                    put_keys(values, self.pass.limb, 0, values.len(), &mut value_keys);
                }
                for pointer in pointers(array, self.start, end) {
                    let Some(index) = pointer else {
                        out.push(Err(Kind::Null));
                        continue;
                    };
                    match known {
                        Some(_) if values.is_null(index) => out.push(Err(Kind::Null)),
                        Some((_, ranks)) => out.push(Ok(ranks[index])),
                        None if is_small => {
                            out.push(match kinds.get(index).copied().unwrap_or(Kind::Value) {
                                Kind::Value => Ok(keys[index]),
                                kind => Err(kind),
                            });
                        }
                        None => put_keys(values, self.pass.limb, index, index + 1, &mut out),
                    }
                }
            }
        }
        self.start = end;
        if end == array.len() {
            (self.chunk, self.start) = (self.chunk + 1, 0);
        }
        self.chunk == chunks.len()
    }
}

struct Keys<'a> {
    keys: &'a mut Vec<u64>,
    kinds: &'a mut Vec<Kind>,
}

impl Keys<'_> {
    #[inline]
    fn push(&mut self, key: Result<u64, Kind>) {
        match key {
            Ok(key) => {
                if !self.kinds.is_empty() {
                    self.kinds.push(Kind::Value);
                }
                self.keys.push(key);
            }
            Err(kind) => {
                if self.kinds.is_empty() {
                    self.kinds.resize(self.keys.len(), Kind::Value);
                }
                self.kinds.push(kind);
                self.keys.push(0);
            }
        }
    }
}

fn put_keys(array: &ArrayRef, limb: usize, start: usize, end: usize, out: &mut Keys) {
    let physical = Physical::of(array.data_type());
    with_native!(physical, N => {
        each_native::<N>(array, start, end, |value| {
            out.push(match value {
                None => Err(Kind::Null),
                Some(value) if value.is_nan() => Err(Kind::Nan),
                Some(value) => Ok(value.key().limb(limb)),
            });
        });
    }, _ => match physical {
        Physical::Boolean => each_boolean(array.as_boolean(), start, end, |value| {
            out.push(value.map(u64::from).ok_or(Kind::Null));
        }),
        // Text has ranks instead of keys.
        _ => each_bytes(array, start, end, |_| out.push(Err(Kind::Null))),
    });
}
