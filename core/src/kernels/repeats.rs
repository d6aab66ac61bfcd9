use std::ops::Range;

use arrow_array::Array;
use arrow_buffer::ToByteSlice;
use xxhash_rust::xxh3::xxh3_64;

use super::column::{Column, pointed_values, pointers};
use super::error::{KernelError, filled, with_room};
use super::key::{Physical, each_bytes, each_native, with_native};
use super::rows::Rows;
use crate::table::Table;

/// The most different values that are told apart.
const MAX_VALUES: usize = 4096;
/// The most bytes of them, since each is copied.
const MAX_KEY_BYTES: usize = 16 << 20;
/// At most a quarter of them is used.
const NUM_SLOTS: usize = MAX_VALUES * 4;
/// After so many rows, values must repeat.
const TRIED_ROWS: usize = 1024;

/// Which rows of a column hold the same value, where few different ones are there: what is made of a
/// value, its text above all, is then made once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeats {
    /// For each position the number of its value, from 0; null is a value of its own.
    pub codes: Vec<u32>,
    /// For each value the first of the table's rows that holds it.
    pub rows: Rows,
}

impl Repeats {
    /// Of the column at `index` at positions `[start, end)` of a view; `None` where values seldom
    /// repeat, or are nested.
    ///
    /// # Errors
    /// `bad_parameter` for a table that is too long, `out_of_memory`.
    pub fn read(
        table: &Table,
        rows: &Rows,
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
            rows: Rows::List(first_rows),
        }))
    }
}

/// Values by number, and a table of their hashes with open addressing.
struct Values {
    codes: Vec<u32>,
    /// For each value the position where it came first.
    firsts: Vec<usize>,
    keys: Vec<Option<Box<[u8]>>>,
    /// Of all keys, and of the one that was too many.
    key_bytes: usize,
    /// A value's number + 1; 0 is free.
    slots: Vec<u32>,
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

    /// More than are told apart, or so many that each is hardly there twice.
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

    fn add(&mut self, key: Option<&[u8]>) {
        if self.are_full() {
            return;
        }
        let mut slot = xxh3_64(key.unwrap_or_default()) as usize % NUM_SLOTS;
        loop {
            let taken = self.slots[slot];
            if taken == 0 {
                self.key_bytes += key.map_or(0, <[u8]>::len);
                if self.are_full() {
                    return;
                }
                self.slots[slot] = self.keys.len() as u32 + 1;
                self.firsts.push(self.codes.len());
                self.codes.push(self.keys.len() as u32);
                self.keys.push(key.map(Into::into));
                return;
            }
            if self.keys[taken as usize - 1].as_deref() == key {
                self.codes.push(taken - 1);
                return;
            }
            slot = (slot + 1) % NUM_SLOTS;
        }
    }
}
