//! A range of rows.

use serde::{Deserialize, Serialize};

/// Rows `[offset, offset + limit)` of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RowRange {
    /// Rows to leave out at the front.
    pub offset: u64,
    /// Rows to take at most; `None` means all.
    pub limit: Option<u64>,
}

impl RowRange {
    /// Rows `self` of the rows `inner` of a result, as rows of that result.
    pub fn within(self, inner: Self) -> Self {
        let left = inner.limit.map(|limit| limit.saturating_sub(self.offset));
        let limit = match (left, self.limit) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self {
            offset: inner.offset.saturating_add(self.offset),
            limit,
        }
    }

    /// Rows of the result after which nothing more is needed.
    pub fn end(self) -> Option<u64> {
        self.limit.map(|limit| self.offset.saturating_add(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::RowRange;

    #[test]
    fn a_range_of_a_range() {
        let range = |offset, limit| RowRange { offset, limit };
        let inner = range(10, Some(20));
        assert_eq!(range(0, None).within(inner), inner);
        assert_eq!(range(5, Some(100)).within(inner), range(15, Some(15)));
        assert_eq!(range(5, Some(3)).within(inner), range(15, Some(3)));
        assert_eq!(range(50, None).within(inner), range(60, Some(0)));
        assert_eq!(range(5, None).within(range(1, None)), range(6, None));
    }
}
