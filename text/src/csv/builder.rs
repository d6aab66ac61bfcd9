//! Arrays from fields, strictly: a value that the type cannot hold exactly is refused.

use std::mem::take;
use std::sync::Arc;

use arrow_array::types::{
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, PrimitiveArray,
    StringArray, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt64Array,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use crate::csv::dialect::Syntax;
use crate::csv::facts::Facts;
use crate::csv::records::Block;
use crate::csv::values::{ValueSyntax, parse_bool};
use crate::number::{parse_decimal, parse_f64, parse_i64, parse_non_finite, parse_u64};
use crate::time::{TimeOfDay, Timestamp, Zone, parse_date};
use crate::{TextErrorKind, type_word};

/// Characters of a wrong value that an error shows.
const MAX_SHOWN_CHARS: usize = 100;

/// Builds the array of one column.
#[derive(Debug)]
pub(crate) struct ColumnBuilder {
    data_type: DataType,
    values: Values,
    nulls: NullBufferBuilder,
}

/// The values of the rows so far; null rows have any value.
#[derive(Debug)]
enum Values {
    Bool(BooleanBufferBuilder),
    Int64(Vec<i64>),
    UInt64(Vec<u64>),
    Float64(Vec<f64>),
    Decimal(Vec<i128>, u8, i8),
    Date(Vec<i32>),
    Time32(Vec<i32>, TimeUnit),
    Time64(Vec<i64>, TimeUnit),
    Timestamp(Vec<i64>, TimeUnit, Option<Zone>),
    /// All texts in a row, and the end of each behind a first 0.
    Text(Vec<u8>, Vec<i32>),
}

impl Values {
    fn new(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Boolean => Self::Bool(BooleanBufferBuilder::new(0)),
            DataType::Int64 => Self::Int64(Vec::new()),
            DataType::UInt64 => Self::UInt64(Vec::new()),
            DataType::Float64 => Self::Float64(Vec::new()),
            DataType::Decimal128(precision, scale) if *scale >= 0 => {
                Self::Decimal(Vec::new(), *precision, *scale)
            }
            DataType::Date32 => Self::Date(Vec::new()),
            DataType::Time32(unit @ (TimeUnit::Second | TimeUnit::Millisecond)) => {
                Self::Time32(Vec::new(), *unit)
            }
            DataType::Time64(unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond)) => {
                Self::Time64(Vec::new(), *unit)
            }
            DataType::Timestamp(unit, None) => Self::Timestamp(Vec::new(), *unit, None),
            DataType::Timestamp(unit, Some(zone)) => {
                Self::Timestamp(Vec::new(), *unit, Some(Zone::parse_name(zone)?))
            }
            DataType::Utf8 => Self::Text(Vec::new(), vec![0]),
            _ => return None,
        })
    }
}

/// The fields of one column of a block, and how to read them.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub(crate) block: Block<'a>,
    pub(crate) column: usize,
    pub(crate) syntax: &'a Syntax,
    pub(crate) values: &'a ValueSyntax,
}

impl Fields<'_> {
    /// Calls `append` for the first `num_rows` values, in order: `None` for null. Returns the row where
    /// it returned false.
    #[inline]
    fn try_for_each(
        self,
        num_rows: usize,
        mut append: impl FnMut(Option<&[u8]>) -> bool,
    ) -> Result<(), usize> {
        let mut unescaped = Vec::new();
        for (row, span) in self.block.column(self.column).take(num_rows).enumerate() {
            let mut value = span.bytes(self.block.text);
            if span.is_escaped() {
                unescaped.clear();
                self.syntax.unescape(value, &mut unescaped);
                value = &unescaped;
            }
            let is_null = self.values.is_null(value, span.is_quoted());
            if !append((!is_null).then_some(value)) {
                return Err(row);
            }
        }
        Ok(())
    }

    fn value(self, row: usize) -> (Vec<u8>, bool) {
        let mut value = Vec::new();
        let Some(span) = self.block.row(row).get(self.column) else {
            return (value, false);
        };
        let bytes = span.bytes(self.block.text);
        if span.is_escaped() {
            self.syntax.unescape(bytes, &mut value);
        } else {
            value.extend_from_slice(bytes);
        }
        (value, span.is_quoted())
    }
}

/// Appends values of a fixed width. Returns the row of the first that `parse` does not read.
#[inline]
fn append_values<T: Default>(
    values: &mut Vec<T>,
    nulls: &mut NullBufferBuilder,
    fields: Fields<'_>,
    num_rows: usize,
    parse: impl Fn(&[u8]) -> Option<T>,
) -> Result<(), usize> {
    values.reserve(num_rows);
    fields.try_for_each(num_rows, |value| match value {
        None => {
            values.push(T::default());
            nulls.append_null();
            true
        }
        Some(value) => match parse(value) {
            None => false,
            Some(value) => {
                values.push(value);
                nulls.append_non_null();
                true
            }
        },
    })
}

fn append_bools(
    values: &mut BooleanBufferBuilder,
    nulls: &mut NullBufferBuilder,
    fields: Fields<'_>,
    num_rows: usize,
) -> Result<(), usize> {
    fields.try_for_each(num_rows, |value| {
        let parsed = value.map(parse_bool);
        if parsed == Some(None) {
            return false;
        }
        values.append(parsed.flatten().unwrap_or_default());
        nulls.append(parsed.is_some());
        true
    })
}

fn append_texts(
    bytes: &mut Vec<u8>,
    ends: &mut Vec<i32>,
    nulls: &mut NullBufferBuilder,
    fields: Fields<'_>,
    num_rows: usize,
) -> Result<(), usize> {
    ends.reserve(num_rows);
    fields.try_for_each(num_rows, |value| {
        bytes.extend_from_slice(value.unwrap_or_default());
        nulls.append(value.is_some());
        let end = i32::try_from(bytes.len());
        ends.extend(end);
        end.is_ok()
    })
}

impl ColumnBuilder {
    /// A builder of arrays of `data_type`; `None` if it is not a type of the vocabulary of
    /// [`type_word`].
    pub(crate) fn new(data_type: &DataType) -> Option<Self> {
        Some(Self {
            values: Values::new(data_type)?,
            data_type: data_type.clone(),
            nulls: NullBufferBuilder::new(0),
        })
    }

    /// Appends the first `num_rows` fields, or those before the first that does not fit. Returns the
    /// row of that one.
    pub(crate) fn append(&mut self, fields: Fields<'_>, num_rows: usize) -> Result<(), usize> {
        let nulls = &mut self.nulls;
        match &mut self.values {
            Values::Bool(values) => append_bools(values, nulls, fields, num_rows),
            Values::Int64(values) => append_values(values, nulls, fields, num_rows, |value| {
                parse_integer(value, fields.values)
            }),
            Values::UInt64(values) => append_values(values, nulls, fields, num_rows, |value| {
                parse_u64(&fields.values.number(value)?)
            }),
            Values::Float64(values) => append_values(values, nulls, fields, num_rows, |value| {
                parse_float(value, fields.values)
            }),
            Values::Decimal(values, precision, scale) => {
                append_values(values, nulls, fields, num_rows, |value| {
                    parse_decimal(&fields.values.number(value)?, *precision, *scale)
                })
            }
            Values::Date(values) => append_values(values, nulls, fields, num_rows, parse_date),
            Values::Time32(values, unit) => {
                append_values(values, nulls, fields, num_rows, |value| {
                    TimeOfDay::parse(value)?.in_unit(*unit)?.try_into().ok()
                })
            }
            Values::Time64(values, unit) => {
                append_values(values, nulls, fields, num_rows, |value| {
                    TimeOfDay::parse(value)?.in_unit(*unit)
                })
            }
            Values::Timestamp(values, unit, zone) => {
                append_values(values, nulls, fields, num_rows, |value| {
                    parse_timestamp(value, *zone)?.in_unit(*unit)
                })
            }
            Values::Text(bytes, ends) => append_texts(bytes, ends, nulls, fields, num_rows),
        }
    }

    /// Drops the rows from `num_rows` on.
    pub(crate) fn truncate(&mut self, num_rows: usize) {
        self.nulls.truncate(num_rows);
        match &mut self.values {
            Values::Bool(values) => values.truncate(num_rows),
            Values::Int64(values) | Values::Time64(values, _) | Values::Timestamp(values, ..) => {
                values.truncate(num_rows);
            }
            Values::UInt64(values) => values.truncate(num_rows),
            Values::Float64(values) => values.truncate(num_rows),
            Values::Decimal(values, ..) => values.truncate(num_rows),
            Values::Date(values) | Values::Time32(values, _) => values.truncate(num_rows),
            Values::Text(bytes, ends) => {
                ends.truncate(num_rows + 1);
                let end = ends.last().copied().unwrap_or_default();
                bytes.truncate(usize::try_from(end).unwrap_or_default());
            }
        }
    }

    /// Bytes of text in the column so far; 0 for other types.
    pub(crate) fn text_bytes(&self) -> usize {
        match &self.values {
            Values::Text(bytes, _) => bytes.len(),
            _ => 0,
        }
    }

    /// The array of the rows so far. The builder begins anew.
    pub(crate) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let nulls = self.nulls.finish();
        Ok(match &mut self.values {
            Values::Bool(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Values::Int64(values) => Arc::new(Int64Array::try_new(take(values).into(), nulls)?),
            Values::UInt64(values) => Arc::new(UInt64Array::try_new(take(values).into(), nulls)?),
            Values::Float64(values) => Arc::new(Float64Array::try_new(take(values).into(), nulls)?),
            Values::Decimal(values, precision, scale) => {
                let array = Decimal128Array::try_new(take(values).into(), nulls)?;
                Arc::new(array.with_precision_and_scale(*precision, *scale)?)
            }
            Values::Date(values) => Arc::new(Date32Array::try_new(take(values).into(), nulls)?),
            Values::Time32(values, unit) => {
                let values: ScalarBuffer<i32> = take(values).into();
                match unit {
                    TimeUnit::Second => {
                        Arc::new(PrimitiveArray::<Time32SecondType>::try_new(values, nulls)?)
                    }
                    _ => Arc::new(PrimitiveArray::<Time32MillisecondType>::try_new(
                        values, nulls,
                    )?),
                }
            }
            Values::Time64(values, unit) => {
                let values: ScalarBuffer<i64> = take(values).into();
                match unit {
                    TimeUnit::Nanosecond => Arc::new(
                        PrimitiveArray::<Time64NanosecondType>::try_new(values, nulls)?,
                    ),
                    _ => Arc::new(PrimitiveArray::<Time64MicrosecondType>::try_new(
                        values, nulls,
                    )?),
                }
            }
            Values::Timestamp(values, unit, zone) => {
                let values: ScalarBuffer<i64> = take(values).into();
                let zone = zone.map(|zone| Arc::<str>::from(zone.name()));
                match unit {
                    TimeUnit::Second => Arc::new(
                        TimestampSecondArray::try_new(values, nulls)?.with_timezone_opt(zone),
                    ),
                    TimeUnit::Millisecond => Arc::new(
                        TimestampMillisecondArray::try_new(values, nulls)?.with_timezone_opt(zone),
                    ),
                    TimeUnit::Microsecond => Arc::new(
                        TimestampMicrosecondArray::try_new(values, nulls)?.with_timezone_opt(zone),
                    ),
                    TimeUnit::Nanosecond => Arc::new(
                        TimestampNanosecondArray::try_new(values, nulls)?.with_timezone_opt(zone),
                    ),
                }
            }
            Values::Text(bytes, ends) => {
                let (next_bytes, next_ends) = (Vec::with_capacity(bytes.len()), vec![0]);
                let bytes = std::mem::replace(bytes, next_bytes);
                let ends = std::mem::replace(ends, next_ends);
                let offsets = OffsetBuffer::new(ends.into());
                Arc::new(StringArray::try_new(
                    offsets,
                    Buffer::from_vec(bytes),
                    nulls,
                )?)
            }
        })
    }

    /// The error for the value in `row` of a column, which does not fit.
    pub(crate) fn misfit(&self, name: &str, fields: Fields<'_>, row: usize) -> TextErrorKind {
        let (value, is_quoted) = fields.value(row);
        let mut facts = Facts::of_type(&self.data_type);
        facts.observe_field(&value, is_quoted, fields.values);
        let mut fitting = facts.data_type();
        if fitting == self.data_type {
            fitting = DataType::Utf8;
        }
        let shown = String::from_utf8_lossy(&value);
        TextErrorKind::Misfit {
            column: name.into(),
            value: shown.chars().take(MAX_SHOWN_CHARS).collect(),
            expected: type_word(&self.data_type),
            fitting: type_word(&fitting),
        }
    }
}

#[inline]
fn parse_integer(value: &[u8], values: &ValueSyntax) -> Option<i64> {
    match values.short_number(value) {
        Some(number) => number.to_i64(),
        None => parse_i64(&values.number(value)?),
    }
}

#[inline]
fn parse_float(value: &[u8], values: &ValueSyntax) -> Option<f64> {
    if let Some(number) = values.short_number(value) {
        return number.to_f64();
    }
    let number = values.number(value)?;
    parse_f64(&number).or_else(|| parse_non_finite(&number))
}

/// Reads a timestamp of the zone; without one, also a date, which is its midnight.
#[inline]
fn parse_timestamp(value: &[u8], zone: Option<Zone>) -> Option<Timestamp> {
    match Timestamp::parse(value) {
        Some(timestamp) => (timestamp.zone == zone).then_some(timestamp),
        None if zone.is_none() => parse_date(value).map(Timestamp::midnight),
        None => None,
    }
}

#[cfg(test)]
mod tests;
