use std::ops::Range;

use arrow_array::Array;
use arrow_buffer::ToByteSlice;

use super::column::{Column, pointed_values, pointers};
use super::error::{KernelError, with_room};
use super::key::{Physical, each_bytes, each_native, with_native};
use super::numbered::Numbered;
use super::row_order::RowOrder;
use crate::table::Table;

/// The maximum number of distinct values.
const MAX_VALUES: usize = 4096;
/// The maximum size of all distinct values in bytes, because each is copied.
const MAX_KEY_BYTES: usize = 16 << 20;
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
        let end = positions.end.min(rows.len());
        let column = Column::of_view(table, index, rows, &(positions.start..end))?;
        if matches!(column.physical(), Physical::Boolean | Physical::Unordered) {
            return Ok(None);
        }
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

/// The values so far, and the number of each row's.
struct Values {
    codes: Vec<u32>,
    /// For each value, the position of its first occurrence.
    firsts: Vec<usize>,
    /// The values besides null.
    known: Numbered,
    /// For each of them, its number among the values with null.
    numbers: Vec<u32>,
    null: Option<u32>,
    is_full: bool,
}

impl Values {
    fn try_new(num_rows: usize) -> Result<Self, KernelError> {
        Ok(Self {
            codes: with_room(num_rows)?,
            firsts: Vec::new(),
            known: Numbered::default(),
            numbers: Vec::new(),
            null: None,
            is_full: false,
        })
    }

    /// Whether there are too many values, or values occur less than twice on average.
    fn are_many(&self) -> bool {
        let is_tried = self.codes.len() >= TRIED_ROWS;
        self.is_full || is_tried && self.firsts.len() * 2 > self.codes.len()
    }

    fn add_all(&mut self, array: &dyn Array, start: usize, end: usize) {
        with_native!(Physical::of(array.data_type()), N => {
            each_native::<N>(array, start, end, |value| {
                self.add(value.as_ref().map(ToByteSlice::to_byte_slice));
            });
        }, _ => each_bytes(array, start, end, |value| self.add(value)));
    }

    fn add(&mut self, value: Option<&[u8]>) {
        let number = match value {
            None => self.null,
            Some(value) => self.known.get(value).map(|known| self.numbers[known]),
        };
        if let Some(number) = number {
            self.codes.push(number);
            return;
        }
        let value_bytes = value.map_or(0, <[u8]>::len);
        self.is_full |= self.firsts.len() + 1 >= MAX_VALUES
            || self.known.num_bytes() + value_bytes > MAX_KEY_BYTES;
        if self.is_full {
            return;
        }
        let number = self.firsts.len() as u32;
        match value {
            None => self.null = Some(number),
            Some(value) => {
                self.known.add(value);
                self.numbers.push(number);
            }
        }
        self.firsts.push(self.codes.len());
        self.codes.push(number);
    }
}
