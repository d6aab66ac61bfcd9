//! A range of rows.

use serde::{Deserialize, Serialize};

/// Rows `[first_row, first_row + limit)` of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RowRange {
    /// The number of the first row.
    #[serde(rename = "offset")]
    pub first_row: u64,
    /// Rows to take at most; `None` means all.
    pub limit: Option<u64>,
}

impl RowRange {
    /// `self` as a range inside `inner`, converted to the rows of the whole result.
    pub fn within(self, inner: Self) -> Self {
        let left = inner
            .limit
            .map(|limit| limit.saturating_sub(self.first_row));
        Self {
            first_row: inner.first_row.saturating_add(self.first_row),
            limit: left.into_iter().chain(self.limit).min(),
        }
    }

    /// The rest of the range, from `row` on.
    pub fn from_row(self, row: u64) -> Self {
        Self {
            first_row: row,
            limit: self.end().map(|end| end.saturating_sub(row)),
        }
    }

    /// The row after the last one; `None` if the range has no limit.
    pub fn end(self) -> Option<u64> {
        self.limit.map(|limit| self.first_row.saturating_add(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::RowRange;

    #[test]
    fn a_range_of_a_range() {
        let range = |first_row, limit| RowRange { first_row, limit };
        let inner = range(10, Some(20));
        assert_eq!(range(0, None).within(inner), inner);
        assert_eq!(range(5, Some(100)).within(inner), range(15, Some(15)));
        assert_eq!(range(5, Some(3)).within(inner), range(15, Some(3)));
        assert_eq!(range(50, None).within(inner), range(60, Some(0)));
        assert_eq!(range(5, None).within(range(1, None)), range(6, None));
    }
}
