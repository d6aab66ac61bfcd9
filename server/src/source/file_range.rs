//! Ranges of a table's files, and their division into partitions of similar size.

use std::ops::Range;

/// Rows of one record batch or row group that are read together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileRange<T> {
    /// The record batch or row group.
    pub(super) at: T,
    /// The rows in it.
    pub(super) rows: Range<u64>,
    /// The approximate size of the rows in the file, in bytes.
    pub(super) num_bytes: u64,
}

impl<T> FileRange<T> {
    /// The number of rows.
    pub(super) fn num_rows(&self) -> u64 {
        self.rows.end - self.rows.start
    }
}

/// Divides rows `rows` of all `ranges` into partitions of at least `partition_bytes`, except for the
/// last one. Ranges outside `rows` are left out, and those at the edges are cut. No partition is empty.
pub(super) fn into_partitions<T: Clone>(
    ranges: impl Iterator<Item = FileRange<T>>,
    rows: Range<u64>,
    partition_bytes: u64,
) -> Vec<Vec<FileRange<T>>> {
    let mut partitions = Vec::new();
    let mut partition = Vec::new();
    let (mut num_bytes, mut first_row) = (0, 0);
    for mut range in ranges {
        let num_rows = range.num_rows();
        let start = rows.start.saturating_sub(first_row).min(num_rows);
        let end = rows.end.saturating_sub(first_row).min(num_rows);
        first_row += num_rows;
        if start >= end {
            continue;
        }
        // 128 bits, because the product of rows and bytes may exceed 64 bits.
        let share = u128::from(range.num_bytes) * u128::from(end - start) / u128::from(num_rows);
        num_bytes += share as u64;
        range.num_bytes = share as u64;
        range.rows = range.rows.start + start..range.rows.start + end;
        partition.push(range);
        if num_bytes >= partition_bytes {
            partitions.push(std::mem::take(&mut partition));
            num_bytes = 0;
        }
    }
    if !partition.is_empty() {
        partitions.push(partition);
    }
    partitions
}

#[cfg(test)]
mod tests {
    use super::{FileRange, into_partitions};

    #[test]
    fn every_range_of_rows_is_its_slice() {
        let sizes = [3, 0, 5, 1, 0, 4];
        let ranges = || {
            sizes.iter().enumerate().map(|(at, num_rows)| FileRange {
                at,
                rows: 10..10 + num_rows,
                num_bytes: num_rows * 100,
            })
        };
        let all: Vec<(usize, u64)> = ranges()
            .flat_map(|range| range.rows.map(move |row| (range.at, row)))
            .collect();
        for partition_bytes in [0, 250, 10_000] {
            for start in 0..=15 {
                for end in start..=15 {
                    let partitions = into_partitions(ranges(), start..end, partition_bytes);
                    assert!(partitions.iter().all(|partition| !partition.is_empty()));
                    let rows: Vec<_> = partitions
                        .into_iter()
                        .flatten()
                        .flat_map(|range| range.rows.map(move |row| (range.at, row)))
                        .collect();
                    let expected = &all[all.len().min(start as usize)..all.len().min(end as usize)];
                    assert_eq!(
                        rows, expected,
                        "{start}..{end} in partitions of {partition_bytes}"
                    );
                }
            }
        }
    }
}
