use std::cell::RefCell;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use serde_json::json;

use super::column::{Column, column_index, column_names, push_codes};
use super::error::KernelError;
use super::row_order::RowOrder;
use super::texts::Texts;
use crate::semantics::{Pattern, check_find, may_hold, value_type};
use crate::table::Table;
use crate::text::{CellKind, CellText, Extension, TimeZones, write_cell};

/// Cells that one step searches, of those whose text has to be written.
const STEP_CELLS: usize = 4096;

/// Rows that one step searches at most.
const STEP_ROWS: usize = 32_768;

/// Bytes of text after which a step ends.
const STEP_BYTES: usize = 256 << 10;

/// Maximum number of characters that are searched in a cell whose text has to be written. The text of a
/// nested value can be larger than its memory.
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
    search: Search,
    limit: usize,
    from: usize,
    next: usize,
    matches: Vec<(usize, Vec<usize>)>,
}

/// A text, and the columns that are searched for it.
#[derive(Debug)]
pub(super) struct Search {
    columns: Vec<Searched>,
    pattern: Pattern,
}

impl Search {
    /// A search of the columns with these names, or of all. Those that cannot hold the text are left out.
    ///
    /// # Errors
    /// `unknown_column`.
    pub(super) fn try_new(
        table: &Table,
        text: &str,
        columns: Option<&[impl AsRef<str>]>,
        match_case: bool,
    ) -> Result<Self, KernelError> {
        let mut is_searched = vec![columns.is_none(); table.columns().len()];
        for name in columns.into_iter().flatten() {
            is_searched[column_index(table, name.as_ref())?] = true;
        }
        let mut names = column_names(table);
        let mut columns = Vec::new();
        for index in (0..is_searched.len()).filter(|&index| is_searched[index]) {
            let mut column = Column::try_new(table, index)?;
            column.name = std::mem::take(&mut names[index]);
            if column.extension.is_some() || may_hold(&column.data_type, text) {
                columns.push(Searched::new(column));
            }
        }
        let pattern = Pattern::new(text, match_case);
        Ok(Self { columns, pattern })
    }

    /// How many rows a step searches at most.
    pub(super) fn num_step_rows(&self) -> usize {
        let cells = self.columns.iter();
        let cells = cells.filter(|searched| matches!(searched.access, Access::Cells));
        STEP_ROWS.min(STEP_CELLS / cells.count().max(1)).max(1)
    }

    /// Visits the indexes of those of `rows` that have a cell which contains the text.
    pub(super) fn each_match(
        &self,
        rows: &[u32],
        zones: &dyn TimeZones,
        mut visit: impl FnMut(usize),
    ) {
        let mut found = Vec::new();
        for searched in &self.columns {
            let mut num_searched = 0;
            while num_searched < rows.len() {
                let rows = &rows[num_searched..];
                let num_rows = searched.search(&self.pattern, rows, zones, &mut found);
                found
                    .drain(..)
                    .for_each(|index: usize| visit(num_searched + index));
                num_searched += num_rows;
            }
        }
    }
}

/// A column to search.
#[derive(Debug)]
struct Searched {
    column: Column,
    access: Access,
}

/// How cells are searched.
#[derive(Debug)]
enum Access {
    /// In the bytes of each chunk.
    Texts(Vec<Texts>),
    /// Once for each text of a dictionary: whether it contains the pattern, as far as they were searched.
    Values(Vec<(Texts, RefCell<Vec<bool>>)>),
    /// In the written text of each cell.
    Cells,
}

impl Searched {
    fn new(column: Column) -> Self {
        let values = value_type(&column.data_type);
        let access = if column.extension.is_some() || !values.is_string() {
            Access::Cells
        } else if column.dictionaries().is_empty() {
            Access::Texts(column.chunks().iter().map(Texts::of).collect())
        } else if *values == DataType::Utf8View {
            // Many long texts can share a few bytes, so they are searched only in the rows.
            Access::Cells
        } else {
            let dictionaries = column.dictionaries().iter();
            let values = dictionaries.map(|values| (Texts::of(values), RefCell::default()));
            Access::Values(values.collect())
        };
        Self { column, access }
    }

    /// How many of `rows` can be searched in a step, which is at least one.
    fn num_step_rows(&self, rows: &[u32]) -> usize {
        let Access::Texts(texts) = &self.access else {
            return rows.len();
        };
        let (mut num_rows, mut left_bytes) = (0, STEP_BYTES);
        self.column.each_chunk_run(rows, |chunk, first, last| {
            num_rows += texts[chunk].num_within(first..last, &mut left_bytes);
        });
        num_rows.max(1)
    }

    /// Appends the indexes of those of `rows` whose cells contain the pattern. Returns how many rows it
    /// searched; the texts of the others would make the step too long.
    #[inline(never)]
    fn search(
        &self,
        pattern: &Pattern,
        rows: &[u32],
        zones: &dyn TimeZones,
        found: &mut Vec<usize>,
    ) -> usize {
        let chunks = self.column.chunks();
        let (mut lower, mut codes) = (Vec::new(), Vec::new());
        let mut cells = Cells::new(pattern, self.column.extension, zones);
        let (mut at, mut is_full) = (0, false);
        self.column.each_chunk_run(rows, |chunk, first, last| {
            if is_full {
                return;
            }
            let before = at;
            let mut find = |index: usize| found.push(before + index - first);
            match &self.access {
                Access::Texts(texts) => {
                    texts[chunk].find(first..last, pattern, &mut lower, find);
                }
                Access::Values(known) => {
                    let dictionary = self.column.dictionary_of(chunk).unwrap_or(0);
                    let (texts, answers) = &known[dictionary];
                    let answers = &mut answers.borrow_mut();
                    let num_values = self.column.dictionaries()[dictionary].len();
                    is_full = !search_values(texts, num_values, pattern, answers);
                    if is_full {
                        return;
                    }
                    codes.clear();
                    push_codes(&chunks[chunk], first, last, &mut codes);
                    for (index, code) in (first..).zip(&codes) {
                        if answers.get(*code as usize) == Some(&true) {
                            find(index);
                        }
                    }
                }
                Access::Cells => {
                    for index in first..last {
                        is_full = cells.num_bytes >= STEP_BYTES;
                        if is_full {
                            return;
                        }
                        if cells.has(&chunks[chunk], index) {
                            find(index);
                        }
                        at += 1;
                    }
                    return;
                }
            }
            at += last - first;
        });
        at
    }
}

/// Searches the written texts of cells.
struct Cells<'a> {
    pattern: &'a Pattern,
    extension: Option<Extension>,
    zones: &'a dyn TimeZones,
    text: String,
    letters: Vec<char>,
    /// The size of the texts so far.
    num_bytes: usize,
}

impl<'a> Cells<'a> {
    fn new(pattern: &'a Pattern, extension: Option<Extension>, zones: &'a dyn TimeZones) -> Self {
        Self {
            pattern,
            extension,
            zones,
            text: String::new(),
            letters: Vec::new(),
            num_bytes: 0,
        }
    }

    fn has(&mut self, array: &ArrayRef, index: usize) -> bool {
        self.text.clear();
        let mut out = CellText::new(&mut self.text, MAX_CHARS);
        let kind = write_cell(array, self.extension, index, self.zones, &mut out);
        self.num_bytes += self.text.len();
        kind != CellKind::Null && self.pattern.is_in(&self.text, &mut self.letters)
    }
}

/// Searches the next texts of a dictionary. Returns true when all are searched.
fn search_values(
    texts: &Texts,
    num_values: usize,
    pattern: &Pattern,
    answers: &mut Vec<bool>,
) -> bool {
    let start = answers.len();
    if start == num_values {
        return true;
    }
    let end = num_values.min(start + STEP_ROWS);
    let mut left_bytes = STEP_BYTES;
    answers.resize(start + texts.num_within(start..end, &mut left_bytes), false);
    texts.find(start..answers.len(), pattern, &mut Vec::new(), |index| {
        answers[index] = true;
    });
    answers.len() == num_values
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
        let FindRequest {
            text,
            columns,
            match_case,
            ..
        } = request;
        Ok(Self {
            search: Search::try_new(table, text, columns.as_deref(), *match_case)?,
            limit: request.limit,
            from: request.from.min(base.len()),
            next: request.from.min(base.len()),
            base,
            matches: Vec::new(),
        })
    }

    /// Works for about a millisecond. Returns true at the end, or when enough rows are found.
    // Its own function, because browsers compile a large one slowly, and a module may step all kinds of jobs in one.
    #[inline(never)]
    pub fn step(&mut self, zones: &dyn TimeZones) -> bool {
        let Search { columns, pattern } = &self.search;
        if columns.is_empty() {
            self.next = self.base.len();
        }
        let num_rows = self.search.num_step_rows();
        let end = self.base.len().min(self.next + num_rows);
        let mut rows = Vec::with_capacity(num_rows);
        self.base.push_numbers(self.next..end, &mut rows);
        for searched in columns {
            rows.truncate(searched.num_step_rows(&rows));
        }
        // The index of the row, and in the lower half the column.
        let mut found: Vec<u64> = Vec::new();
        for (column, searched) in columns.iter().enumerate() {
            let mut indexes = Vec::new();
            rows.truncate(searched.search(pattern, &rows, zones, &mut indexes));
            found.extend(
                indexes
                    .into_iter()
                    .map(|index| (index as u64) << 32 | column as u64),
            );
        }
        found.retain(|cell| cell >> 32 < rows.len() as u64);
        found.sort_unstable();
        let mut num_searched = rows.len();
        for of_row in found.chunk_by(|cell, other| cell >> 32 == other >> 32) {
            let index = (of_row[0] >> 32) as usize;
            let columns = of_row.iter().map(|cell| *cell as u32 as usize).collect();
            self.matches.push((self.next + index, columns));
            if self.matches.len() == self.limit {
                num_searched = index + 1;
                break;
            }
        }
        self.next += num_searched;
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
        let name = |position: &usize| self.search.columns[*position].column.name.as_str();
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
