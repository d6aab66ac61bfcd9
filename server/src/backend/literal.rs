//! A literal among the values of a type, so that comparisons with it are exact.

use colonnade_core::semantics::{Comparison, Position};
use datafusion::arrow::datatypes::{DataType, TimeUnit, i256};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Operator, binary_expr, lit, not};

use crate::encode::IanaTimeZones;

/// A literal with which values of one type are compared.
#[derive(Debug, PartialEq)]
pub(crate) enum Literal {
    /// A value of the type.
    Value(ScalarValue),
    /// Between this value of the type and the next.
    After(ScalarValue),
    /// Less than every value of the type.
    Below,
    /// Greater than every value of the type.
    Above,
}

impl Literal {
    /// The position of a number, such as `-1.005`, among the values of a numeric type. Floats are rounded to the type,
    /// as the texts of its values are. `None` if the text is not a number, has more than 76 digits, or if the type is
    /// not numeric.
    pub(crate) fn of_number(text: &str, data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale) => {
                Some(placed(Position::of_number(text, *scale)?, data_type))
            }
            _ if data_type.is_integer() => Some(placed(Position::of_number(text, 0)?, data_type)),
            _ if data_type.is_floating() => {
                let value = ScalarValue::try_from_string(text.to_owned(), data_type);
                value.ok().map(Self::Value)
            }
            _ => None,
        }
    }

    /// The position of a date or time among the values of a type of dates or times; see [`Position::of_time`].
    pub(crate) fn of_time(text: &str, data_type: &DataType) -> Option<Self> {
        let position = Position::of_time(text, data_type, &IanaTimeZones)?;
        Some(placed(position, data_type))
    }

    /// The comparison of `expr`, whose values have the type, with the literal. Null for null.
    pub(crate) fn compare(self, expr: Expr, comparison: Comparison) -> Expr {
        use Comparison::{Eq, Ge, Gt, Le, Lt, Ne};
        let compare = |op, value| binary_expr(expr.clone(), op, Expr::Literal(value, None));
        match (self, comparison) {
            (Self::Value(value), Eq) => compare(Operator::Eq, value),
            (Self::Value(value), Ne) => compare(Operator::NotEq, value),
            (Self::Value(value), Lt) => compare(Operator::Lt, value),
            (Self::Value(value) | Self::After(value), Le) | (Self::After(value), Lt) => {
                compare(Operator::LtEq, value)
            }
            (Self::Value(value) | Self::After(value), Gt) | (Self::After(value), Ge) => {
                compare(Operator::Gt, value)
            }
            (Self::Value(value), Ge) => compare(Operator::GtEq, value),
            (Self::After(_) | Self::Below | Self::Above, Eq)
            | (Self::Below, Lt | Le)
            | (Self::Above, Gt | Ge) => never(expr),
            (Self::After(_) | Self::Below | Self::Above, Ne)
            | (Self::Below, Gt | Ge)
            | (Self::Above, Lt | Le) => not(never(expr)),
        }
    }
}

/// False for every value, null for null.
pub(crate) fn never(expr: Expr) -> Expr {
    expr.is_null().and(lit(ScalarValue::Boolean(None)))
}

/// Whether [`Literal::of_time`] knows the type.
pub(crate) fn is_time(data_type: &DataType) -> bool {
    use DataType::{Date32, Date64, Time32, Time64, Timestamp};
    matches!(
        data_type,
        Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..)
    )
}

fn placed(position: Position, data_type: &DataType) -> Literal {
    let (value, wrap): (_, fn(ScalarValue) -> Literal) = match position {
        Position::At(value) => (value, Literal::Value),
        Position::After(value) => (value, Literal::After),
        Position::Below => return Literal::Below,
        Position::Above => return Literal::Above,
    };
    match scalar(value, data_type) {
        Some(value) => wrap(value),
        None if value.is_negative() => Literal::Below,
        None => Literal::Above,
    }
}

/// The value of this type that is represented by the integer; `None` if it is beyond the type's width.
fn scalar(number: i256, data_type: &DataType) -> Option<ScalarValue> {
    let narrow = || number.to_i128();
    macro_rules! integer {
        ($variant:ident) => {
            ScalarValue::$variant(Some(narrow()?.try_into().ok()?))
        };
    }
    Some(match data_type {
        DataType::Int8 => integer!(Int8),
        DataType::Int16 => integer!(Int16),
        DataType::Int32 => integer!(Int32),
        DataType::Int64 => integer!(Int64),
        DataType::UInt8 => integer!(UInt8),
        DataType::UInt16 => integer!(UInt16),
        DataType::UInt32 => integer!(UInt32),
        DataType::UInt64 => integer!(UInt64),
        DataType::Decimal32(precision, scale) => {
            ScalarValue::Decimal32(Some(narrow()?.try_into().ok()?), *precision, *scale)
        }
        DataType::Decimal64(precision, scale) => {
            ScalarValue::Decimal64(Some(narrow()?.try_into().ok()?), *precision, *scale)
        }
        DataType::Decimal128(precision, scale) => {
            let digits = narrow().filter(|digits| digits.unsigned_abs() < 10_u128.pow(38))?;
            ScalarValue::Decimal128(Some(digits), *precision, *scale)
        }
        DataType::Decimal256(precision, scale) => {
            ScalarValue::Decimal256(Some(number), *precision, *scale)
        }
        DataType::Date32 => integer!(Date32),
        DataType::Date64 => integer!(Date64),
        DataType::Time32(TimeUnit::Second) => integer!(Time32Second),
        DataType::Time32(TimeUnit::Millisecond) => integer!(Time32Millisecond),
        DataType::Time64(TimeUnit::Microsecond) => integer!(Time64Microsecond),
        DataType::Time64(TimeUnit::Nanosecond) => integer!(Time64Nanosecond),
        DataType::Timestamp(unit, zone) => {
            let (ticks, zone) = (Some(narrow()?.try_into().ok()?), zone.clone());
            match unit {
                TimeUnit::Second => ScalarValue::TimestampSecond(ticks, zone),
                TimeUnit::Millisecond => ScalarValue::TimestampMillisecond(ticks, zone),
                TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(ticks, zone),
                TimeUnit::Nanosecond => ScalarValue::TimestampNanosecond(ticks, zone),
            }
        }
        _ => return None,
    })
}
