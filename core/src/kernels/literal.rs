//! The literals of a predicate: texts that are converted exactly to values of a column's type.

use arrow_buffer::i256;
use arrow_schema::DataType;

use super::key::{Key256, Keyed, Physical};
use crate::semantics::{Position, from_hex};
use crate::text::TimeZones;

/// A literal as a key of the column's type, or its position outside the type's values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Between this value of the type and the next: a literal with more digits than the type has.
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
        | DataType::Decimal256(_, scale) => {
            let position = Position::of_number(text, *scale)?;
            Some(placed(position, Physical::of(data_type)))
        }
        DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..) => {
            let position = Position::of_time(text, data_type, zones)?;
            Some(placed(position, Physical::of(data_type)))
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

/// The literal at a position among the values of a type.
fn placed(position: Position, physical: Physical) -> Literal {
    let (value, is_value) = match position {
        Position::At(value) => (value, true),
        Position::After(value) => (value, false),
        Position::Below => return Literal::Below,
        Position::Above => return Literal::Above,
    };
    match narrowed(value, physical) {
        Some(literal) if is_value => literal,
        Some(literal) => Literal::After(Box::new(literal)),
        None if value.is_negative() => Literal::Below,
        None => Literal::Above,
    }
}

/// The key of a value's integer; `None` if it exceeds the type's width.
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
        for wrong in ["", "-", ".", "1e", "a", "--1", "1.2.3"] {
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
