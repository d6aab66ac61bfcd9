use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;
use serde_json::{Map, Value, json};

use super::column::{Column, column_index, pointed_values, pointers};
use super::distinct::Distinct;
use super::error::KernelError;
use super::key::{
    Key, Key256, Keyed, Physical, each_boolean, each_bytes, each_native, with_native,
};
use super::spread::{Spread, weight_of};
use crate::semantics::{Bins, FloatSum, exact_edges, float_edges, value_type};
use crate::table::Table;
use crate::text::{
    CellKind, CellText, Extension, TimeZones, underlying, write_cell, write_decimal, write_f64,
};

/// Rows that are looked at in one step.
const BLOCK_ROWS: usize = 16_384;

/// How many of the most frequent values are told.
const NUM_TOP: usize = 10;

/// The largest number of 38 digits.
const MAX_DECIMAL: i128 = 10_i128.pow(38) - 1;

/// What can be said about the values of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Integers, decimals of up to 38 digits, and times: extremes, mean and histogram, all exact.
    Exact,
    /// Floats, and decimals of more digits: the same in floating point.
    Float,
    /// Extremes and the most frequent values.
    Category,
    /// Extremes.
    Ordered,
    /// Counts.
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

/// Summarises a column in two passes: counts and extremes, then how the values are spread.
#[derive(Debug)]
pub struct SummaryJob {
    column: Column,
    type_name: String,
    kind: Kind,
    num_rows: u64,
    done_rows: u64,
    chunk: usize,
    start: usize,
    /// Of the chunk's dictionary, how often each value is there.
    weights: Vec<u64>,
    totals: Totals,
    spread: Option<Spread>,
    is_done: bool,
}

#[derive(Debug, Default)]
struct Totals {
    num_nulls: u64,
    num_nan: u64,
    num_infinite: u64,
    distinct: Distinct,
    lowest: Option<Extreme>,
    highest: Option<Extreme>,
}

/// A value, and an array that holds it.
#[derive(Debug, Clone)]
struct Extreme {
    key: Key256,
    bytes: Vec<u8>,
    array: ArrayRef,
    index: usize,
}

impl SummaryJob {
    /// Summarises the column `name` of `table` as it is now.
    ///
    /// # Errors
    /// `unknown_column`.
    pub fn try_new(table: &Table, name: &str) -> Result<Self, KernelError> {
        let index = column_index(table, name)?;
        let mut column = Column::try_new(table, index)?;
        name.clone_into(&mut column.name);
        Ok(Self {
            kind: kind_of(value_type(&column.data_type)),
            type_name: table.schema().fields[index].type_name(),
            num_rows: table.num_rows(),
            done_rows: 0,
            column,
            chunk: 0,
            start: 0,
            weights: Vec::new(),
            totals: Totals::default(),
            spread: None,
            is_done: false,
        })
    }

    /// Works for about a millisecond; true once all rows were looked at twice.
    pub fn step(&mut self) -> bool {
        if self.is_done {
            return true;
        }
        if self.chunk == self.column.chunks().len() {
            self.next_pass();
            return self.is_done;
        }
        let array = Arc::clone(&self.column.chunks()[self.chunk]);
        let end = array.len().min(self.start + BLOCK_ROWS);
        match pointed_values(&array) {
            _ if self.kind == Kind::Other => {
                let is_null = |index: &usize| {
                    let (array, index) = underlying(array.as_ref(), *index);
                    matches!(array.data_type(), DataType::Null) || array.is_null(index)
                };
                self.totals.num_nulls += (self.start..end).filter(is_null).count() as u64;
            }
            None => self.add(&array, self.start, end, None),
            Some(values) => {
                self.weights.resize(values.len(), 0);
                for pointer in pointers(&array, self.start, end) {
                    match pointer {
                        Some(index) => self.weights[index] += 1,
                        None if self.spread.is_none() => self.totals.num_nulls += 1,
                        None => {}
                    }
                }
                if end == array.len() {
                    let weights = std::mem::take(&mut self.weights);
                    self.add(values, 0, values.len(), Some(&weights));
                }
            }
        }
        self.done_rows += (end - self.start) as u64;
        self.start = end;
        if end == array.len() {
            (self.chunk, self.start) = (self.chunk + 1, 0);
        }
        false
    }

    /// Of 1.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        let passes = match self.kind {
            Kind::Ordered | Kind::Other => 1,
            _ => 2,
        };
        (self.done_rows as f64 / (self.num_rows.max(1) * passes) as f64).min(1.0)
    }

    fn next_pass(&mut self) {
        if self.spread.is_some() {
            self.is_done = true;
            return;
        }
        let ends = (&self.totals.lowest, &self.totals.highest);
        self.spread = match (self.kind, ends) {
            (Kind::Exact, (Some(lowest), Some(highest))) => Some(Spread::Exact {
                bins: Bins::new(exact_edges(lowest.exact(), highest.exact())),
                sum: Some(0),
            }),
            (Kind::Float, (Some(lowest), Some(highest))) => {
                let scale = self.unit();
                Some(Spread::Float {
                    bins: Bins::new(float_edges(lowest.float() / scale, highest.float() / scale)),
                    sum: FloatSum::default(),
                })
            }
            (Kind::Category, _) => Some(Spread::Counts(Some(HashMap::new()))),
            _ => None,
        };
        self.is_done = self.spread.is_none();
        self.chunk = 0;
    }

    /// What stored floats are divided by.
    fn unit(&self) -> f64 {
        match value_type(&self.column.data_type) {
            DataType::Decimal256(_, scale) => 10_f64.powi(i32::from(*scale)),
            _ => 1.0,
        }
    }

    /// Takes values `[start, end)` of a plain array, each as often as its weight says.
    fn add(&mut self, array: &ArrayRef, start: usize, end: usize, weights: Option<&[u64]>) {
        let unit = self.unit();
        match &mut self.spread {
            None => self.totals.add(array, start, end, weights),
            Some(spread) => spread.add(array, start, end, weights, unit),
        }
    }

    /// The summary in the server's JSON.
    #[must_use]
    pub fn finish(self, zones: &dyn TimeZones) -> String {
        let Self {
            column,
            totals,
            kind,
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
        let distinct = (kind != Kind::Other).then(|| totals.distinct.estimate());
        put("distinct", json!(distinct));
        put("distinct_is_approximate", json!(true));
        put("min", json!(text(&totals.lowest)));
        put("max", json!(text(&totals.highest)));
        let value_type = value_type(&column.data_type);
        if value_type.is_floating() {
            put("nan", json!(totals.num_nan));
            put("infinite", json!(totals.num_infinite));
        }
        let mut mean = None;
        match self.spread {
            Some(Spread::Exact { bins, sum }) => {
                let num_values = bins.num_values();
                let scale = decimal_scale(value_type);
                mean = sum.filter(|_| num_values > 0).map(|sum| match scale {
                    Some(scale) => {
                        let mean = sum as f64 / num_values as f64;
                        float_text(mean / 10_f64.powi(i32::from(scale)))
                    }
                    None => {
                        let half = i128::from(num_values / 2);
                        let rounded = (sum + half).div_euclid(i128::from(num_values));
                        ticks_texts(value_type, &[rounded], zones).concat()
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
            }
            Some(Spread::Float { bins, sum }) => {
                let num_values = bins.num_values();
                mean = (num_values > 0).then(|| float_text(sum.total() / num_values as f64));
                let edges: Vec<String> = bins.edges.iter().map(|edge| float_text(*edge)).collect();
                put("histogram", json!({"edges": edges, "counts": bins.counts}));
            }
            Some(Spread::Counts(Some(counts))) => {
                put("top", top(&counts));
            }
            Some(Spread::Counts(None)) | None => {}
        }
        put("mean", json!(mean));
        Value::Object(out).to_string()
    }
}

impl Extreme {
    fn exact(&self) -> i128 {
        let mut found = 0;
        self.visit(|number, _| found = number);
        found
    }

    fn float(&self) -> f64 {
        let mut found = 0.0;
        self.visit(|_, number| found = number);
        found
    }

    fn visit(&self, mut visit: impl FnMut(i128, f64)) {
        with_native!(Physical::of(self.array.data_type()), N => {
            each_native::<N>(&self.array, self.index, self.index + 1, |value| {
                if let Some(value) = value {
                    visit(value.exact(), value.float());
                }
            });
        }, _ => {});
    }
}

impl Totals {
    fn add(&mut self, array: &ArrayRef, start: usize, end: usize, weights: Option<&[u64]>) {
        let physical = Physical::of(array.data_type());
        let mut index = start;
        let mut nulls = 0;
        with_native!(physical, N => {
            let num_bytes = 8 * physical.num_limbs();
            let mut lowest: Option<(<N as Keyed>::Key, usize)> = None;
            let mut highest: Option<(<N as Keyed>::Key, usize)> = None;
            each_native::<N>(array, start, end, |value| {
                let weight = weight_of(weights, index);
                match value {
                    _ if weight == 0 => {}
                    None => nulls += weight,
                    Some(value) => {
                        let key = value.key();
                        let mut bytes = [0; 32];
                        for limb in 0..num_bytes / 8 {
                            bytes[limb * 8..limb * 8 + 8].copy_from_slice(&key.limb(limb).to_le_bytes());
                        }
                        self.distinct.add(&bytes[..num_bytes]);
                        if value.is_finite() {
                            if lowest.is_none_or(|(least, _)| key < least) {
                                lowest = Some((key, index));
                            }
                            if highest.is_none_or(|(most, _)| key > most) {
                                highest = Some((key, index));
                            }
                        } else if value.is_nan() {
                            self.num_nan += weight;
                        } else {
                            self.num_infinite += weight;
                        }
                    }
                }
                index += 1;
            });
            for (key, index) in [lowest, highest].into_iter().flatten() {
                self.reach(key.widened(), &[], array, index);
            }
        }, _ => {
            let mut visit = |value: Option<&[u8]>| {
                let weight = weight_of(weights, index);
                match value {
                    _ if weight == 0 => {}
                    None => nulls += weight,
                    Some(bytes) => {
                        self.distinct.add(bytes);
                        self.reach((0, 0), bytes, array, index);
                    }
                }
                index += 1;
            };
            if physical == Physical::Boolean {
                each_boolean(array.as_boolean(), start, end, |value| {
                    visit(value.map(|value| if value { &b"1"[..] } else { b"0" }));
                });
            } else {
                each_bytes(array, start, end, visit);
            }
        });
        self.num_nulls += nulls;
    }

    /// Takes a value that may be the lowest or the highest.
    fn reach(&mut self, key: Key256, bytes: &[u8], array: &ArrayRef, index: usize) {
        let new = |old: &mut Option<Extreme>| {
            *old = Some(Extreme {
                key,
                bytes: bytes.to_vec(),
                array: Arc::clone(array),
                index,
            });
        };
        let value = (key, bytes);
        if self
            .lowest
            .as_ref()
            .is_none_or(|old| value < (old.key, &old.bytes))
        {
            new(&mut self.lowest);
        }
        if self
            .highest
            .as_ref()
            .is_none_or(|old| value > (old.key, &old.bytes))
        {
            new(&mut self.highest);
        }
    }
}

/// The most frequent values; those that are equally frequent in their own order.
fn top(counts: &HashMap<Vec<u8>, u64>) -> Value {
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_unstable_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    counts.truncate(NUM_TOP);
    let values = counts
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

/// `None` for times.
fn decimal_scale(data_type: &DataType) -> Option<i8> {
    match data_type {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale) => Some(*scale),
        data_type => data_type.is_integer().then_some(0),
    }
}

/// Texts of ticks as values of the type; those beyond it become its largest.
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
