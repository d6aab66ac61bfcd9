use std::sync::Arc;

use serde_json::json;

use super::column::{Column, column_index, column_names};
use super::error::KernelError;
use super::row_order::RowOrder;
use crate::semantics::{Pattern, check_find, may_hold};
use crate::table::Table;
use crate::text::{CellKind, CellText, TimeZones, write_cell};

/// Cells that one step searches.
const STEP_CELLS: usize = 4096;

/// Bytes of text after which a step ends, because nested values can be long.
const STEP_BYTES: usize = 64 << 10;

/// Maximum number of characters that are searched in a cell. The text of a nested value can be larger
/// than its memory.
const MAX_CHARS: usize = 16 << 20;

/// The parameters of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindRequest {
    /// The text to find in the displayed text of a cell.
    pub text: String,
    /// The first position to search.
    pub from: usize,
    /// The maximum number of rows to find.
    pub limit: usize,
    /// Names of the columns to search; `None` means all.
    pub columns: Option<Vec<String>>,
    /// Whether upper and lower case differ.
    pub match_case: bool,
}

/// Searches the cells of a view for a text, row by row.
#[derive(Debug)]
pub struct FindJob {
    base: Arc<RowOrder>,
    columns: Vec<Column>,
    pattern: Pattern,
    limit: usize,
    from: usize,
    next: usize,
    matches: Vec<(usize, Vec<usize>)>,
}

impl FindJob {
    /// A job that searches `base`, which are rows of the current `table`.
    ///
    /// # Errors
    /// `bad_parameter`, `unknown_column`.
    pub fn try_new(
        table: &Table,
        base: Arc<RowOrder>,
        request: &FindRequest,
    ) -> Result<Self, KernelError> {
        check_find(&request.text, request.limit)
            .map_err(|refusal| KernelError::refused("bad_parameter", &refusal))?;
        let mut indices: Vec<usize> = match &request.columns {
            None => (0..table.columns().len()).collect(),
            Some(names) => names
                .iter()
                .map(|name| column_index(table, name))
                .collect::<Result<_, _>>()?,
        };
        indices.sort_unstable();
        indices.dedup();
        let mut names = column_names(table);
        let mut columns = Vec::new();
        for index in indices {
            let mut column = Column::try_new(table, index)?;
            column.name = std::mem::take(&mut names[index]);
            if column.extension.is_some() || may_hold(&column.data_type, &request.text) {
                columns.push(column);
            }
        }
        Ok(Self {
            columns,
            pattern: Pattern::new(&request.text, request.match_case),
            limit: request.limit,
            from: request.from.min(base.len()),
            next: request.from.min(base.len()),
            base,
            matches: Vec::new(),
        })
    }

    /// Works for about a millisecond. Returns true at the end, or when enough rows are found.
    pub fn step(&mut self, zones: &dyn TimeZones) -> bool {
        if self.columns.is_empty() {
            self.next = self.base.len();
        }
        let num_rows = (STEP_CELLS / self.columns.len().max(1)).max(1);
        let end = self.base.len().min(self.next + num_rows);
        let (mut text, mut letters) = (String::new(), Vec::new());
        let mut num_bytes = 0;
        while self.next < end && self.matches.len() < self.limit && num_bytes < STEP_BYTES {
            let Some(row) = self.base.get(self.next) else {
                break;
            };
            let mut found = Vec::new();
            for (position, column) in self.columns.iter().enumerate() {
                let (array, index) = column.locate(row);
                text.clear();
                let kind = write_cell(
                    array,
                    column.extension,
                    index,
                    zones,
                    &mut CellText::new(&mut text, MAX_CHARS),
                );
                num_bytes += text.len();
                if kind != CellKind::Null && self.pattern.is_in(&text, &mut letters) {
                    found.push(position);
                }
            }
            if !found.is_empty() {
                self.matches.push((self.next, found));
            }
            self.next += 1;
        }
        self.next >= self.base.len() || self.matches.len() >= self.limit
    }

    /// The fraction of the work that is done, from 0 to 1.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        let num_rows = self.base.len() - self.from;
        (self.next - self.from) as f64 / num_rows.max(1) as f64
    }

    /// `{"matches":[{"row","columns"}],"next","searched"}`, as the server answers. `row` is the
    /// position in the view. `next` is null if all rows were searched.
    #[must_use]
    pub fn finish(self) -> String {
        let name = |position: &usize| self.columns[*position].name.as_str();
        let matches: Vec<_> = self
            .matches
            .iter()
            .map(|(row, columns)| {
                let columns: Vec<&str> = columns.iter().map(name).collect();
                json!({"row": row, "columns": columns})
            })
            .collect();
        let next = (self.next < self.base.len()).then_some(self.next);
        let searched = self.next - self.from;
        json!({"matches": matches, "next": next, "searched": searched}).to_string()
    }
}
