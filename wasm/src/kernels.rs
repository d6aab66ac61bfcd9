//! Bindings of the kernels: views, and jobs that work in slices.

use std::sync::Arc;

use colonnade_core::kernels::{
    ColumnValues, FilterJob, FindJob, FindRequest, KernelError, Repeats, RowOrder, SortJob,
    SortKey, StreamPieces, SummaryJob,
};
use colonnade_core::table::Table;
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::{Decoder, js_error};

/// Rows of a table in a certain order.
#[wasm_bindgen]
pub struct View {
    rows: Arc<RowOrder>,
}

#[wasm_bindgen]
impl View {
    /// The number of rows.
    #[wasm_bindgen(js_name = numRows)]
    #[must_use]
    pub fn num_rows(&self) -> u32 {
        self.rows.len() as u32
    }

    /// The table's rows at positions `[start, end)`, as far as they exist.
    ///
    /// # Errors
    /// `out_of_memory`.
    #[wasm_bindgen(js_name = rowNumbers)]
    pub fn row_numbers(&self, start: u32, end: u32) -> Result<Vec<u32>, JsValue> {
        self.rows
            .numbers(start as usize, end as usize)
            .map_err(|error| thrown(&error))
    }
}

/// The number of most frequent values of a summary.
const NUM_TOP: usize = 10;

/// A job that `Decoder.step` runs in slices.
#[wasm_bindgen]
pub struct Job {
    work: Work,
}

enum Work {
    Sort(Box<SortJob>),
    Filter(FilterJob),
    Summary(Box<SummaryJob>),
    Find(Box<FindJob>),
}

#[wasm_bindgen]
impl Job {
    /// The fraction of the work that is done, from 0 to 1.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        match &self.work {
            Work::Sort(job) => job.fraction(),
            Work::Filter(job) => job.fraction(),
            Work::Summary(job) => job.fraction(),
            Work::Find(job) => job.fraction(),
        }
    }

    /// The number of rows at the start of a running sort's order that have their places for good.
    #[must_use]
    #[wasm_bindgen(js_name = numPlaced)]
    pub fn num_placed(&self) -> usize {
        match &self.work {
            Work::Sort(job) => job.num_placed(),
            _ => 0,
        }
    }

    /// A view of the rows at positions `[start, end)` of a running sort, as far as they have their
    /// places.
    ///
    /// # Errors
    /// `out_of_memory`, and `bad_parameter` if the job is not a sort.
    pub fn placed(&self, start: usize, end: usize) -> Result<View, JsValue> {
        let Work::Sort(job) = &self.work else {
            return Err(js_error("bad_parameter", "The job is not a sort.", 0, 0));
        };
        let rows = job.placed(start..end).map_err(|error| thrown(&error))?;
        Ok(View {
            rows: Arc::new(rows),
        })
    }
}

impl Job {
    fn summary(&mut self) -> Result<&mut SummaryJob, JsValue> {
        match &mut self.work {
            Work::Summary(job) => Ok(job),
            _ => Err(js_error("bad_parameter", "The job is not a summary.", 0, 0)),
        }
    }
}

/// Values of a column: `kind` as in colonnade-core's `ColumnValues`, `bytes` and `validity`.
#[wasm_bindgen]
pub struct Values(ColumnValues);

#[wasm_bindgen]
impl Values {
    /// The type of the values.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn kind(&self) -> String {
        self.0.kind.to_owned()
    }

    /// The values, little-endian. A second call returns nothing.
    #[must_use]
    pub fn bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0.bytes)
    }

    /// 1 for a value, 0 for null. A second call returns nothing.
    #[must_use]
    pub fn validity(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0.validity)
    }
}

/// The texts of a column with repeated values: each distinct text once, and the number of each row's
/// text.
#[wasm_bindgen]
pub struct RepeatedTexts {
    codes: Vec<u32>,
    num_texts: usize,
    texts: Vec<u8>,
}

#[wasm_bindgen]
impl RepeatedTexts {
    /// For each row, the number of its text. A second call returns nothing.
    #[must_use]
    pub fn codes(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.codes)
    }

    /// The number of distinct texts.
    #[wasm_bindgen(js_name = numTexts)]
    #[must_use]
    pub fn num_texts(&self) -> usize {
        self.num_texts
    }

    /// The texts, packed (see `CellWindow` in colonnade-core). A second call returns nothing.
    #[must_use]
    pub fn texts(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.texts)
    }
}

/// An Arrow IPC stream in pieces.
#[wasm_bindgen]
pub struct Pieces(StreamPieces);

#[wasm_bindgen]
impl Pieces {
    /// The next bytes; undefined after the last ones.
    pub fn next(&mut self) -> Option<Vec<u8>> {
        self.0.next_piece()
    }
}

#[wasm_bindgen]
impl Decoder {
    /// All rows that can be read now.
    #[wasm_bindgen(js_name = allRows)]
    #[must_use]
    pub fn all_rows(&self) -> View {
        let num_rows = self.decoder.table().map_or(0, Table::num_rows);
        View {
            rows: Arc::new(RowOrder::All(u32::try_from(num_rows).unwrap_or(u32::MAX))),
        }
    }

    /// Starts to sort a view by columns. A column is sorted in descending order if its `descending` is
    /// not 0.
    ///
    /// # Errors
    /// As `SortJob::try_new`.
    pub fn sort(&self, view: &View, columns: &Array, descending: &[u8]) -> Result<Job, JsValue> {
        let names = strings(columns).into_iter().zip(descending);
        let keys: Vec<SortKey> = names
            .map(|(column, descending)| SortKey {
                column,
                descending: *descending != 0,
            })
            .collect();
        let job = SortJob::try_new(self.table()?, Arc::clone(&view.rows), &keys);
        job.map(|job| Work::Sort(Box::new(job)).into())
            .map_err(|error| thrown(&error))
    }

    /// Starts to filter a view by a predicate in JSON.
    ///
    /// # Errors
    /// As `FilterJob::try_new`.
    pub fn filter(&self, view: &View, json: &str) -> Result<Job, JsValue> {
        let job = FilterJob::try_new(self.table()?, Arc::clone(&view.rows), json, &self.zones);
        job.map(|job| Work::Filter(job).into())
            .map_err(|error| thrown(&error))
    }

    /// Starts to summarise a column of the table.
    ///
    /// # Errors
    /// As `SummaryJob::try_new`.
    pub fn summary(&self, column: &str, max_counted: usize) -> Result<Job, JsValue> {
        let job = SummaryJob::try_new(self.table()?, column, max_counted, NUM_TOP);
        job.map(|job| Work::Summary(Box::new(job)).into())
            .map_err(|error| thrown(&error))
    }

    /// Starts to summarise a column of the rows of a view alone, with the `num_top` most frequent values.
    ///
    /// # Errors
    /// As `SummaryJob::of_rows`.
    #[wasm_bindgen(js_name = summaryOfRows)]
    pub fn summary_of_rows(
        &self,
        view: &View,
        column: &str,
        max_counted: usize,
        num_top: usize,
    ) -> Result<Job, JsValue> {
        let table = self.table()?;
        let job = SummaryJob::of_rows(table, &view.rows, column, max_counted, num_top);
        job.map(|job| Work::Summary(Box::new(job)).into())
            .map_err(|error| thrown(&error))
    }

    /// Continues a finished summary with the rows that were added since.
    ///
    /// # Errors
    /// As `SummaryJob::resume`.
    #[wasm_bindgen(js_name = resumeSummary)]
    pub fn resume_summary(&self, job: &mut Job) -> Result<(), JsValue> {
        let summary = job.summary()?;
        let table = self.table()?;
        summary.resume(table).map_err(|error| thrown(&error))
    }

    /// Starts to summarise the rows of a view with the bins of a finished summary.
    ///
    /// # Errors
    /// As `SummaryJob::within`.
    #[wasm_bindgen(js_name = summaryWithin)]
    pub fn summary_within(&self, job: &mut Job, view: &View) -> Result<Job, JsValue> {
        let within = job.summary()?.within(&view.rows);
        within
            .map(|job| Work::Summary(Box::new(job)).into())
            .map_err(|error| thrown(&error))
    }

    /// The JSON of a finished summary. The job can be continued.
    ///
    /// # Errors
    /// `bad_parameter` if the job is not a summary.
    #[wasm_bindgen(js_name = summaryText)]
    pub fn summary_text(&self, job: &mut Job) -> Result<String, JsValue> {
        job.summary().map(|summary| summary.finish(&self.zones))
    }

    /// Starts to search a view for a text; in all columns if none is given.
    ///
    /// # Errors
    /// As `FindJob::try_new`.
    pub fn find(
        &self,
        view: &View,
        text: String,
        from: f64,
        limit: f64,
        columns: &JsValue,
        match_case: bool,
    ) -> Result<Job, JsValue> {
        let request = FindRequest {
            text,
            from: from as usize,
            limit: limit as usize,
            columns: columns.dyn_ref().map(strings),
            match_case,
        };
        let job = FindJob::try_new(self.table()?, Arc::clone(&view.rows), &request);
        job.map(|job| Work::Find(Box::new(job)).into())
            .map_err(|error| thrown(&error))
    }

    /// Works for about a millisecond. Returns true when the job is done.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub fn step(&self, job: &mut Job) -> Result<bool, JsValue> {
        match &mut job.work {
            Work::Sort(job) => job.step().map_err(|error| thrown(&error)),
            Work::Filter(job) => Ok(job.step(&self.zones)),
            Work::Summary(job) => Ok(job.step()),
            Work::Find(job) => Ok(job.step(&self.zones)),
        }
    }

    /// The result of a finished job: a `View`, or JSON.
    ///
    /// # Errors
    /// `out_of_memory`.
    #[wasm_bindgen(js_name = finishJob)]
    pub fn finish_job(&self, job: Job) -> Result<JsValue, JsValue> {
        let rows = match job.work {
            Work::Sort(job) => job.finish(),
            Work::Filter(job) => job.finish().map_err(|error| thrown(&error))?,
            Work::Summary(mut job) => return Ok(job.finish(&self.zones).into()),
            Work::Find(job) => return Ok(job.finish().into()),
        };
        let rows = Arc::new(rows);
        Ok(View { rows }.into())
    }

    /// The text of `columns` at positions `[start, end)` of a view, packed (see `CellWindow` in
    /// colonnade-core). Texts of more than `max_chars` characters are cut and marked; 0 means no limit.
    ///
    /// # Errors
    /// `out_of_range` if a position or column does not exist, `over_limit` if there is too much text.
    pub fn window(
        &self,
        view: &View,
        start: u32,
        end: u32,
        columns: &[u32],
        max_chars: usize,
    ) -> Result<Vec<u8>, JsValue> {
        let columns: Vec<usize> = columns.iter().map(|&column| column as usize).collect();
        let positions = start as usize..end as usize;
        let table = self.table()?;
        table
            .window_of(&view.rows, positions, &columns, max_chars, &self.zones)
            .map(|window| window.bytes)
            .map_err(|error| js_error(error.code(), &error.to_string(), table.num_rows(), 0))
    }

    /// Values of a column at positions `[start, end)` of a view; undefined if they are not stored as
    /// numbers.
    ///
    /// # Errors
    /// As `ColumnValues::read`.
    pub fn values(
        &self,
        view: &View,
        column: usize,
        start: u32,
        end: u32,
    ) -> Result<Option<Values>, JsValue> {
        let (start, end) = (start as usize, end as usize);
        ColumnValues::read(self.table()?, &view.rows, column, start, end)
            .map(|values| values.map(Values))
            .map_err(|error| thrown(&error))
    }

    /// The distinct texts of a column at positions `[start, end)` of a view; undefined if values seldom
    /// repeat.
    ///
    /// # Errors
    /// As `Repeats::read` and [`window`](Self::window).
    pub fn repeats(
        &self,
        view: &View,
        column: usize,
        start: u32,
        end: u32,
    ) -> Result<Option<RepeatedTexts>, JsValue> {
        let table = self.table()?;
        let positions = start as usize..end as usize;
        let repeats = Repeats::read(table, &view.rows, column, positions);
        let Some(repeats) = repeats.map_err(|error| thrown(&error))? else {
            return Ok(None);
        };
        let num_texts = repeats.rows.len();
        table
            .window_of(&repeats.rows, 0..num_texts, &[column], 0, &self.zones)
            .map(|window| {
                Some(RepeatedTexts {
                    codes: repeats.codes,
                    num_texts,
                    texts: window.bytes,
                })
            })
            .map_err(|error| js_error(error.code(), &error.to_string(), table.num_rows(), 0))
    }

    /// Starts to write the rows as an Arrow IPC stream.
    ///
    /// # Errors
    /// `no_rows` before the schema is known.
    #[wasm_bindgen(js_name = toStream)]
    pub fn to_stream(&self) -> Result<Pieces, JsValue> {
        self.table().map(StreamPieces::new).map(Pieces)
    }

    fn table(&self) -> Result<&Table, JsValue> {
        let none = || js_error("no_rows", "There is nothing to read yet.", 0, 0);
        self.decoder.table().ok_or_else(none)
    }
}

impl From<Work> for Job {
    fn from(work: Work) -> Self {
        Self { work }
    }
}

fn strings(array: &Array) -> Vec<String> {
    array.iter().filter_map(|item| item.as_string()).collect()
}

fn thrown(error: &KernelError) -> JsValue {
    js_error(error.code, &error.message, 0, 0)
}
