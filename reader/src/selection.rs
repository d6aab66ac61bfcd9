//! Rows of a file that a reader is asked for, in their order.

use std::ops::Range;

use crate::error::{ReadError, Result};

/// Rows in ascending order, as runs of numbers that follow each other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// Not empty, and not side by side.
    runs: Vec<Range<u64>>,
    /// How many rows are selected before each run, and in all.
    ranks: Vec<u64>,
}

impl Selection {
    pub(crate) fn range(rows: Range<u64>) -> Self {
        let mut selection = Self::default();
        selection.push(rows);
        selection.close();
        selection
    }

    /// The rows with these numbers, which ascend.
    ///
    /// # Errors
    /// The numbers do not ascend, or a file of `num_rows` rows lacks one.
    pub(crate) fn rows(numbers: impl IntoIterator<Item = u64>, num_rows: u64) -> Result<Self> {
        let mut selection = Self::default();
        for row in numbers {
            if row >= num_rows || selection.runs.last().is_some_and(|run| run.end > row) {
                return Err(ReadError::invalid(format!(
                    "row {row} is not in the file, or not after the rows before it"
                )));
            }
            selection.push(row..row + 1);
        }
        selection.close();
        Ok(selection)
    }

    fn push(&mut self, rows: Range<u64>) {
        match self.runs.last_mut() {
            Some(last) if last.end == rows.start => last.end = rows.end,
            _ if rows.is_empty() => {}
            _ => self.runs.push(rows),
        }
    }

    fn close(&mut self) {
        let mut rank = 0;
        self.ranks = vec![0];
        for run in &self.runs {
            rank += run.end - run.start;
            self.ranks.push(rank);
        }
    }

    /// How many rows are selected.
    pub(crate) fn len(&self) -> u64 {
        self.ranks.last().copied().unwrap_or(0)
    }

    /// The number in the file of the selected row `rank`; past the last one, the row behind it.
    pub(crate) fn row(&self, rank: u64) -> u64 {
        let run = self.ranks.partition_point(|before| *before <= rank);
        match run.checked_sub(1).and_then(|run| self.runs.get(run)) {
            Some(rows) => rows.start + rank - self.ranks[run - 1],
            None => self.runs.last().map_or(0, |rows| rows.end),
        }
    }

    /// How many rows before the file's row `row` are selected.
    pub(crate) fn rank(&self, row: u64) -> u64 {
        let next = self.runs.partition_point(|run| run.end <= row);
        let inside = self
            .runs
            .get(next)
            .map_or(0, |run| row.saturating_sub(run.start));
        self.ranks[next] + inside
    }

    /// Whether a row of a range of the file is selected.
    pub(crate) fn has_any(&self, rows: &Range<u64>) -> bool {
        let next = self.runs.partition_point(|run| run.end <= rows.start);
        self.runs.get(next).is_some_and(|run| run.start < rows.end)
    }

    /// The selected rows of a range of the file.
    pub(crate) fn within(&self, rows: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let next = self.runs.partition_point(|run| run.end <= rows.start);
        let runs = self.runs[next..].iter();
        runs.take_while(move |run| run.start < rows.end)
            .map(move |run| run.start.max(rows.start)..run.end.min(rows.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_rows_correspond() -> Result<()> {
        let numbers = [2, 3, 4, 9, 11, 12];
        let selection = Selection::rows(numbers, 13)?;
        assert_eq!(selection.len(), 6);
        for (rank, row) in numbers.into_iter().enumerate() {
            assert_eq!(selection.row(rank as u64), row);
            assert_eq!(selection.rank(row), rank as u64);
        }
        assert_eq!(selection.row(6), 13);
        assert_eq!([0, 6, 10, 20].map(|row| selection.rank(row)), [0, 3, 4, 6]);
        assert!(!selection.has_any(&(5..9)) && selection.has_any(&(5..10)));
        assert_eq!(
            selection.within(3..12).collect::<Vec<_>>(),
            [3..5, 9..10, 11..12]
        );
        assert!(Selection::rows([3, 3], 9).is_err() && Selection::rows([9], 9).is_err());
        assert_eq!(Selection::range(4..4).len(), 0);
        Ok(())
    }
}
