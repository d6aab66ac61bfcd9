use std::sync::Arc;

use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;
use serde_json::{Map, Value, json};

use super::column::{Column, column_index, push_codes};
use super::error::KernelError;
use super::key::Physical;
use super::row_order::RowOrder;
use super::spread::{Counts, Spread};
use super::totals::{Extreme, Totals};
use crate::semantics::{
    Bins, Distribution, ExactMean, FloatSum, Quartiles, exact_edges, float_edges, float_of_key,
    largest_value, rounded_mean, value_type,
};
use crate::table::Table;
use crate::text::{
    CellKind, CellText, Extension, TimeZones, underlying, write_cell, write_decimal, write_f64,
};

/// Rows that one step reads.
const STEP_ROWS: usize = 16_384;

/// Counts of more values than this are dropped when the summary is finished.
const MAX_KEPT: usize = 1 << 16;

/// The largest integer of 38 digits.
const MAX_DECIMAL: i128 = 10_i128.pow(38) - 1;

/// The statistics that a type supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Integers, decimals of up to 38 digits, and times: exact extremes, mean and histogram.
    Exact,
    /// Floats, and decimals of more digits: the same statistics in floating point.
    Float,
    /// Extremes and the most frequent values.
    Category,
    /// Only extremes.
    Ordered,
    /// Only counts.
    Other,
}

fn kind_of(data_type: &DataType) -> Kind {
    match data_type {
        DataType::Interval(_) => Kind::Other,
        DataType::Float16 | DataType::Float32 | DataType::Float64 | DataType::Decimal256(..) => {
            Kind::Float
        }
        data_type if data_type.is_numeric() || data_type.is_temporal() => Kind::Exact,
        data_type => match Physical::of(data_type) {
            Physical::Boolean => Kind::Category,
            Physical::Bytes if data_type.is_string() => Kind::Category,
            Physical::Bytes => Kind::Ordered,
            _ => Kind::Other,
        },
    }
}

/// Summarises a column in two passes: first counts and extremes, then the distribution of numbers. A
/// finished job can continue with rows that arrived later.
#[derive(Debug)]
pub struct SummaryJob {
    column: Column,
    type_name: String,
    kind: Kind,
    /// The maximum number of distinct values that are counted.
    max_counted: usize,
    /// The number of most frequent values that are reported.
    num_top: usize,
    /// A bitmap of the selected rows; `None` for all rows.
    selected: Option<Vec<u64>>,
    /// The number of selected rows.
    num_rows: u64,
    pass: Pass,
    chunk: usize,
    start: usize,
    /// For each value of the chunk, the number of selected rows that have it.
    weights: Vec<u64>,
    /// The same for the values of each dictionary, which are added after the last chunk.
    pointed: Vec<Vec<u64>>,
    totals: Totals,
    spread: Option<Spread>,
    /// The number of chunks that `spread` includes.
    num_spread: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    Totals,
    Spread,
    Done,
}

impl SummaryJob {
    /// A job that summarises the column `name` of the current `table`. The `num_top` most frequent texts are only
    /// reported if there are at most `max_counted` distinct values, which together take at most 64 bytes
    /// times `max_counted`.
    ///
    /// # Errors
    /// `unknown_column`.
    pub fn try_new(
        table: &Table,
        name: &str,
        max_counted: usize,
        num_top: usize,
    ) -> Result<Self, KernelError> {
        let index = column_index(table, name)?;
        let mut column = Column::try_new(table, index)?;
        name.clone_into(&mut column.name);
        let kind = kind_of(value_type(&column.data_type));
        Ok(Self {
            kind,
            spread: Self::first_spread(kind, max_counted, num_top),
            type_name: table.schema().fields[index].type_name(),
            max_counted,
            num_top,
            selected: None,
            num_rows: table.num_rows(),
            column,
            pass: Pass::Totals,
            chunk: 0,
            start: 0,
            weights: Vec::new(),
            pointed: Vec::new(),
            totals: Totals::default(),
            num_spread: 0,
        })
    }

    /// As [`try_new`](Self::try_new), of those rows alone that are in `rows`.
    ///
    /// # Errors
    /// `unknown_column`, `out_of_memory`.
    pub fn of_rows(
        table: &Table,
        rows: &RowOrder,
        name: &str,
        max_counted: usize,
        num_top: usize,
    ) -> Result<Self, KernelError> {
        let whole = Self::try_new(table, name, max_counted, num_top)?;
        let spread = Self::first_spread(whole.kind, max_counted, num_top);
        let within = whole.within(rows)?;
        Ok(Self { spread, ..within })
    }

    /// The distribution that is counted together with the totals.
    fn first_spread(kind: Kind, max_counted: usize, num_top: usize) -> Option<Spread> {
        let counts = || Spread::Counts(Some(Counts::new(max_counted, num_top)));
        (kind == Kind::Category).then(counts)
    }

    /// Continues a finished job with the rows that were added to `table` since.
    ///
    /// # Errors
    /// `unknown_column` if it is another table.
    pub fn resume(&mut self, table: &Table) -> Result<(), KernelError> {
        let index = column_index(table, &self.column.name)?;
        self.chunk = self.column.chunks().len();
        self.column = Column::try_new(table, index)?;
        if self.kind == Kind::Category && self.spread.is_none() {
            // The counts were dropped.
            self.spread = Self::first_spread(self.kind, self.max_counted, self.num_top);
            self.totals = Totals::default();
            self.chunk = 0;
        }
        self.num_rows = table.num_rows();
        self.pass = Pass::Totals;
        Ok(())
    }

    /// A job that summarises the rows of this finished job that are in `rows`. It uses the same bins,
    /// and counts the same most frequent values.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub fn within(&self, rows: &RowOrder) -> Result<Self, KernelError> {
        Ok(Self {
            column: self.column.clone(),
            type_name: self.type_name.clone(),
            kind: self.kind,
            max_counted: self.max_counted,
            num_top: self.num_top,
            selected: Some(rows.words(self.column.num_rows())?),
            num_rows: rows.len() as u64,
            pass: Pass::Totals,
            chunk: 0,
            start: 0,
            weights: Vec::new(),
            pointed: Vec::new(),
            totals: Totals::default(),
            spread: self.spread.as_ref().and_then(Spread::emptied),
            num_spread: 0,
        })
    }

    /// Works for about a millisecond. Returns true when all rows were read twice.
    pub fn step(&mut self) -> bool {
        if self.pass == Pass::Done {
            return true;
        }
        if self.chunk == self.column.chunks().len() {
            if !self.step_pointed() {
                self.next_pass();
            }
            return self.pass == Pass::Done;
        }
        let array = Arc::clone(&self.column.chunks()[self.chunk]);
        let start = self.start;
        let end = array.len().min(start + STEP_ROWS);
        if self.kind == Kind::Other {
            let is_null = |index: &usize| {
                let (array, index) = underlying(array.as_ref(), *index);
                matches!(array.data_type(), DataType::Null) || array.is_null(index)
            };
            let nulls = (start..end).filter(|&index| self.is_in(index));
            self.totals.num_nulls += nulls.filter(is_null).count() as u64;
        } else if let Some(dictionary) = self.column.dictionary_of(self.chunk) {
            self.count_codes(dictionary, &array, start, end);
        } else if self.selected.is_some() {
            let mut weights = std::mem::take(&mut self.weights);
            weights.resize(end, 0);
            for (index, weight) in weights.iter_mut().enumerate().skip(start) {
                *weight = u64::from(self.is_in(index));
            }
            self.add(&array, start, end, Some(&weights));
            self.weights = weights;
        } else {
            self.add(&array, start, end, None);
        }
        self.start = end;
        if end == array.len() {
            (self.chunk, self.start) = (self.chunk + 1, 0);
            self.weights.clear();
        }
        false
    }

    /// Counts the selected rows of each value of a dictionary.
    fn count_codes(&mut self, dictionary: usize, array: &ArrayRef, start: usize, end: usize) {
        let mut codes = Vec::with_capacity(end - start);
        push_codes(array, start, end, &mut codes);
        let num_dictionaries = self.column.dictionaries().len();
        self.pointed.resize_with(num_dictionaries, Vec::new);
        let mut weights = std::mem::take(&mut self.pointed[dictionary]);
        weights.resize(self.column.dictionaries()[dictionary].len(), 0);
        let mut num_nulls = 0;
        for (index, code) in (start..).zip(codes) {
            if self.is_in(index) {
                match weights.get_mut(code as usize) {
                    Some(weight) => *weight += 1,
                    None => num_nulls += 1,
                }
            }
        }
        self.pointed[dictionary] = weights;
        if self.pass == Pass::Totals {
            self.totals.num_nulls += num_nulls;
        }
    }

    /// Adds the next values of the dictionaries. Returns false if there are none.
    fn step_pointed(&mut self) -> bool {
        let is_left = |weights: &Vec<u64>| !weights.is_empty();
        let Some(dictionary) = self.pointed.iter().position(is_left) else {
            return false;
        };
        let weights = std::mem::take(&mut self.pointed[dictionary]);
        let values = Arc::clone(&self.column.dictionaries()[dictionary]);
        let end = weights.len().min(self.start + STEP_ROWS);
        self.add(&values, self.start, end, Some(&weights));
        if end == weights.len() {
            self.start = 0;
        } else {
            self.start = end;
            self.pointed[dictionary] = weights;
        }
        true
    }

    /// Whether the row at `index` of the chunk is selected.
    fn is_in(&self, index: usize) -> bool {
        let row = self.column.start_of(self.chunk) as usize + index;
        let word = |words: &Vec<u64>| {
            words
                .get(row / 64)
                .is_some_and(|word| word >> (row % 64) & 1 == 1)
        };
        self.selected.as_ref().is_none_or(word)
    }

    /// The fraction of the work that is done, from 0 to 1.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        let num_rows = f64::from(self.column.num_rows().max(1));
        let row = f64::from(self.column.start_of(self.chunk)) + self.start as f64;
        let row = row.min(num_rows);
        match (self.pass, self.kind) {
            (Pass::Done, _) => 1.0,
            (_, Kind::Category | Kind::Ordered | Kind::Other) => row / num_rows,
            (Pass::Totals, _) => row / num_rows / 2.0,
            (Pass::Spread, _) => (1.0 + row / num_rows) / 2.0,
        }
    }

    fn next_pass(&mut self) {
        if self.pass == Pass::Spread || self.kind == Kind::Category {
            self.num_spread = self.chunk;
            self.pass = Pass::Done;
            return;
        }
        if self.selected.is_none() || self.spread.is_none() {
            let fresh = self.fresh_spread();
            let goes_on =
                matches!((&self.spread, &fresh), (Some(old), Some(new)) if old.is_like(new));
            if !goes_on {
                self.spread = fresh;
                self.num_spread = 0;
            }
        }
        self.pass = match self.spread {
            None => Pass::Done,
            Some(_) => Pass::Spread,
        };
        self.chunk = self.num_spread;
    }

    /// An empty distribution for values with these extremes.
    fn fresh_spread(&self) -> Option<Spread> {
        let ends = (&self.totals.lowest, &self.totals.highest);
        match (self.kind, ends) {
            (Kind::Exact, (Some(lowest), Some(highest))) => Some(Spread::Exact {
                bins: Bins::new(exact_edges(
                    lowest.exact(),
                    highest.exact(),
                    largest_value(value_type(&self.column.data_type)),
                )),
                sum: Some(0),
                values: Distribution::default(),
            }),
            (Kind::Float, (Some(lowest), Some(highest))) => {
                let scale = self.unit();
                Some(Spread::Float {
                    bins: Bins::new(float_edges(lowest.float() / scale, highest.float() / scale)),
                    sum: FloatSum::default(),
                    values: Distribution::default(),
                })
            }
            _ => None,
        }
    }

    /// The divisor of stored floats.
    fn unit(&self) -> f64 {
        match value_type(&self.column.data_type) {
            DataType::Decimal256(_, scale) => 10_f64.powi(i32::from(*scale)),
            _ => 1.0,
        }
    }

    /// Adds values `[start, end)` of a plain array, each as often as its weight states.
    fn add(&mut self, array: &ArrayRef, start: usize, end: usize, weights: Option<&[u64]>) {
        let unit = self.unit();
        match (self.pass, &mut self.spread) {
            (Pass::Spread, Some(spread)) => spread.add(array, start, end, weights, unit),
            (_, Some(Spread::Counts(counts))) => {
                self.totals.add(array, start, end, weights, counts);
            }
            _ => self.totals.add(array, start, end, weights, &mut None),
        }
    }

    /// The summary of a finished job, in the server's JSON. Counts of very many values are then
    /// dropped.
    #[must_use]
    pub fn finish(&mut self, zones: &dyn TimeZones) -> String {
        let json = self.json(zones);
        let num_kept = match &self.spread {
            Some(Spread::Counts(Some(counts))) => counts.len(),
            Some(Spread::Exact { values, .. }) => values.num_kept(),
            Some(Spread::Float { values, .. }) => values.num_kept(),
            _ => 0,
        };
        if num_kept > MAX_KEPT {
            (self.spread, self.num_spread) = (None, 0);
        }
        json
    }

    fn json(&mut self, zones: &dyn TimeZones) -> String {
        let Self {
            column,
            totals,
            kind,
            spread,
            ..
        } = self;
        let text = |extreme: &Option<Extreme>| {
            extreme
                .as_ref()
                .map(|extreme| cell_text(&extreme.array, column.extension, extreme.index, zones))
        };
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
        put("column", json!(column.name));
        put("type", json!(self.type_name));
        put("rows", json!(self.num_rows));
        put("nulls", json!(totals.num_nulls));
        let distinct = (*kind != Kind::Other).then(|| totals.distinct.estimate());
        let counted = match &spread {
            Some(Spread::Counts(Some(counts))) => counts.num_distinct(),
            _ => None,
        };
        put(
            "distinct",
            counted.map_or_else(|| json!(distinct), |counted| json!(counted)),
        );
        put("distinct_is_approximate", json!(counted.is_none()));
        put("min", json!(text(&totals.lowest)));
        put("max", json!(text(&totals.highest)));
        let value_type = value_type(&column.data_type);
        if value_type.is_floating() {
            put("nan", json!(totals.num_nan));
            put("infinite", json!(totals.num_infinite));
        }
        if *kind == Kind::Category && value_type.is_string() {
            put("empties", json!(totals.lengths.num_empty()));
            let lengths = totals.lengths.extremes().zip(totals.lengths.quartiles());
            if let Some(((min, max), quartiles)) = lengths {
                let mut lengths = quartiles_json(&quartiles.map(Value::from));
                lengths["min"] = json!(min);
                lengths["max"] = json!(max);
                put("lengths", lengths);
            }
        }
        let mut mean = None;
        match spread {
            Some(Spread::Exact { bins, sum, values }) => {
                let num_values = bins.num_values();
                let scale = decimal_scale(value_type);
                mean = sum.filter(|_| num_values > 0).map(|sum| match scale {
                    Some(scale) => match ExactMean::of(sum, num_values, scale) {
                        ExactMean::Float(mean) => float_text(mean),
                        ExactMean::Rounded(digits) => digits_text(digits, scale),
                    },
                    None => {
                        let mean = rounded_mean(sum, num_values);
                        ticks_texts(value_type, &[mean], zones).concat()
                    }
                });
                let edges = match scale {
                    Some(scale) => bins
                        .edges
                        .iter()
                        .map(|edge| digits_text(*edge, scale))
                        .collect(),
                    None => ticks_texts(value_type, &bins.edges, zones),
                };
                put("histogram", json!({"edges": edges, "counts": bins.counts}));
                let text = |value| match scale {
                    Some(scale) => digits_text(value, scale),
                    None => ticks_texts(value_type, &[value], zones).concat(),
                };
                if let Some(quartiles) = values.quartiles() {
                    put(
                        "quartiles",
                        quartiles_json(&quartiles.map(|value| text(value).into())),
                    );
                }
            }
            Some(Spread::Float { bins, sum, values }) => {
                let num_values = bins.num_values();
                mean = (num_values > 0).then(|| float_text(sum.mean(num_values)));
                let edges: Vec<String> = bins.edges.iter().map(|edge| float_text(*edge)).collect();
                put("histogram", json!({"edges": edges, "counts": bins.counts}));
                if let Some(quartiles) = values.quartiles() {
                    let text = |key| float_text(float_of_key(key)).into();
                    put("quartiles", quartiles_json(&quartiles.map(text)));
                }
            }
            Some(Spread::Counts(Some(counts))) => {
                put("top", top(counts));
            }
            Some(Spread::Counts(None)) | None => {}
        }
        put("mean", json!(mean));
        Value::Object(out).to_string()
    }
}

fn quartiles_json(quartiles: &Quartiles<Value>) -> Value {
    json!({
        "lower": quartiles.lower,
        "median": quartiles.median,
        "upper": quartiles.upper,
        "is_approximate": quartiles.is_approximate,
    })
}

/// The most frequent values. Equally frequent ones are in the order of their bytes.
fn top(counts: &Counts) -> Value {
    let values = counts
        .top()
        .into_iter()
        .map(|(value, count)| json!({"value": String::from_utf8_lossy(value), "count": count}));
    values.collect()
}

fn cell_text(
    array: &ArrayRef,
    extension: Option<Extension>,
    index: usize,
    zones: &dyn TimeZones,
) -> String {
    written(|out| write_cell(array, extension, index, zones, out))
}

fn float_text(value: f64) -> String {
    written(|out| write_f64(value, out))
}

fn digits_text(digits: i128, scale: i8) -> String {
    written(|out| write_decimal(digits.clamp(-MAX_DECIMAL, MAX_DECIMAL), scale, out))
}

fn written(write: impl FnOnce(&mut CellText) -> CellKind) -> String {
    let mut text = String::new();
    write(&mut CellText::new(&mut text, 0));
    text
}

/// The scale of integers and decimals; `None` for times.
fn decimal_scale(data_type: &DataType) -> Option<i8> {
    match data_type {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale) => Some(*scale),
        data_type => data_type.is_integer().then_some(0),
    }
}

/// The texts of ticks as values of the type. Ticks beyond the type's range become its largest value.
fn ticks_texts(data_type: &DataType, ticks: &[i128], zones: &dyn TimeZones) -> Vec<String> {
    let buffer = match Physical::of(data_type) {
        Physical::I32 => Buffer::from_vec(
            ticks
                .iter()
                .map(|&ticks| i32::try_from(ticks).unwrap_or(i32::MAX))
                .collect::<Vec<_>>(),
        ),
        _ => Buffer::from_vec(
            ticks
                .iter()
                .map(|&ticks| i64::try_from(ticks).unwrap_or(i64::MAX))
                .collect::<Vec<_>>(),
        ),
    };
    let data = ArrayData::builder(data_type.clone())
        .len(ticks.len())
        .add_buffer(buffer)
        .build();
    let Ok(array) = data.map(make_array) else {
        return Vec::new();
    };
    (0..array.len())
        .map(|index| cell_text(&array, None, index, zones))
        .collect()
}
