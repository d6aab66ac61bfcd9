//! A sum that fails where it overflows, which DataFusion's wraps around.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Decimal32Type, Decimal64Type,
    Decimal128Type, Decimal256Type, Int64Type, UInt64Type, i256,
};
use datafusion::arrow::error::ArrowError;
use datafusion::error::Result;
use datafusion::functions_aggregate::sum::Sum;

use crate::backend::embedded::plan::converted_aggregate::{Conversion, ConvertedAggregate};

/// Digits above those of the summed type: no table has so many rows that a sum has more.
const ROW_DIGITS: u8 = 10;

/// DataFusion's sum, computed in a wider type than its result has.
pub(crate) type CheckedSum = ConvertedAggregate<Sum, Widening>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Widening;

impl Conversion for Widening {
    fn inner_type(self, data_type: &DataType) -> Option<DataType> {
        const DIGITS: u8 = DECIMAL128_MAX_PRECISION - ROW_DIGITS;
        Some(match *data_type {
            DataType::Int64 | DataType::UInt64 => DataType::Decimal128(DIGITS, 0),
            DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) => {
                DataType::Decimal128(DIGITS, scale)
            }
            DataType::Decimal128(precision, scale) if precision > DIGITS => {
                DataType::Decimal256(DECIMAL256_MAX_PRECISION - ROW_DIGITS, scale)
            }
            _ => return None,
        })
    }

    /// Every value is within the type, so this is less work than a cast.
    fn convert(self, values: &ArrayRef, wide_type: &DataType) -> ArrayRef {
        macro_rules! widen {
            ($narrow:ty, $wide:ty, $convert:expr) => {{
                let wide: PrimitiveArray<$wide> = values.as_primitive::<$narrow>().unary($convert);
                Arc::new(wide.with_data_type(wide_type.clone()))
            }};
        }
        match values.data_type() {
            DataType::Int64 => widen!(Int64Type, Decimal128Type, i128::from),
            DataType::UInt64 => widen!(UInt64Type, Decimal128Type, i128::from),
            DataType::Decimal32(..) => widen!(Decimal32Type, Decimal128Type, i128::from),
            DataType::Decimal64(..) => widen!(Decimal64Type, Decimal128Type, i128::from),
            _ => widen!(Decimal128Type, Decimal256Type, i256::from_i128),
        }
    }

    /// # Errors
    /// `ArithmeticOverflow`: a sum is beyond the type of the result.
    fn convert_back(self, sums: &ArrayRef, result_type: &DataType) -> Result<ArrayRef> {
        let options = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        cast_with_options(sums, result_type, &options).map_err(|_| {
            let what = format!("a sum does not fit into {result_type}");
            ArrowError::ArithmeticOverflow(what).into()
        })
    }
}
