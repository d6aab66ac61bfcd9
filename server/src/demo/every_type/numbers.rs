//! The columns of numbers.

use datafusion::arrow::datatypes::*;
use half::f16;

use super::{Columns, Failure, primitive};

/// Adds these columns.
pub(super) fn add(columns: &mut Columns) -> Result<(), Failure> {
    columns.values::<Int8Type>("int8", &[0, 1, -1, i8::MIN, i8::MAX]);
    columns.values::<Int16Type>("int16", &[0, 1, -1, i16::MIN, i16::MAX]);
    columns.values::<Int32Type>("int32", &[0, 1, -1, i32::MIN, i32::MAX]);
    // 2^53 + 1 is the first whole number that a double cannot hold.
    columns.values::<Int64Type>(
        "int64",
        &[
            0,
            -1,
            9_007_199_254_740_993,
            -9_007_199_254_740_993,
            i64::MIN,
            i64::MAX,
        ],
    );
    columns.values::<UInt8Type>("uint8", &[0, 1, u8::MAX]);
    columns.values::<UInt16Type>("uint16", &[0, 1, u16::MAX]);
    columns.values::<UInt32Type>("uint32", &[0, 1, u32::MAX]);
    columns.values::<UInt64Type>("uint64", &[0, 1, 9_007_199_254_740_993, u64::MAX]);
    let halves = [
        0.0,
        -0.0,
        0.1,
        65504.0,
        -65504.0,
        6e-8,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ]
    .map(f16::from_f32);
    columns.values::<Float16Type>("float16", &halves);
    let singles = [
        0.0,
        -0.0,
        0.1,
        16_777_217.0,
        f32::MIN,
        f32::MAX,
        1e-45,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    columns.values::<Float32Type>("float32", &singles);
    let doubles = [
        0.0,
        -0.0,
        0.1,
        0.1 + 0.2,
        1e21,
        f64::MIN,
        f64::MAX,
        5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    columns.values::<Float64Type>("float64", &doubles);
    let small = primitive::<Decimal32Type>(&[0, 1, -1, 123_456_789, -999_999_999, 999_999_999]);
    columns.put("decimal32", small.with_precision_and_scale(9, 2)?);
    let middle =
        primitive::<Decimal64Type>(&[0, 1, -1, -999_999_999_999_999_999, 999_999_999_999_999_999]);
    columns.put("decimal64", middle.with_precision_and_scale(18, 6)?);
    let most = 10_i128.pow(38) - 1;
    let large = primitive::<Decimal128Type>(&[0, 1, -1, 12_345, most, -most]);
    columns.put(
        "decimal128",
        large.clone().with_precision_and_scale(38, 10)?,
    );
    columns.put(
        "decimal128 of thousands",
        large.with_precision_and_scale(38, -3)?,
    );
    let most = i256::from_string(&"9".repeat(76)).ok_or("76 digits fit")?;
    let huge = primitive::<Decimal256Type>(&[
        i256::ZERO,
        i256::ONE,
        i256::MINUS_ONE,
        most,
        most.wrapping_neg(),
    ]);
    columns.put("decimal256", huge.with_precision_and_scale(76, 38)?);
    Ok(())
}
