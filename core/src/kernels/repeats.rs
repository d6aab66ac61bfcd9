use std::ops::Range;

use arrow_array::Array;
use arrow_buffer::ToByteSlice;
use xxhash_rust::xxh3::xxh3_64;

use super::column::{Column, pointed_values, pointers};
use super::error::{KernelError, filled, with_room};
use super::key::{Physical, each_bytes, each_native, with_native};
use super::row_order::RowOrder;
use crate::table::Table;

/// The maximum number of distinct values.
const MAX_VALUES: usize = 4096;
/// The maximum size of all distinct values in bytes, because each is copied.
const MAX_KEY_BYTES: usize = 16 << 20;
/// The number of hash slots; at most a quarter of them is used.
const NUM_SLOTS: usize = MAX_VALUES * 4;
/// An odd number. The upper bits of its product with a value depend on all bits of the value (2⁶⁴ / φ).
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
/// The number of rows after which values must have repeated.
const TRIED_ROWS: usize = 1024;

/// Which rows of a column hold the same value, for a column with few distinct values. Whatever is
/// derived from a value, above all its text, is then made only once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeats {
    /// For each position, the number of its value, from 0. Null counts as a value.
    pub codes: Vec<u32>,
    /// For each value, the first row of the table that holds it.
    pub rows: RowOrder,
}

impl Repeats {
    /// Reads the column at `index` at `positions` of a view. Returns `None` if values seldom repeat, or
    /// are booleans or nested.
    ///
    /// # Errors
    /// `bad_parameter` for a table that is too long, `out_of_memory`.
    pub fn read(
        table: &Table,
        rows: &RowOrder,
        index: usize,
        positions: Range<usize>,
    ) -> Result<Option<Self>, KernelError> {
        let column = Column::try_new(table, index)?;
        if matches!(column.physical(), Physical::Boolean | Physical::Unordered) {
            return Ok(None);
        }
        let end = positions.end.min(rows.len());
        let mut values = Values::try_new(end.saturating_sub(positions.start))?;
        column.each_run(rows, positions.start..end, |array, first, last| {
            match pointed_values(array) {
                None => values.add_all(array, first, last),
                Some(pointed) => {
                    for pointer in pointers(array, first, last) {
                        match pointer {
                            Some(index) => values.add_all(pointed, index, index + 1),
                            None => values.add(None),
                        }
                    }
                }
            }
            !values.are_many()
        });
        if values.are_many() {
            return Ok(None);
        }
        let first_rows = values
            .firsts
            .iter()
            .filter_map(|&position| rows.get(positions.start + position))
            .collect();
        Ok(Some(Self {
            codes: values.codes,
            rows: RowOrder::List(first_rows),
        }))
    }
}

/// Numbered values, with an open-addressing hash table.
struct Values {
    codes: Vec<u32>,
    /// For each value, the position of its first occurrence.
    firsts: Vec<usize>,
    keys: Vec<Option<Key>>,
    /// The size of all keys, including the one that exceeded the limit.
    key_bytes: usize,
    /// The number of a value + 1; 0 means free.
    slots: Vec<u32>,
}

/// The bytes of a value. Up to 16 bytes are stored as numbers, because those are compared much faster.
#[derive(PartialEq, Eq)]
enum Key {
    Short(ShortKey),
    Long(Box<[u8]>),
}

/// At most 16 bytes, as the first and the last ones. They can overlap.
#[derive(PartialEq, Eq, Clone, Copy)]
struct ShortKey {
    len: usize,
    first: u64,
    last: u64,
}

impl ShortKey {
    fn of(value: &[u8]) -> Option<Self> {
        let len = value.len();
        let (first, last) = if let (Some(first), Some(last)) =
            (value.first_chunk::<8>(), value.last_chunk())
        {
            (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        } else if let (Some(first), Some(last)) = (value.first_chunk::<4>(), value.last_chunk()) {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            (u64::from(first), u64::from(last))
        } else {
            let byte = |index: usize| value.get(index).copied().map_or(0, u64::from);
            (byte(0) | byte(1) << 8, byte(2))
        };
        (len <= 16).then_some(Self { len, first, last })
    }

    fn hash(self) -> usize {
        let mixed = self.first ^ self.last.rotate_left(23);
        (mixed.wrapping_mul(SPREAD) >> (u64::BITS - NUM_SLOTS.ilog2())) as usize
    }
}

impl Values {
    fn try_new(num_rows: usize) -> Result<Self, KernelError> {
        Ok(Self {
            codes: with_room(num_rows)?,
            firsts: Vec::new(),
            keys: Vec::new(),
            key_bytes: 0,
            slots: filled(0, NUM_SLOTS)?,
        })
    }

    /// Whether there are too many values, or values occur less than twice on average.
    fn are_many(&self) -> bool {
        let is_tried = self.codes.len() >= TRIED_ROWS;
        self.are_full() || is_tried && self.keys.len() * 2 > self.codes.len()
    }

    fn are_full(&self) -> bool {
        self.keys.len() >= MAX_VALUES || self.key_bytes > MAX_KEY_BYTES
    }

    fn add_all(&mut self, array: &dyn Array, start: usize, end: usize) {
        with_native!(Physical::of(array.data_type()), N => {
            each_native::<N>(array, start, end, |value| {
                self.add(value.as_ref().map(ToByteSlice::to_byte_slice));
            });
        }, _ => each_bytes(array, start, end, |value| self.add(value)));
    }

    fn add(&mut self, value: Option<&[u8]>) {
        let Some(value) = value else {
            return self.add_key(0, 0, Option::is_none, || None);
        };
        match ShortKey::of(value) {
            Some(short) => self.add_key(
                short.hash(),
                short.len,
                |key| matches!(key, Some(Key::Short(other)) if *other == short),
                || Some(Key::Short(short)),
            ),
            None => self.add_key(
                xxh3_64(value) as usize,
                value.len(),
                |key| matches!(key, Some(Key::Long(other)) if other.as_ref() == value),
                || Some(Key::Long(value.into())),
            ),
        }
    }

    #[inline]
    fn add_key(
        &mut self,
        hash: usize,
        key_bytes: usize,
        is_same: impl Fn(&Option<Key>) -> bool,
        make: impl FnOnce() -> Option<Key>,
    ) {
        if self.are_full() {
            return;
        }
        let mut slot = hash % NUM_SLOTS;
        loop {
            let taken = self.slots[slot];
            if taken == 0 {
                self.key_bytes += key_bytes;
                if self.are_full() {
                    return;
                }
                self.slots[slot] = self.keys.len() as u32 + 1;
                self.firsts.push(self.codes.len());
                self.codes.push(self.keys.len() as u32);
                self.keys.push(make());
                return;
            }
            if is_same(&self.keys[taken as usize - 1]) {
                self.codes.push(taken - 1);
                return;
            }
            slot = (slot + 1) % NUM_SLOTS;
        }
    }
}
