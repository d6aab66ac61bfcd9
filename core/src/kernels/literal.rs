//! The literals of a predicate: texts that are converted exactly to values of a column's type.

use arrow_buffer::i256;
use arrow_schema::DataType;

use super::key::{Key256, Keyed, Physical};
use super::literal_time::{parse_date, parse_time, parse_timestamp};
use crate::semantics::{DecimalPosition, from_hex};
use crate::text::TimeZones;

/// A literal as a key of the column's type, or its position outside the type's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    /// A value of the type.
    Narrow(u64),
    /// A value of a 128-bit type.
    Wide(u128),
    /// A value of a 256-bit type.
    Widest(Key256),
    /// Text or binary.
    Bytes(Vec<u8>),
    /// Less than every value of the type.
    Below,
    /// Greater than every value of the type.
    Above,
    /// Between this value of the type and the next: a decimal with more digits than the type has.
    After(Box<Literal>),
}

/// `text` as a value of the type. `None` if it is not one, or if values of the type have no text.
pub(super) fn parse_literal(
    text: &str,
    data_type: &DataType,
    zones: &dyn TimeZones,
) -> Option<Literal> {
    macro_rules! parsed {
        ($native:ty) => {
            Some(Literal::Narrow(text.parse::<$native>().ok()?.key()))
        };
    }
    match data_type {
        DataType::Boolean => match text.to_ascii_lowercase().as_str() {
            "true" => Some(Literal::Narrow(1)),
            "false" => Some(Literal::Narrow(0)),
            _ => None,
        },
        DataType::Int8 => parsed!(i8),
        DataType::Int16 => parsed!(i16),
        DataType::Int32 => parsed!(i32),
        DataType::Int64 => parsed!(i64),
        DataType::UInt8 => parsed!(u8),
        DataType::UInt16 => parsed!(u16),
        DataType::UInt32 => parsed!(u32),
        DataType::UInt64 => parsed!(u64),
        DataType::Float16 => Some(Literal::Narrow(
            half::f16::from_f64(text.parse().ok()?).key(),
        )),
        DataType::Float32 => parsed!(f32),
        DataType::Float64 => parsed!(f64),
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => decimal(text, *scale, Physical::of(data_type)),
        DataType::Date32 => {
            let days = i32::try_from(parse_date(text)?).ok()?;
            Some(Literal::Narrow(days.key()))
        }
        DataType::Date64 => {
            let ms = parse_timestamp(text, arrow_schema::TimeUnit::Millisecond, None, zones)?;
            Some(Literal::Narrow(ms.key()))
        }
        DataType::Time32(unit) => {
            let ticks = i32::try_from(parse_time(text, *unit)?).ok()?;
            Some(Literal::Narrow(ticks.key()))
        }
        DataType::Time64(unit) => Some(Literal::Narrow(parse_time(text, *unit)?.key())),
        DataType::Timestamp(unit, zone) => {
            let ticks = parse_timestamp(text, *unit, zone.as_deref(), zones)?;
            Some(Literal::Narrow(ticks.key()))
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            Some(Literal::Bytes(text.as_bytes().to_vec()))
        }
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => from_hex(text).map(Literal::Bytes),
        _ => None,
    }
}

fn decimal(text: &str, scale: i8, physical: Physical) -> Option<Literal> {
    let beyond = |value: i256| match value.is_negative() {
        true => Literal::Below,
        false => Literal::Above,
    };
    Some(match DecimalPosition::of(text, scale)? {
        DecimalPosition::At(value) => narrowed(value, physical).unwrap_or_else(|| beyond(value)),
        DecimalPosition::After(value) => match narrowed(value, physical) {
            Some(literal) => Literal::After(Box::new(literal)),
            None => beyond(value),
        },
        DecimalPosition::Below => Literal::Below,
        DecimalPosition::Above => Literal::Above,
    })
}

/// The key of an unscaled decimal; `None` if it exceeds the type's width.
fn narrowed(value: i256, physical: Physical) -> Option<Literal> {
    let narrow = || value.to_i128();
    match physical {
        Physical::I32 => Some(Literal::Narrow(i32::try_from(narrow()?).ok()?.key())),
        Physical::I64 => Some(Literal::Narrow(i64::try_from(narrow()?).ok()?.key())),
        Physical::I128 => Some(Literal::Wide(narrow()?.key())),
        _ => Some(Literal::Widest(value.key())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::FixedOffsets;

    fn literal(text: &str, data_type: &DataType) -> Option<Literal> {
        parse_literal(text, data_type, &FixedOffsets)
    }

    #[test]
    fn decimals_are_exact_whatever_their_scale() {
        let d = DataType::Decimal128(12, 2);
        let key = |value: i128| Literal::Wide(value.key());
        assert_eq!(literal("1.5", &d), Some(key(150)));
        assert_eq!(literal("-.05", &d), Some(key(-5)));
        assert_eq!(
            literal("1.005", &d),
            Some(Literal::After(Box::new(key(100))))
        );
        assert_eq!(
            literal("-1.005", &d),
            Some(Literal::After(Box::new(key(-101))))
        );
        assert_eq!(literal("1.00000", &d), Some(key(100)));
        assert_eq!(literal(&"9".repeat(60), &d), Some(Literal::Above));
        assert_eq!(
            literal(&format!("-{}", "9".repeat(60)), &d),
            Some(Literal::Below)
        );
        assert_eq!(literal("-0.00", &d), Some(key(0)));
        for wrong in ["", "-", ".", "1e5", "a", "--1", "1.2.3"] {
            assert_eq!(literal(wrong, &d), None, "{wrong}");
        }
    }

    #[test]
    fn values_of_other_types_are_refused() {
        assert_eq!(literal("1.5", &DataType::Int64), None);
        assert_eq!(literal("300", &DataType::Int8), None);
        assert_eq!(literal("yes", &DataType::Boolean), None);
        assert_eq!(literal("abc", &DataType::Binary), None);
        assert_eq!(literal("1", &DataType::Null), None);
        assert_eq!(
            literal("-0", &DataType::Float64),
            literal("0", &DataType::Float64)
        );
    }
}
