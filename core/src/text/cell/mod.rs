//! The text of one cell of an array of any type.

mod extension;
mod json;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalDayTimeType, IntervalMonthDayNanoType, IntervalYearMonthType, RunEndIndexType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use super::{CellKind, CellText, TimeZones, binary, decimal, float, interval, temporal};
pub use extension::Extension;
pub use json::write_json;
pub(crate) use json::write_json_string;

fn value<T: ArrowPrimitiveType>(array: &dyn Array, index: usize) -> T::Native {
    array.as_primitive::<T>().value(index)
}

/// Writes the text of `array[index]`; `index` is below the array's length. `extension` is that of the
/// array's field.
pub fn write_cell(
    array: &ArrayRef,
    extension: Option<Extension>,
    index: usize,
    zones: &dyn TimeZones,
    out: &mut CellText,
) -> CellKind {
    match extension {
        Some(extension) if array.is_valid(index) => extension.write(array, index, zones, out),
        _ => write_value(array.as_ref(), index, zones, out),
    }
}

/// Writes an integer of any of the eight types.
macro_rules! integer {
    ($array:expr, $index:expr, $out:expr, $type:ty) => {{
        $out.push(itoa::Buffer::new().format(value::<$type>($array, $index)));
        CellKind::Value
    }};
}

fn write_value(
    array: &dyn Array,
    index: usize,
    zones: &dyn TimeZones,
    out: &mut CellText,
) -> CellKind {
    let (array, index) = underlying(array, index);
    if array.is_null(index) {
        return CellKind::Null;
    }
    match array.data_type() {
        // Unreachable for the last three: `underlying` has resolved them to a plain value or a null.
        DataType::Null
        | DataType::Dictionary(..)
        | DataType::RunEndEncoded(..)
        | DataType::Union(..) => CellKind::Null,
        DataType::Boolean => {
            out.push(if array.as_boolean().value(index) {
                "true"
            } else {
                "false"
            });
            CellKind::Value
        }
        DataType::Int8 => integer!(array, index, out, Int8Type),
        DataType::Int16 => integer!(array, index, out, Int16Type),
        DataType::Int32 => integer!(array, index, out, Int32Type),
        DataType::Int64 => integer!(array, index, out, Int64Type),
        DataType::UInt8 => integer!(array, index, out, UInt8Type),
        DataType::UInt16 => integer!(array, index, out, UInt16Type),
        DataType::UInt32 => integer!(array, index, out, UInt32Type),
        DataType::UInt64 => integer!(array, index, out, UInt64Type),
        DataType::Float16 => float::write_f16(value::<Float16Type>(array, index), out),
        DataType::Float32 => float::write_f32(value::<Float32Type>(array, index), out),
        DataType::Float64 => float::write_f64(value::<Float64Type>(array, index), out),
        DataType::Decimal32(_, scale) => {
            decimal::write(value::<Decimal32Type>(array, index), *scale, out)
        }
        DataType::Decimal64(_, scale) => {
            decimal::write(value::<Decimal64Type>(array, index), *scale, out)
        }
        DataType::Decimal128(_, scale) => {
            decimal::write(value::<Decimal128Type>(array, index), *scale, out)
        }
        DataType::Decimal256(_, scale) => {
            decimal::write(value::<Decimal256Type>(array, index), *scale, out)
        }
        DataType::Date32 => temporal::write_date32(value::<Date32Type>(array, index), out),
        DataType::Date64 => temporal::write_date64(value::<Date64Type>(array, index), out),
        DataType::Time32(unit) => {
            let ticks = match unit {
                TimeUnit::Second => value::<Time32SecondType>(array, index),
                _ => value::<Time32MillisecondType>(array, index),
            };
            temporal::write_time(i64::from(ticks), *unit, out)
        }
        DataType::Time64(unit) => {
            let ticks = match unit {
                TimeUnit::Microsecond => value::<Time64MicrosecondType>(array, index),
                _ => value::<Time64NanosecondType>(array, index),
            };
            temporal::write_time(ticks, *unit, out)
        }
        DataType::Timestamp(unit, zone) => {
            let ticks = match unit {
                TimeUnit::Second => value::<TimestampSecondType>(array, index),
                TimeUnit::Millisecond => value::<TimestampMillisecondType>(array, index),
                TimeUnit::Microsecond => value::<TimestampMicrosecondType>(array, index),
                TimeUnit::Nanosecond => value::<TimestampNanosecondType>(array, index),
            };
            temporal::write_timestamp(ticks, *unit, zone.as_deref(), zones, out)
        }
        DataType::Duration(unit) => {
            let ticks = match unit {
                TimeUnit::Second => value::<DurationSecondType>(array, index),
                TimeUnit::Millisecond => value::<DurationMillisecondType>(array, index),
                TimeUnit::Microsecond => value::<DurationMicrosecondType>(array, index),
                TimeUnit::Nanosecond => value::<DurationNanosecondType>(array, index),
            };
            interval::write_duration(ticks, *unit, out)
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            interval::write_months(value::<IntervalYearMonthType>(array, index), out)
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let interval = value::<IntervalDayTimeType>(array, index);
            interval::write_day_time(interval.days, interval.milliseconds, out)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let interval = value::<IntervalMonthDayNanoType>(array, index);
            interval::write_month_day_nano(
                interval.months,
                interval.days,
                interval.nanoseconds,
                out,
            )
        }
        DataType::Utf8 => text(array.as_string::<i32>().value(index), out),
        DataType::LargeUtf8 => text(array.as_string::<i64>().value(index), out),
        DataType::Utf8View => text(array.as_string_view().value(index), out),
        DataType::Binary => binary::write(array.as_binary::<i32>().value(index), out),
        DataType::LargeBinary => binary::write(array.as_binary::<i64>().value(index), out),
        DataType::BinaryView => binary::write(array.as_binary_view().value(index), out),
        DataType::FixedSizeBinary(_) => {
            binary::write(array.as_fixed_size_binary().value(index), out)
        }
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..)
        | DataType::Struct(_)
        | DataType::Map(..) => {
            json::write_nested(array, index, zones, out);
            CellKind::Value
        }
    }
}

fn text(value: &str, out: &mut CellText) -> CellKind {
    out.push(value);
    CellKind::Value
}

/// The key of a slot that is not null. Validation has shown that it is in the dictionary.
fn dictionary_key(keys: &dyn Array, index: usize) -> usize {
    match keys.data_type() {
        DataType::Int8 => value::<Int8Type>(keys, index) as usize,
        DataType::Int16 => value::<Int16Type>(keys, index) as usize,
        DataType::Int32 => value::<Int32Type>(keys, index) as usize,
        DataType::Int64 => value::<Int64Type>(keys, index) as usize,
        DataType::UInt8 => usize::from(value::<UInt8Type>(keys, index)),
        DataType::UInt16 => usize::from(value::<UInt16Type>(keys, index)),
        DataType::UInt32 => value::<UInt32Type>(keys, index) as usize,
        _ => value::<UInt64Type>(keys, index) as usize,
    }
}

/// Follows dictionaries, runs and unions from a slot to its value, or to a null on the way.
pub(crate) fn underlying(mut array: &dyn Array, mut index: usize) -> (&dyn Array, usize) {
    while !array.is_null(index) {
        (array, index) = match array.data_type() {
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                (
                    dictionary.values().as_ref(),
                    dictionary_key(dictionary.keys(), index),
                )
            }
            DataType::RunEndEncoded(run_ends, _) => match run_ends.data_type() {
                DataType::Int16 => run::<Int16Type>(array, index),
                DataType::Int32 => run::<Int32Type>(array, index),
                _ => run::<Int64Type>(array, index),
            },
            DataType::Union(..) => {
                let union = array.as_union();
                (
                    union.child(union.type_id(index)).as_ref(),
                    union.value_offset(index),
                )
            }
            _ => break,
        };
    }
    (array, index)
}

fn run<R: RunEndIndexType>(array: &dyn Array, index: usize) -> (&dyn Array, usize) {
    let runs = array.as_run::<R>();
    (
        runs.values().as_ref(),
        runs.run_ends().get_physical_index(index),
    )
}
