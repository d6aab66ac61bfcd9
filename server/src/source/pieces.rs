//! Cuts the rows of a table's files into parts: pieces in order, each part of about as many bytes.

use std::ops::Range;

/// Rows of one place in a file that are read together: of a record batch, or of a row group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece<T> {
    /// The place.
    pub(super) at: T,
    /// Rows of that place.
    pub(super) rows: Range<u64>,
    /// About how many bytes of the file they are.
    pub(super) num_bytes: u64,
}

impl<T> Piece<T> {
    /// How many rows it has.
    pub(super) fn num_rows(&self) -> u64 {
        self.rows.end - self.rows.start
    }
}

/// Rows `rows` of `pieces`, one after the other, as parts of at least `part_bytes` but for the last.
/// Pieces outside are left out, those at the edges cut. No part is empty.
pub(super) fn group<T: Clone>(
    pieces: impl Iterator<Item = Piece<T>>,
    rows: Range<u64>,
    part_bytes: u64,
) -> Vec<Vec<Piece<T>>> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let (mut num_bytes, mut first_row) = (0, 0);
    for mut piece in pieces {
        let num_rows = piece.num_rows();
        let start = rows.start.saturating_sub(first_row).min(num_rows);
        let end = rows.end.saturating_sub(first_row).min(num_rows);
        first_row += num_rows;
        if start >= end {
            continue;
        }
        // As 128 bits: rows times bytes may be more than 64 hold.
        let share = u128::from(piece.num_bytes) * u128::from(end - start) / u128::from(num_rows);
        num_bytes += share as u64;
        piece.num_bytes = share as u64;
        piece.rows = piece.rows.start + start..piece.rows.start + end;
        part.push(piece);
        if num_bytes >= part_bytes {
            parts.push(std::mem::take(&mut part));
            num_bytes = 0;
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{Piece, group};

    #[test]
    fn every_range_of_rows_is_its_slice() {
        let sizes = [3, 0, 5, 1, 0, 4];
        let pieces = || {
            sizes.iter().enumerate().map(|(at, num_rows)| Piece {
                at,
                rows: 10..10 + num_rows,
                num_bytes: num_rows * 100,
            })
        };
        let all: Vec<(usize, u64)> = pieces()
            .flat_map(|piece| piece.rows.map(move |row| (piece.at, row)))
            .collect();
        for part_bytes in [0, 250, 10_000] {
            for start in 0..=15 {
                for end in start..=15 {
                    let parts = group(pieces(), start..end, part_bytes);
                    assert!(parts.iter().all(|part| !part.is_empty()));
                    let rows: Vec<_> = parts
                        .into_iter()
                        .flatten()
                        .flat_map(|piece| piece.rows.map(move |row| (piece.at, row)))
                        .collect();
                    let expected = &all[all.len().min(start as usize)..all.len().min(end as usize)];
                    assert_eq!(rows, expected, "{start}..{end} in parts of {part_bytes}");
                }
            }
        }
    }
}
