//! The sort of groups that are too small to be divided.

use std::ops::Range;

use super::Radix;
use crate::kernels::sort_item::{Item, insertion_sort, put_rows};
use crate::kernels::sort_key::Level;

/// Groups of a few items, with the level at which they differ.
pub(super) type Groups = Vec<(Range<usize>, Level)>;

impl Radix {
    /// Sorts items that have keys. Among rows with equal keys, the next bytes of texts decide; those of all of them are
    /// read together.
    pub(super) fn sort_read(&mut self, start: usize, len: usize, level: Level) {
        let (mut groups, mut next) = std::mem::take(&mut self.equal);
        groups.push((start..start + len, level));
        while !groups.is_empty() {
            for (group, level) in groups.drain(..) {
                insertion_sort(&mut self.items[group.clone()]);
                if !self.is_last(level) {
                    self.find_equal(group, level, &mut next);
                }
            }
            for (group, level) in &next {
                self.columns[level.column].read_texts_of(*level, &mut self.items[group.clone()]);
            }
            std::mem::swap(&mut groups, &mut next);
        }
        self.equal = (groups, next);
    }

    /// Adds the groups of rows with equal keys, if the next bytes of texts decide; sorts the others.
    fn find_equal(&mut self, group: Range<usize>, level: Level, groups: &mut Groups) {
        let mut first = group.start;
        while first < group.end {
            let key = self.items[first].key;
            let others = self.items[first..group.end].iter();
            let num_equal = others.take_while(|item| item.key == key).count();
            if num_equal > 1 {
                let next = self.columns[level.column].after(level, key);
                match next.column == level.column && self.columns[level.column].is_text() {
                    true => groups.push((first..first + num_equal, next)),
                    false => self.sort_small(first, num_equal, next),
                }
            }
            first += num_equal;
        }
    }

    /// Sorts a few items that have no keys of this level.
    pub(super) fn sort_small(&mut self, start: usize, len: usize, mut level: Level) {
        while len > 1 && level.column < self.columns.len() {
            let column = &self.columns[level.column];
            let block = &mut self.block;
            let items = &mut self.items[start..start + len];
            block.rows.clear();
            block.rows.extend(items.iter().map(|item| item.row));
            column.read(level, block);
            let mut num_values = 0;
            block.values().for_each(|(key, row)| {
                items[num_values] = Item { key, row };
                num_values += 1;
            });
            put_rows(&mut items[num_values..], block.null_rows());
            let next_column = Level::of_column(level.column + 1);
            let keys = items[..num_values].iter().map(|item| item.key);
            let (least, most) = (keys.clone().min(), keys.max());
            if num_values == 0 {
                level = next_column;
            } else if num_values == len && least == most {
                level = column.after(level, least.unwrap_or(0));
            } else {
                // Both parts are smaller than this one, or their rows differ.
                self.sort_read(start, num_values, level);
                return self.sort_small(start + num_values, len - num_values, next_column);
            }
        }
    }
}
