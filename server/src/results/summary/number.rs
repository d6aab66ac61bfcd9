//! Numbers and times as exact integers, and back.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, make_array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Int32Type, Int64Type};
use datafusion::arrow::error::ArrowError;

/// The largest number of 38 digits.
const MAX_DECIMAL: i128 = 10_i128.pow(38) - 1;

/// How values of a type are represented as integers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Exact {
    /// Integers, and decimals of up to 38 digits with their scale.
    Digits(i8),
    /// Dates, times and durations, as ticks of their unit.
    Ticks(DataType),
}

impl Exact {
    /// `None` for a type whose values are compared as floats.
    pub(super) fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale) => Some(Self::Digits(*scale)),
            data_type if data_type.is_integer() => Some(Self::Digits(0)),
            data_type if data_type.is_temporal() => Some(Self::Ticks(data_type.clone())),
            _ => None,
        }
    }

    /// The valid values of an array of the type.
    pub(super) fn values(&self, array: &ArrayRef) -> Result<Vec<i128>, ArrowError> {
        Ok(match self {
            Self::Digits(scale) => {
                let digits = cast(array, &DataType::Decimal128(38, *scale))?;
                digits
                    .as_primitive::<Decimal128Type>()
                    .iter()
                    .flatten()
                    .collect()
            }
            Self::Ticks(data_type) => {
                let integers = integer_type(data_type);
                let ticks = reinterpret(array, integers.clone())?;
                match integers {
                    DataType::Int32 => widen(ticks.as_primitive::<Int32Type>().iter()),
                    _ => widen(ticks.as_primitive::<Int64Type>().iter()),
                }
            }
        })
    }

    /// An array of these values. Decimals are clamped to 38 digits; ticks outside the type become its largest
    /// value.
    pub(super) fn array(&self, values: &[i128]) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Digits(scale) => {
                let values = values.iter().map(|v| (*v).clamp(-MAX_DECIMAL, MAX_DECIMAL));
                let array = Decimal128Array::from_iter_values(values);
                Ok(Arc::new(array.with_precision_and_scale(38, *scale)?))
            }
            Self::Ticks(data_type) => {
                use datafusion::arrow::array::{Int32Array, Int64Array};
                let ticks: ArrayRef = match integer_type(data_type) {
                    DataType::Int32 => Arc::new(Int32Array::from_iter_values(
                        values.iter().map(|v| i32::try_from(*v).unwrap_or(i32::MAX)),
                    )),
                    _ => Arc::new(Int64Array::from_iter_values(
                        values.iter().map(|v| i64::try_from(*v).unwrap_or(i64::MAX)),
                    )),
                };
                reinterpret(&ticks, data_type.clone())
            }
        }
    }
}

fn integer_type(data_type: &DataType) -> DataType {
    match data_type.primitive_width() {
        Some(4) => DataType::Int32,
        _ => DataType::Int64,
    }
}

fn widen<T: Into<i128>>(values: impl Iterator<Item = Option<T>>) -> Vec<i128> {
    values.flatten().map(Into::into).collect()
}

/// The same bits as another type of the same width.
fn reinterpret(array: &ArrayRef, data_type: DataType) -> Result<ArrayRef, ArrowError> {
    let data = array
        .to_data()
        .into_builder()
        .data_type(data_type)
        .build()?;
    Ok(make_array(data))
}
