//! Upper bounds of the size of a call's result, known before the call.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, OffsetSizeTrait};
use datafusion::arrow::array::{GenericListArray, LargeStringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNanoType, IntervalUnit, TimeUnit};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};

/// Bytes that each value costs besides its content: an offset, and an index while it is built.
const VALUE_BYTES: u64 = 16;

/// The way in which a function's result is larger than its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Growth {
    /// A text, repeated a number of times.
    Repeat,
    /// A text, padded to a number of characters.
    Pad,
    /// A text for each occurrence of another.
    Replace,
    /// A text for each match, with groups of the match.
    RegexpReplace,
    /// A value, repeated a number of times.
    RepeatValue,
    /// A list, resized to a number of values.
    Resize,
    /// A list of all values between two bounds.
    Range,
    /// A separator between any two values.
    Join,
    /// The width of the named type.
    Type,
}

/// One number for each row, or one for all rows.
#[derive(Debug)]
pub(super) struct PerRow {
    numbers: Vec<u64>,
    num_rows: usize,
}

impl PerRow {
    pub(super) fn get(&self, row: usize) -> u64 {
        let index = if self.numbers.len() == self.num_rows {
            row
        } else {
            0
        };
        self.numbers.get(index).copied().unwrap_or(0)
    }

    pub(super) fn total(&self) -> u64 {
        (0..self.num_rows).fold(0, |total, row| total.saturating_add(self.get(row)))
    }
}

impl Growth {
    pub(super) const ALL: [Self; 9] = [
        Self::Repeat,
        Self::Pad,
        Self::Replace,
        Self::RegexpReplace,
        Self::RepeatValue,
        Self::Resize,
        Self::Range,
        Self::Join,
        Self::Type,
    ];

    pub(super) fn functions(self) -> &'static [&'static str] {
        match self {
            Self::Repeat => &["repeat"],
            Self::Pad => &["lpad", "rpad"],
            Self::Replace => &["replace"],
            Self::RegexpReplace => &["regexp_replace"],
            Self::RepeatValue => &["array_repeat"],
            Self::Resize => &["array_resize"],
            Self::Range => &["range", "generate_series"],
            Self::Join => &["array_to_string"],
            Self::Type => &["arrow_cast", "arrow_try_cast"],
        }
    }

    /// Whether [`Growth::bounds`] is close to the real size, and not only an upper bound.
    pub(super) fn is_exact(self) -> bool {
        !matches!(self, Self::Replace | Self::RegexpReplace | Self::Join)
    }

    /// The most bytes that each row can produce. Nulls and negative counts produce none.
    ///
    /// # Errors
    /// An argument is of a type that the function does not accept.
    pub(super) fn bounds(self, args: &ScalarFunctionArgs) -> Result<PerRow> {
        let num_rows = args.number_rows;
        let args = &args.args;
        let is_constant = args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let num_rows = if is_constant { 1 } else { num_rows };
        let size = |index: usize| args.get(index).map_or_else(|| Ok(none()), argument_sizes);
        let count = |index: usize| args.get(index).map_or_else(|| Ok(none()), counts);
        let per_row = |row_bytes: &dyn Fn(usize) -> u64| PerRow {
            numbers: (0..num_rows).map(row_bytes).collect(),
            num_rows,
        };
        Ok(match self {
            Self::Repeat => {
                let (texts, counts) = (size(0)?, count(1)?);
                per_row(&|row| text_len(&texts, row).saturating_mul(at(&counts, row)))
            }
            Self::Pad => {
                let (texts, counts) = (size(0)?, count(1)?);
                let fills = texts_of(args.get(2))?;
                per_row(&|row| {
                    let fill = fills.as_ref().map_or(" ", |fills| text_at(fills, row));
                    let char_bytes = fill.chars().map(char::len_utf8).max().unwrap_or(0) as u64;
                    let padding = at(&counts, row).saturating_mul(char_bytes);
                    padding.saturating_add(text_len(&texts, row))
                })
            }
            Self::Replace => {
                let (texts, from, to) = (size(0)?, size(1)?, size(2)?);
                per_row(&|row| {
                    let text_bytes = text_len(&texts, row);
                    let places = text_bytes / text_len(&from, row).max(1) + 1;
                    places
                        .saturating_mul(text_len(&to, row))
                        .saturating_add(text_bytes)
                })
            }
            Self::RegexpReplace => {
                let texts = size(0)?;
                let (to, flags) = (texts_of(args.get(2))?, texts_of(args.get(3))?);
                per_row(&|row| {
                    let text_bytes = text_len(&texts, row);
                    let to = to.as_ref().map_or("", |to| text_at(to, row));
                    let flags = flags.as_ref().map_or("", |flags| text_at(flags, row));
                    let places = if flags.contains('g') {
                        text_bytes + 1
                    } else {
                        1
                    };
                    let groups = to.matches(['\\', '$']).count() as u64 + 1;
                    places
                        .saturating_mul(to.len() as u64)
                        .saturating_add(text_bytes.saturating_mul(groups))
                })
            }
            Self::RepeatValue => {
                let (values, counts) = (size(0)?, count(1)?);
                per_row(&|row| at(&values, row).saturating_mul(at(&counts, row)))
            }
            Self::Resize => {
                let (lists, counts, fills) = (size(0)?, count(1)?, size(2)?);
                let width = args.first().map_or(0, |list| item_bytes(&list.data_type()));
                per_row(&|row| {
                    let value_bytes = at(&fills, row).max(width);
                    let added = at(&counts, row).saturating_mul(value_bytes);
                    added.saturating_add(at(&lists, row))
                })
            }
            Self::Range => range_bounds(args, num_rows)?,
            Self::Join => {
                let (lists, between, for_null) = (size(0)?, size(1)?, size(2)?);
                per_row(&|row| {
                    let num_values = at(&lists, row) / VALUE_BYTES;
                    let each = text_len(&between, row) + text_len(&for_null, row) + VALUE_BYTES;
                    num_values
                        .saturating_mul(each)
                        .saturating_add(at(&lists, row))
                })
            }
            Self::Type => per_row(&|_| 0),
        })
    }
}

/// Bounds of a list of all values from a start to an end.
fn range_bounds(args: &[ColumnarValue], num_rows: usize) -> Result<PerRow> {
    let is_time = args
        .first()
        .is_some_and(|arg| !arg.data_type().is_integer());
    let ints = |arg: &ColumnarValue| match arg.data_type() {
        DataType::Timestamp(_, zone) => {
            let nanoseconds = DataType::Timestamp(TimeUnit::Nanosecond, zone);
            integers(&arg.cast_to(&nanoseconds, None)?)
        }
        DataType::Date64 => integers(&arg.cast_to(&DataType::Date32, None)?),
        _ => integers(arg),
    };
    let (starts, stops, steps) = match args {
        [stop] => (None, ints(stop)?, None),
        [start, stop] => (Some(ints(start)?), ints(stop)?, None),
        [start, stop, step, ..] if is_time => {
            let is_days = !matches!(start.data_type(), DataType::Timestamp(..));
            (
                Some(ints(start)?),
                ints(stop)?,
                Some(strides(step, is_days)?),
            )
        }
        [start, stop, step, ..] => (Some(ints(start)?), ints(stop)?, Some(ints(step)?)),
        [] => {
            return Ok(PerRow {
                numbers: none(),
                num_rows,
            });
        }
    };
    let pick = |numbers: &Option<Vec<Option<i64>>>, row: usize, default: i64| match numbers {
        Some(numbers) => integer_at(numbers, row),
        None => Some(default),
    };
    let row_bytes = |row: usize| {
        let (start, stop, step) = (
            pick(&starts, row, 0)?,
            integer_at(&stops, row)?,
            pick(&steps, row, 1)?,
        );
        if is_time && step == 0 {
            return Some(u64::MAX);
        }
        let values = stop.abs_diff(start) / step.unsigned_abs().max(1);
        let is_empty = !is_time && (stop > start) != (step > 0);
        let values = if is_empty {
            1
        } else {
            values.saturating_add(2)
        };
        Some(values.saturating_mul(8))
    };
    Ok(PerRow {
        numbers: (0..num_rows)
            .map(|row| row_bytes(row).unwrap_or(0))
            .collect(),
        num_rows,
    })
}

/// The shortest distance that an interval moves a date (in days) or a time (in nanoseconds). It is 0 if its
/// parts have different signs, because those can cancel each other.
fn strides(step: &ColumnarValue, is_days: bool) -> Result<Vec<Option<i64>>> {
    const DAY_NANOSECONDS: i64 = 20 * 3_600_000_000_000;
    let array = array_of(step)?;
    let array = cast(&array, &DataType::Interval(IntervalUnit::MonthDayNano))?;
    let stride = |value| {
        let (months, days, nanoseconds) = IntervalMonthDayNanoType::to_parts(value);
        let days = [i64::from(months) * 28, i64::from(days)];
        let nanoseconds = if is_days { 0 } else { nanoseconds };
        let parts = [days[0], days[1], nanoseconds];
        if parts.iter().any(|&part| part < 0) && parts.iter().any(|&part| part > 0) {
            return 0;
        }
        let num_days = days[0].abs() + days[1].abs();
        if is_days {
            num_days
        } else {
            let nanoseconds = i64::try_from(nanoseconds.unsigned_abs()).unwrap_or(i64::MAX);
            num_days
                .saturating_mul(DAY_NANOSECONDS)
                .saturating_add(nanoseconds)
        }
    };
    let values = array.as_primitive::<IntervalMonthDayNanoType>();
    Ok(values.iter().map(|value| value.map(stride)).collect())
}

/// Bytes of each value, including [`VALUE_BYTES`]; a null has only those.
pub(super) fn sizes(array: &ArrayRef) -> PerRow {
    PerRow {
        numbers: value_sizes(array),
        num_rows: array.len(),
    }
}

fn value_sizes(array: &ArrayRef) -> Vec<u64> {
    fn each(array: &ArrayRef, len: impl Fn(usize) -> usize) -> Vec<u64> {
        let sized = |row| {
            if array.is_null(row) {
                0
            } else {
                len(row) as u64
            }
        };
        (0..array.len())
            .map(|row| sized(row) + VALUE_BYTES)
            .collect()
    }
    match array.data_type() {
        DataType::Utf8 => each(array, |row| array.as_string::<i32>().value(row).len()),
        DataType::LargeUtf8 => each(array, |row| array.as_string::<i64>().value(row).len()),
        DataType::Utf8View => each(array, |row| array.as_string_view().value(row).len()),
        DataType::Binary => each(array, |row| array.as_binary::<i32>().value(row).len()),
        DataType::LargeBinary => each(array, |row| array.as_binary::<i64>().value(row).len()),
        DataType::BinaryView => each(array, |row| array.as_binary_view().value(row).len()),
        DataType::List(_) => list_sizes(array.as_list::<i32>()),
        DataType::LargeList(_) => list_sizes(array.as_list::<i64>()),
        DataType::FixedSizeList(_, len) => {
            let values = value_sizes(array.as_fixed_size_list().values());
            let len = *len as usize;
            let row_bytes = |row| values[row * len..(row + 1) * len].iter().sum::<u64>();
            (0..array.len())
                .map(|row| row_bytes(row) + VALUE_BYTES)
                .collect()
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
            sums(&value_sizes(&entries), map.offsets())
        }
        DataType::Struct(_) => {
            let mut totals = vec![VALUE_BYTES; array.len()];
            for column in array.as_struct().columns() {
                for (total, bytes) in totals.iter_mut().zip(value_sizes(column)) {
                    *total += bytes;
                }
            }
            totals
        }
        other => vec![item_bytes(other).max(VALUE_BYTES); array.len()],
    }
}

fn list_sizes<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> Vec<u64> {
    let (first, last) = (list.offsets()[0], list.offsets()[list.len()]);
    let (first, last) = (first.as_usize(), last.as_usize());
    let values = value_sizes(&list.values().slice(first, last - first));
    let shifted: Vec<O> = list
        .offsets()
        .iter()
        .map(|offset| O::usize_as(offset.as_usize() - first))
        .collect();
    sums(&values, &shifted)
}

fn sums<O: OffsetSizeTrait>(values: &[u64], offsets: &[O]) -> Vec<u64> {
    offsets
        .windows(2)
        .map(|pair| {
            let range = pair[0].as_usize()..pair[1].as_usize();
            values[range].iter().sum::<u64>() + VALUE_BYTES
        })
        .collect()
}

/// Bytes of one value that is filled in; for a list, bytes of its item.
fn item_bytes(data_type: &DataType) -> u64 {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) => {
            item_bytes(item.data_type()).max(VALUE_BYTES)
        }
        DataType::FixedSizeBinary(size) => *size as u64,
        DataType::FixedSizeList(item, size) => {
            (*size as u64).saturating_mul(item_bytes(item.data_type()).max(VALUE_BYTES))
        }
        DataType::Struct(fields) => fields
            .iter()
            .map(|field| item_bytes(field.data_type()).max(VALUE_BYTES))
            .sum(),
        other => other
            .primitive_width()
            .map_or(VALUE_BYTES, |width| width as u64),
    }
}

fn argument_sizes(arg: &ColumnarValue) -> Result<Vec<u64>> {
    Ok(value_sizes(&array_of(arg)?))
}

fn text_len(sizes: &[u64], row: usize) -> u64 {
    at(sizes, row).saturating_sub(VALUE_BYTES)
}

/// Counts; nulls and negative numbers become 0.
fn counts(arg: &ColumnarValue) -> Result<Vec<u64>> {
    let integers = integers(arg)?;
    let count = |integer: Option<i64>| integer.and_then(|n| u64::try_from(n).ok());
    Ok(integers
        .into_iter()
        .map(|n| count(n).unwrap_or(0))
        .collect())
}

fn integers(arg: &ColumnarValue) -> Result<Vec<Option<i64>>> {
    let mut array = array_of(arg)?;
    if array.data_type() == &DataType::Date32 {
        array = cast(&array, &DataType::Int32)?;
    }
    let array = cast(&array, &DataType::Int64)?;
    let array: &Int64Array = array.as_primitive();
    Ok(array.iter().collect())
}

fn texts_of(arg: Option<&ColumnarValue>) -> Result<Option<LargeStringArray>> {
    arg.map(|arg| {
        let texts = cast(&array_of(arg)?, &DataType::LargeUtf8)?;
        Ok(texts.as_string::<i64>().clone())
    })
    .transpose()
}

fn text_at(texts: &LargeStringArray, row: usize) -> &str {
    let index = if texts.len() == 1 { 0 } else { row };
    if texts.is_null(index) {
        ""
    } else {
        texts.value(index)
    }
}

/// The argument as an array, of length 1 for a constant.
fn array_of(arg: &ColumnarValue) -> Result<ArrayRef> {
    match arg {
        ColumnarValue::Array(array) => Ok(std::sync::Arc::clone(array)),
        ColumnarValue::Scalar(scalar) => scalar.to_array(),
    }
}

fn at(numbers: &[u64], row: usize) -> u64 {
    let index = if numbers.len() == 1 { 0 } else { row };
    numbers.get(index).copied().unwrap_or(0)
}

fn integer_at(numbers: &[Option<i64>], row: usize) -> Option<i64> {
    let index = if numbers.len() == 1 { 0 } else { row };
    numbers.get(index).copied().flatten()
}

fn none() -> Vec<u64> {
    vec![0]
}
