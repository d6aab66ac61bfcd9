//! The cells of a view.

use std::ops::Range;

use super::row_order::RowOrder;
use crate::table::{CellWindow, Table, WindowError};
use crate::text::TimeZones;

impl Table {
    /// Like [`window`](Self::window), for the rows at positions `[start, end)` of a view.
    ///
    /// # Errors
    /// [`WindowError`] if a position or column does not exist, or if there is too much text.
    pub fn window_of(
        &self,
        view: &RowOrder,
        positions: Range<usize>,
        columns: &[usize],
        max_chars: usize,
        zones: &dyn TimeZones,
    ) -> Result<CellWindow, WindowError> {
        if positions.start > positions.end || positions.end > view.len() {
            return Err(WindowError::Rows {
                start: positions.start as u64,
                end: positions.end as u64,
                num_rows: view.len() as u64,
            });
        }
        if matches!(view, RowOrder::All(_)) {
            let rows = positions.start as u64..positions.end as u64;
            return self.window(rows, columns, max_chars, zones);
        }
        self.check_columns(columns)?;
        let rows = positions.map(|position| view.get(position).map_or(u64::MAX, u64::from));
        self.write_window(rows, columns, max_chars, zones)
    }
}
