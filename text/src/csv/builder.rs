//! Arrays from fields, strictly: a value that the type cannot hold exactly is refused.

use std::mem::take;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, StringArray, UInt64Array,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBufferBuilder, OffsetBuffer};
use arrow_schema::{ArrowError, DataType};

use crate::csv::dialect::Syntax;
use crate::csv::facts::Facts;
use crate::csv::records::Block;
use crate::csv::values::{ValueSyntax, parse_bool};
use crate::number::{parse_decimal, parse_f64, parse_i64, parse_non_finite, parse_u64};
use crate::time::{TimeType, time_array};
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
    Times(Vec<i64>, TimeType),
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
            DataType::Utf8 => Self::Text(Vec::new(), vec![0]),
            _ => Self::Times(Vec::new(), TimeType::of(data_type)?),
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
                fields.values.number(value, parse_u64)
            }),
            Values::Float64(values) => append_values(values, nulls, fields, num_rows, |value| {
                parse_float(value, fields.values)
            }),
            Values::Decimal(values, precision, scale) => {
                append_values(values, nulls, fields, num_rows, |value| {
                    let parse = |number: &[u8]| parse_decimal(number, *precision, *scale);
                    fields.values.number(value, parse)
                })
            }
            Values::Times(values, time_type) => {
                let time_type = *time_type;
                match fields.values.dates {
                    None => append_values(values, nulls, fields, num_rows, |value| {
                        time_type.parse(value)
                    }),
                    Some(notation) => append_values(values, nulls, fields, num_rows, |value| {
                        time_type.parse_as(value, notation)
                    }),
                }
            }
            Values::Text(bytes, ends) => append_texts(bytes, ends, nulls, fields, num_rows),
        }
    }

    /// Drops the rows from `num_rows` on.
    pub(crate) fn truncate(&mut self, num_rows: usize) {
        self.nulls.truncate(num_rows);
        match &mut self.values {
            Values::Bool(values) => values.truncate(num_rows),
            Values::Int64(values) | Values::Times(values, _) => values.truncate(num_rows),
            Values::UInt64(values) => values.truncate(num_rows),
            Values::Float64(values) => values.truncate(num_rows),
            Values::Decimal(values, ..) => values.truncate(num_rows),
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
            Values::Times(values, _) => time_array(&self.data_type, take(values), nulls)?,
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
        None => values.number(value, parse_i64),
    }
}

#[inline]
fn parse_float(value: &[u8], values: &ValueSyntax) -> Option<f64> {
    if let Some(number) = values.short_number(value) {
        return number.to_f64();
    }
    values.number(value, |number| {
        parse_f64(number).or_else(|| parse_non_finite(number))
    })
}

#[cfg(test)]
mod tests;
