//! The least and greatest floats, which DataFusion's groups lose beside infinities and NaN.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type,
};
use datafusion::error::Result;
use datafusion::functions_aggregate::min_max::{Max, Min};
use datafusion::logical_expr::AggregateUDF;

use crate::backend::embedded::plan::converted_aggregate::{Conversion, ConvertedAggregate};

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// `min` or `max` of floats in place of DataFusion's; `None` for other functions.
///
/// DataFusion 55 begins a group of floats with the greatest or least finite number, lets every value follow a NaN
/// ([issue 24432](https://github.com/apache/datafusion/issues/24432), mended in later versions), and takes the first of
/// all groups without looking at NaN.
pub(super) fn extreme_of_floats(function: &AggregateUDF) -> Option<AggregateUDF> {
    let function = function.inner();
    if function.is::<Min>() {
        Some(Extreme::<Min>::default().into())
    } else if function.is::<Max>() {
        Some(Extreme::<Max>::default().into())
    } else {
        None
    }
}

/// `min` or `max`, computed with integers in place of floats.
type Extreme<F> = ConvertedAggregate<F, OrderedInteger>;

/// A float as the integer at its place in IEEE 754's total order. [`super::OneNan`] gives aggregates floats of which
/// that is the order: NaN is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct OrderedInteger;

/// The bits of negative numbers but their sign, which are in descending order, are turned; a second time gives them back.
macro_rules! turn {
    ($bits:expr, $sign:literal) => {{
        let bits = $bits;
        bits ^ ((bits >> $sign) & !(1 << $sign))
    }};
}

impl Conversion for OrderedInteger {
    fn inner_type(self, data_type: &DataType) -> Option<DataType> {
        Some(match data_type {
            DataType::Float16 => DataType::Int16,
            DataType::Float32 => DataType::Int32,
            DataType::Float64 => DataType::Int64,
            _ => return None,
        })
    }

    fn convert(self, values: &ArrayRef, _: &DataType) -> ArrayRef {
        match values.data_type() {
            DataType::Float16 => unary::<Float16Type, Int16Type>(values, |value| {
                turn!(value.to_bits().cast_signed(), 15)
            }),
            DataType::Float32 => unary::<Float32Type, Int32Type>(values, |value| {
                turn!(value.to_bits().cast_signed(), 31)
            }),
            _ => unary::<Float64Type, Int64Type>(values, |value| {
                turn!(value.to_bits().cast_signed(), 63)
            }),
        }
    }

    fn convert_back(self, results: &ArrayRef, _: &DataType) -> Result<ArrayRef> {
        Ok(match results.data_type() {
            DataType::Int16 => unary::<Int16Type, Float16Type>(results, |bits| {
                Half::from_bits(turn!(bits, 15).cast_unsigned())
            }),
            DataType::Int32 => unary::<Int32Type, Float32Type>(results, |bits| {
                f32::from_bits(turn!(bits, 31).cast_unsigned())
            }),
            _ => unary::<Int64Type, Float64Type>(results, |bits| {
                f64::from_bits(turn!(bits, 63).cast_unsigned())
            }),
        })
    }
}

fn unary<From: ArrowPrimitiveType, To: ArrowPrimitiveType>(
    values: &ArrayRef,
    convert: impl Fn(From::Native) -> To::Native,
) -> ArrayRef {
    let converted: PrimitiveArray<To> = values.as_primitive::<From>().unary(convert);
    Arc::new(converted)
}
