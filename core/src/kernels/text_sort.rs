use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::ArrayRef;

use super::column::{Column, pointed_values};
use super::error::{KernelError, filled, with_room};
use super::key::each_bytes;

/// The number of rows that are sorted at once, and that one step merges.
const RUN_ROWS: usize = 4096;

/// The number of items that one step fills with zeros.
const ROOM_ITEMS: usize = 65_536;

/// A row with the first eight bytes of its text, which decide most comparisons.
#[derive(Debug, Clone, Copy, Default)]
struct Item {
    prefix: u64,
    row: u32,
    num_bytes: u32,
}

/// A stable sort of rows by their bytes: runs are sorted, then merged in pairs.
#[derive(Debug)]
pub(super) struct TextSort {
    column: Column,
    descending: bool,
    rows: Vec<u32>,
    items: Vec<Item>,
    merged: Vec<Item>,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Runs,
    /// Fills the output of the merges with zeros.
    Room,
    /// Merges the runs `[start, start + width)` and `[start + width, start + 2 width)`. `left` and
    /// `right` are the next positions in them.
    Merge {
        width: usize,
        start: usize,
        left: usize,
        right: usize,
    },
    Done,
}

impl TextSort {
    /// A sort of `rows` of a plain column; none of them may be null.
    pub(super) fn try_new(
        column: Column,
        rows: Vec<u32>,
        descending: bool,
    ) -> Result<Self, KernelError> {
        Ok(Self {
            items: with_room(rows.len())?,
            merged: Vec::new(),
            column,
            descending,
            rows,
            phase: Phase::Runs,
        })
    }

    /// Works for a few milliseconds at most. Returns true when everything is sorted.
    pub(super) fn step(&mut self) -> Result<bool, KernelError> {
        let len = self.rows.len();
        match self.phase {
            Phase::Runs => {
                let start = self.items.len();
                let end = len.min(start + RUN_ROWS);
                for &row in &self.rows[start..end] {
                    let bytes = bytes(&self.column, row);
                    self.items.push(Item {
                        prefix: prefix(bytes),
                        row,
                        num_bytes: bytes.len() as u32,
                    });
                }
                let order = Order {
                    column: &self.column,
                    descending: self.descending,
                };
                self.items[start..].sort_by(|a, b| order.compare(*a, *b));
                if end == len {
                    self.phase = if len <= RUN_ROWS {
                        Phase::Done
                    } else {
                        self.merged = with_room(len)?;
                        Phase::Room
                    };
                }
            }
            Phase::Room => {
                let room = len.min(self.merged.len() + ROOM_ITEMS);
                self.merged.resize(room, Item::default());
                if room == len {
                    self.phase = Phase::Merge {
                        width: RUN_ROWS,
                        start: 0,
                        left: 0,
                        right: RUN_ROWS,
                    };
                }
            }
            Phase::Merge {
                width,
                start,
                left,
                right,
            } => self.merge(width, start, left, right),
            Phase::Done => {}
        }
        Ok(matches!(self.phase, Phase::Done))
    }

    fn merge(&mut self, width: usize, start: usize, mut left: usize, mut right: usize) {
        let len = self.items.len();
        let middle = len.min(start + width);
        let end = len.min(start + 2 * width);
        let order = Order {
            column: &self.column,
            descending: self.descending,
        };
        let mut to = left + right - middle;
        let stop = end.min(to + RUN_ROWS);
        while to < stop {
            let is_left = right >= end
                || left < middle && order.compare(self.items[left], self.items[right]).is_le();
            let from = if is_left { &mut left } else { &mut right };
            self.merged[to] = self.items[*from];
            *from += 1;
            to += 1;
        }
        self.phase = if to < end {
            Phase::Merge {
                width,
                start,
                left,
                right,
            }
        } else if end < len {
            let right = len.min(end + width);
            Phase::Merge {
                width,
                start: end,
                left: end,
                right,
            }
        } else {
            std::mem::swap(&mut self.items, &mut self.merged);
            if 2 * width >= len {
                Phase::Done
            } else {
                let width = 2 * width;
                Phase::Merge {
                    width,
                    start: 0,
                    left: 0,
                    right: width,
                }
            }
        };
    }

    pub(super) fn fraction(&self) -> f64 {
        let len = self.rows.len().max(1) as f64;
        let runs = (len / RUN_ROWS as f64).log2().max(1.0) + 2.0;
        match self.phase {
            Phase::Runs => 2.0 * self.items.len() as f64 / len / runs,
            Phase::Room => 2.0 / runs,
            Phase::Merge { width, start, .. } => {
                let whole = (width as f64 / RUN_ROWS as f64).log2();
                ((2.0 + whole + start as f64 / len) / runs).min(1.0)
            }
            Phase::Done => 1.0,
        }
    }

    /// The rows in sorted order.
    pub(super) fn finish(mut self) -> Result<Vec<u32>, KernelError> {
        for (row, item) in self.rows.iter_mut().zip(&self.items) {
            *row = item.row;
        }
        Ok(self.rows)
    }
}

struct Order<'a> {
    column: &'a Column,
    descending: bool,
}

impl Order<'_> {
    fn compare(&self, a: Item, b: Item) -> Ordering {
        let order = a.prefix.cmp(&b.prefix).then_with(|| {
            // Of texts with equal prefixes and at most 8 bytes, the one with fewer zeros comes first.
            if a.num_bytes <= 8 && b.num_bytes <= 8 {
                return a.num_bytes.cmp(&b.num_bytes);
            }
            bytes(self.column, a.row).cmp(bytes(self.column, b.row))
        });
        if self.descending {
            order.reverse()
        } else {
            order
        }
    }
}

fn bytes(column: &Column, row: u32) -> &[u8] {
    let (array, index) = column.locate(row);
    let mut found: &[u8] = &[];
    each_bytes(array, index, index + 1, |bytes| {
        found = bytes.unwrap_or_default();
    });
    found
}

/// The first eight bytes as a number with the same order. Short texts are padded with zeros.
fn prefix(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = bytes.len().min(8);
    first[..len].copy_from_slice(&bytes[..len]);
    u64::from_be_bytes(first)
}

/// For the values of each dictionary (or of run-end encoding) in the chunks: the rank of each value
/// among all of them. Equal texts have equal ranks. A plain chunk is ranked as if it were a dictionary.
pub(super) fn ranks(chunks: &[ArrayRef]) -> Result<Vec<(ArrayRef, Vec<u64>)>, KernelError> {
    let mut dictionaries: Vec<(ArrayRef, Vec<u64>)> = Vec::new();
    for chunk in chunks {
        let values = pointed_values(chunk).unwrap_or(chunk);
        // Dictionaries seldom change, so the search begins with the last one.
        if !dictionaries
            .iter()
            .rev()
            .any(|(known, _)| Arc::ptr_eq(known, values))
        {
            dictionaries.push((Arc::clone(values), filled(0, values.len())?));
        }
    }
    let mut entries = with_room(dictionaries.iter().map(|(values, _)| values.len()).sum())?;
    for (dictionary, (values, _)) in dictionaries.iter().enumerate() {
        let mut index = 0;
        each_bytes(values, 0, values.len(), |bytes| {
            entries.push((bytes.unwrap_or_default(), dictionary, index));
            index += 1;
        });
    }
    entries.sort_unstable();
    let mut ranked = with_room(entries.len())?;
    let mut rank = 0;
    for (position, entry) in entries.iter().enumerate() {
        if position > 0 && entries[position - 1].0 != entry.0 {
            rank += 1;
        }
        ranked.push((entry.1, entry.2, rank));
    }
    drop(entries);
    for (dictionary, index, rank) in ranked {
        dictionaries[dictionary].1[index] = rank;
    }
    Ok(dictionaries)
}
