use std::ops::Range;
use std::sync::Arc;

use super::column::{Column, column_index, num_rows};
use super::error::{KernelError, with_room};
use super::key::Physical;
use super::radix::Radix;
use super::ranking::Ranking;
use super::row_order::RowOrder;
use super::sort_key::SortColumn;
use crate::table::Table;

/// One key of a sort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortKey {
    /// The column's name.
    pub column: String,
    /// Largest first.
    pub descending: bool,
}

/// Sorts rows. Nulls are last in both directions, with NaN before them. −0 equals 0, text is compared
/// by UTF-8 bytes, and ties keep their previous order.
#[derive(Debug)]
pub struct SortJob {
    radix: Radix,
    /// Dictionaries are ranked first.
    ranking: Option<Box<Ranking>>,
    num_ranked: usize,
    num_rankings: usize,
}

/// The fraction of the work that ranking dictionaries is assumed to be.
const RANKING_FRACTION: f64 = 0.2;

impl SortJob {
    /// A job that sorts `base`, which are rows of the current `table`.
    ///
    /// # Errors
    /// `unknown_column`, `bad_sort` for columns without an order, `out_of_memory`.
    pub fn try_new(
        table: &Table,
        base: Arc<RowOrder>,
        keys: &[SortKey],
    ) -> Result<Self, KernelError> {
        if keys.is_empty() {
            return Err(KernelError::new(
                "bad_sort",
                "the sort has no columns; name at least one",
            ));
        }
        num_rows(table)?;
        let mut columns = Vec::new();
        for key in keys {
            let column = Column::try_new(table, column_index(table, &key.column)?)?;
            if column.physical() == Physical::Unordered {
                return Err(KernelError::new(
                    "bad_sort",
                    format!(
                        "column {:?} is {}, which has no order; sort by another column",
                        column.name,
                        crate::wire::type_name(&column.data_type)
                    ),
                ));
            }
            columns.push(SortColumn::new(column, key.descending));
        }
        if matches!(*base, RowOrder::All(_)) && columns[0].is_plain() {
            columns[0].assume_narrow();
        }
        let num_rankings = columns.iter().filter_map(SortColumn::unranked).count();
        Ok(Self {
            radix: Radix::try_new(columns, base)?,
            ranking: None,
            num_ranked: 0,
            num_rankings,
        })
    }

    /// Works for a few milliseconds at most. Returns true when everything is sorted.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub fn step(&mut self) -> Result<bool, KernelError> {
        let columns = self.radix.columns_mut();
        if columns.iter_mut().any(|column| !column.narrow()) {
            return Ok(false);
        }
        let Some(column) = columns
            .iter_mut()
            .find(|column| column.unranked().is_some())
        else {
            return self.radix.step();
        };
        let mut ranking = match self.ranking.take() {
            Some(ranking) => ranking,
            None => Box::new(Ranking::try_new(column.unranked().unwrap_or_default())?),
        };
        if ranking.step()? {
            column.set_ranks(ranking.finish());
            self.num_ranked += 1;
        } else {
            self.ranking = Some(ranking);
        }
        Ok(false)
    }

    /// The fraction of the work that is done, from 0 to 1.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        if self.num_rankings == 0 {
            return self.radix.fraction();
        }
        let ranking = self.ranking.as_ref();
        let ranked = self.num_ranked as f64 + ranking.map_or(0.0, |ranking| ranking.fraction());
        let ranked = ranked / self.num_rankings as f64;
        RANKING_FRACTION * ranked + (1.0 - RANKING_FRACTION) * self.radix.fraction()
    }

    /// The number of rows at the start of the order that have their places for good.
    #[must_use]
    pub fn num_placed(&self) -> usize {
        self.radix.placed().len()
    }

    /// The rows at `positions`, as far as they have their places.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub fn placed(&self, positions: Range<usize>) -> Result<RowOrder, KernelError> {
        let placed = self.radix.placed();
        let end = positions.end.min(placed.len());
        let rows = &placed[positions.start.min(end)..end];
        let mut copy = with_room(rows.len())?;
        copy.extend_from_slice(rows);
        Ok(RowOrder::List(copy))
    }

    /// The rows in sorted order.
    #[must_use]
    pub fn finish(self) -> RowOrder {
        RowOrder::List(self.radix.finish())
    }
}
