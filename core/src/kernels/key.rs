//! Maps values to unsigned integers with the same order.
//!
//! −0 is 0, and every NaN is the largest key of its type. Therefore filters, sorts and extremes all use
//! one comparison of integers.

use arrow_array::types::{IntervalDayTime, IntervalMonthDayNano};
use arrow_array::{Array, BooleanArray};
use arrow_buffer::{ArrowNativeType, i256};
use arrow_schema::{DataType, IntervalUnit};

/// How the values of a type are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Physical {
    Boolean,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    I128,
    I256,
    DayTime,
    MonthDayNano,
    /// Text or binary.
    Bytes,
    /// Values without an order: nested, union, null.
    Unordered,
}

impl Physical {
    pub(super) fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::Int8 => Self::I8,
            DataType::Int16 => Self::I16,
            DataType::Int32
            | DataType::Date32
            | DataType::Time32(_)
            | DataType::Decimal32(..)
            | DataType::Interval(IntervalUnit::YearMonth) => Self::I32,
            DataType::Int64
            | DataType::Date64
            | DataType::Time64(_)
            | DataType::Timestamp(..)
            | DataType::Duration(_)
            | DataType::Decimal64(..) => Self::I64,
            DataType::UInt8 => Self::U8,
            DataType::UInt16 => Self::U16,
            DataType::UInt32 => Self::U32,
            DataType::UInt64 => Self::U64,
            DataType::Float16 => Self::F16,
            DataType::Float32 => Self::F32,
            DataType::Float64 => Self::F64,
            DataType::Decimal128(..) => Self::I128,
            DataType::Decimal256(..) => Self::I256,
            DataType::Interval(IntervalUnit::DayTime) => Self::DayTime,
            DataType::Interval(IntervalUnit::MonthDayNano) => Self::MonthDayNano,
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => Self::Bytes,
            _ => Self::Unordered,
        }
    }

    /// The number of 64-bit parts of a key; 0 if there is no key.
    pub(super) fn num_limbs(self) -> usize {
        match self {
            Self::I128 | Self::MonthDayNano => 2,
            Self::I256 => 4,
            Self::Bytes | Self::Unordered => 0,
            _ => 1,
        }
    }
}

/// A key, which has the order of its values.
pub(super) trait Key: Copy + Ord {
    /// The 64 bits at `index`, from the least significant.
    fn limb(self, index: usize) -> u64;
    /// The key extended with leading zeros.
    fn widened(self) -> Key256;
}

impl Key for u64 {
    fn limb(self, _index: usize) -> u64 {
        self
    }
    fn widened(self) -> Key256 {
        (0, u128::from(self))
    }
}

impl Key for u128 {
    fn limb(self, index: usize) -> u64 {
        // Faster than a shift by a variable number of bits.
        if index == 0 {
            self as u64
        } else {
            (self >> 64) as u64
        }
    }
    fn widened(self) -> Key256 {
        (0, self)
    }
}

/// 256 bits, the high half first.
pub(super) type Key256 = (u128, u128);

impl Key for Key256 {
    fn limb(self, index: usize) -> u64 {
        if index < 2 {
            self.1.limb(index)
        } else {
            self.0.limb(index - 2)
        }
    }
    fn widened(self) -> Key256 {
        self
    }
}

/// A stored value that has a key.
pub(super) trait Keyed: ArrowNativeType {
    type Key: Key;
    fn key(self) -> Self::Key;
    fn is_nan(self) -> bool {
        false
    }
    fn is_finite(self) -> bool {
        true
    }
    /// The value of integers, ticks and digits; meaningless for other types.
    fn exact(self) -> i128 {
        0
    }
    /// The value of floats and of 256-bit digits; meaningless for other types.
    fn float(self) -> f64 {
        0.0
    }
}

macro_rules! keyed {
    ($($native:ty: $key:ty = |$value:ident| $body:expr $(, $number:ident = $as:expr)?;)*) => {
        $(impl Keyed for $native {
            type Key = $key;
            #[inline]
            fn key(self) -> $key {
                let $value = self;
                $body
            }
            $(keyed!(@$number $value $as);)?
        })*
    };
    (@exact $value:ident $as:expr) => {
        fn exact(self) -> i128 {
            let $value = self;
            $as
        }
    };
    (@float $value:ident $as:expr) => {
        fn float(self) -> f64 {
            let $value = self;
            $as
        }
    };
}

const SIGN: u64 = 1 << 63;
const SIGN_128: u128 = 1 << 127;

keyed! {
    i8: u64 = |value| i64::from(value) as u64 ^ SIGN, exact = i128::from(value);
    i16: u64 = |value| i64::from(value) as u64 ^ SIGN, exact = i128::from(value);
    i32: u64 = |value| i64::from(value) as u64 ^ SIGN, exact = i128::from(value);
    i64: u64 = |value| value as u64 ^ SIGN, exact = i128::from(value);
    u8: u64 = |value| u64::from(value), exact = i128::from(value);
    u16: u64 = |value| u64::from(value), exact = i128::from(value);
    u32: u64 = |value| u64::from(value), exact = i128::from(value);
    u64: u64 = |value| value, exact = i128::from(value);
    i128: u128 = |value| value as u128 ^ SIGN_128, exact = value;
    i256: Key256 = |value| {
        let (low, high) = value.to_parts();
        (high as u128 ^ SIGN_128, low)
    }, float = {
        let (low, high) = value.wrapping_abs().to_parts();
        let size = high as u128 as f64 * 2_f64.powi(128) + low as f64;
        if value.is_negative() { -size } else { size }
    };
    IntervalDayTime: u64 = |value| {
        (i64::from(value.days) << 32) as u64 ^ SIGN
            | u64::from(value.milliseconds as u32 ^ (1 << 31))
    };
    IntervalMonthDayNano: u128 = |value| {
        let days = u128::from(value.days as u32 ^ (1 << 31));
        let months = u128::from(value.months as u32 ^ (1 << 31));
        months << 96 | days << 64 | u128::from(value.nanoseconds as u64 ^ SIGN)
    };
}

macro_rules! keyed_float {
    ($($native:ty)*) => {
        $(impl Keyed for $native {
            type Key = u64;
            #[inline]
            fn key(self) -> u64 {
                let value = f64::from(self);
                if value.is_nan() {
                    return u64::MAX;
                }
                // Adding 0 turns −0 into 0 and changes nothing else.
                let bits = (value + 0.0).to_bits();
                bits ^ (((bits as i64) >> 63) as u64 | SIGN)
            }
            fn is_nan(self) -> bool {
                f64::from(self).is_nan()
            }
            fn is_finite(self) -> bool {
                f64::from(self).is_finite()
            }
            fn float(self) -> f64 {
                f64::from(self)
            }
        })*
    };
}

keyed_float! { half::f16 f32 f64 }

/// Evaluates `$body` with `$native` as the type in which `$physical` stores values. Evaluates `$other`
/// for booleans, bytes and types without an order.
macro_rules! with_native {
    ($physical:expr, $native:ident => $body:expr, _ => $other:expr) => {
        match $physical {
            $crate::kernels::key::Physical::I8 => {
                type $native = i8;
                $body
            }
            $crate::kernels::key::Physical::I16 => {
                type $native = i16;
                $body
            }
            $crate::kernels::key::Physical::I32 => {
                type $native = i32;
                $body
            }
            $crate::kernels::key::Physical::I64 => {
                type $native = i64;
                $body
            }
            $crate::kernels::key::Physical::U8 => {
                type $native = u8;
                $body
            }
            $crate::kernels::key::Physical::U16 => {
                type $native = u16;
                $body
            }
            $crate::kernels::key::Physical::U32 => {
                type $native = u32;
                $body
            }
            $crate::kernels::key::Physical::U64 => {
                type $native = u64;
                $body
            }
            $crate::kernels::key::Physical::F16 => {
                type $native = half::f16;
                $body
            }
            $crate::kernels::key::Physical::F32 => {
                type $native = f32;
                $body
            }
            $crate::kernels::key::Physical::F64 => {
                type $native = f64;
                $body
            }
            $crate::kernels::key::Physical::I128 => {
                type $native = i128;
                $body
            }
            $crate::kernels::key::Physical::I256 => {
                type $native = arrow_buffer::i256;
                $body
            }
            $crate::kernels::key::Physical::DayTime => {
                type $native = arrow_array::types::IntervalDayTime;
                $body
            }
            $crate::kernels::key::Physical::MonthDayNano => {
                type $native = arrow_array::types::IntervalMonthDayNano;
                $body
            }
            $crate::kernels::key::Physical::Boolean
            | $crate::kernels::key::Physical::Bytes
            | $crate::kernels::key::Physical::Unordered => $other,
        }
    };
}
pub(super) use with_native;

/// Calls `visit` with each value of rows `[start, end)` of a plain array that stores `N`; `None` is
/// null.
pub(super) fn each_native<N: ArrowNativeType>(
    array: &dyn Array,
    start: usize,
    end: usize,
    mut visit: impl FnMut(Option<N>),
) {
    let data = array.to_data();
    let values = &data.buffer::<N>(0)[start..end];
    match array.nulls() {
        None => values.iter().for_each(|&value| visit(Some(value))),
        Some(nulls) => {
            for (index, &value) in (start..end).zip(values) {
                visit(nulls.is_valid(index).then_some(value));
            }
        }
    }
}

/// Like [`each_native`] for booleans.
pub(super) fn each_boolean(
    array: &BooleanArray,
    start: usize,
    end: usize,
    mut visit: impl FnMut(Option<bool>),
) {
    for index in start..end {
        visit(array.is_valid(index).then(|| array.value(index)));
    }
}

/// Like [`each_native`] for text and binary.
pub(super) fn each_bytes<'a>(
    array: &'a dyn Array,
    start: usize,
    end: usize,
    mut visit: impl FnMut(Option<&'a [u8]>),
) {
    use arrow_array::cast::AsArray;
    macro_rules! each {
        ($array:expr) => {{
            let array = $array;
            for index in start..end {
                visit(array.is_valid(index).then(|| array.value(index).as_ref()));
            }
        }};
    }
    match array.data_type() {
        DataType::Utf8 => each!(array.as_string::<i32>()),
        DataType::LargeUtf8 => each!(array.as_string::<i64>()),
        DataType::Utf8View => each!(array.as_string_view()),
        DataType::Binary => each!(array.as_binary::<i32>()),
        DataType::LargeBinary => each!(array.as_binary::<i64>()),
        DataType::BinaryView => each!(array.as_binary_view()),
        DataType::FixedSizeBinary(_) => each!(array.as_fixed_size_binary()),
        _ => (start..end).for_each(|_| visit(None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_compare_as_values() {
        let floats = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -5e-324,
            -0.0,
            5e-324,
            1.5,
            f64::INFINITY,
            f64::NAN,
        ];
        assert!(floats.windows(2).all(|pair| pair[0].key() < pair[1].key()));
        assert_eq!((-0.0f64).key(), 0.0f64.key());
        assert_eq!((-f64::NAN).key(), f64::NAN.key());
        let wide = [
            i256::MIN,
            i256::from_i128(i128::MIN),
            i256::MINUS_ONE,
            i256::ZERO,
            i256::MAX,
        ];
        assert!(wide.windows(2).all(|pair| pair[0].key() < pair[1].key()));
        for index in 0..4 {
            assert!(i256::MAX.key().limb(index) == u64::MAX);
        }
        let spans = [(-1, 5), (0, -1), (0, 0), (1, i32::MIN)];
        let spans = spans.map(|(days, ms)| IntervalDayTime::new(days, ms).key());
        assert!(spans.is_sorted());
    }
}
