//! Facts about all numbers of a column, and the type that they make.

use arrow_schema::DataType;

use super::{MAX_DECIMAL_DIGITS, Number, parse_non_finite};

/// The least digits of a decimal whose largest number is not known.
const ROOMY_DIGITS: u8 = 18;

/// Facts about all numbers of a column. They do not depend on the numbers' order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NumberFacts {
    /// Any number, or any non-finite word.
    seen: bool,
    /// A number with a fraction or an exponent, or a negative zero, or a non-finite word.
    any_fractional: bool,
    /// A number less than zero.
    any_negative: bool,
    /// An integer outside of 64 bits with a sign.
    beyond_i64: bool,
    /// An integer outside of 64 bits without a sign.
    beyond_u64: bool,
    /// A number with more than [`MAX_FLOAT_DIGITS`], or outside of the range of doubles.
    beyond_float: bool,
    /// A non-finite word or a negative zero.
    beyond_decimal: bool,
    /// Most digits before the point, without leading zeros and exponent.
    integer_digits: u32,
    /// Most digits behind the point, without exponent.
    fraction_digits: u32,
}

impl NumberFacts {
    /// Adds a number. Returns false and adds nothing if `text` is not a number.
    #[inline]
    pub(crate) fn observe(&mut self, text: &[u8]) -> bool {
        match Number::parse(text) {
            Some(number) => {
                self.observe_number(&number);
                true
            }
            None => false,
        }
    }

    /// Adds `NaN`, `inf`, `-inf`, `Infinity` or `-Infinity`; returns false for any other text.
    #[inline]
    pub(crate) fn observe_non_finite(&mut self, text: &[u8]) -> bool {
        let found = parse_non_finite(text).is_some();
        if found {
            self.seen = true;
            self.any_fractional = true;
            self.beyond_decimal = true;
        }
        found
    }

    /// Adds a number.
    #[inline]
    pub(crate) fn observe_number(&mut self, number: &Number) {
        self.seen = true;
        self.any_negative |= number.negative;
        if number.num_digits <= 15 && number.exponent == 0 && !number.is_negative_zero() {
            self.any_fractional |= !number.integral;
            let fraction = number.fraction_len;
            self.integer_digits = self
                .integer_digits
                .max(number.num_digits.saturating_sub(fraction));
            self.fraction_digits = self.fraction_digits.max(fraction);
            self.beyond_float |= fraction > 300 && !number.is_zero() && number.to_f64().is_none();
        } else {
            self.observe_any(number);
        }
    }

    fn observe_any(&mut self, number: &Number) {
        let negative_zero = number.is_negative_zero();
        self.any_fractional |= !number.integral || negative_zero;
        self.beyond_decimal |= negative_zero;
        if number.integral {
            self.beyond_i64 |= number.to_i64().is_none();
            self.beyond_u64 |= number.to_u64().is_none();
        }
        self.beyond_float |= number.to_f64().is_none();
        self.integer_digits = self.integer_digits.max(number.integer_digits());
        self.fraction_digits = self.fraction_digits.max(number.fraction_digits());
    }

    /// Adds the numbers of other facts.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.seen |= other.seen;
        self.any_fractional |= other.any_fractional;
        self.any_negative |= other.any_negative;
        self.beyond_i64 |= other.beyond_i64;
        self.beyond_u64 |= other.beyond_u64;
        self.beyond_float |= other.beyond_float;
        self.beyond_decimal |= other.beyond_decimal;
        self.integer_digits = self.integer_digits.max(other.integer_digits);
        self.fraction_digits = self.fraction_digits.max(other.fraction_digits);
    }

    /// Whether no number was seen.
    pub(crate) fn is_empty(&self) -> bool {
        !self.seen
    }

    /// The type that holds all numbers exactly; `None` if there is none, or no number.
    pub(crate) fn data_type(&self) -> Option<DataType> {
        if !self.seen {
            return None;
        }
        if !self.any_fractional {
            if !self.beyond_i64 {
                return Some(DataType::Int64);
            }
            if !self.beyond_u64 && !self.any_negative {
                return Some(DataType::UInt64);
            }
        } else if !self.beyond_float {
            return Some(DataType::Float64);
        }
        self.decimal_type()
    }

    /// Facts of which `data_type` follows, for a column whose numbers are no longer known.
    ///
    /// Of integers, a column may hold more digits than a double does: a fraction among them makes
    /// `Float64` likely and not certain.
    pub(crate) fn holding(data_type: &DataType) -> Self {
        let mut facts = Self {
            seen: true,
            ..Self::default()
        };
        match *data_type {
            DataType::Int64 => facts.integer_digits = 19,
            DataType::UInt64 => {
                facts.integer_digits = 20;
                facts.beyond_i64 = true;
            }
            DataType::Decimal128(precision, scale) => {
                let integer_digits = i16::from(precision) - i16::from(scale);
                facts.integer_digits = u32::try_from(integer_digits).unwrap_or(0);
                facts.fraction_digits = u32::try_from(scale).unwrap_or(0);
                facts.any_fractional = scale > 0;
                facts.any_negative = true;
                facts.beyond_i64 = true;
                facts.beyond_u64 = true;
                facts.beyond_float = true;
            }
            _ => {
                facts.any_fractional = true;
                facts.beyond_decimal = true;
            }
        }
        facts
    }

    /// As [`Self::data_type`], but a decimal in place of a double if one holds all numbers, with room for larger ones.
    pub(crate) fn exact_type(&self) -> Option<DataType> {
        let is_fractional = self.any_fractional && !self.beyond_decimal;
        match self.decimal_type() {
            Some(DataType::Decimal128(precision, scale)) if is_fractional => {
                Some(DataType::Decimal128(precision.max(ROOMY_DIGITS), scale))
            }
            _ => self.data_type(),
        }
    }

    fn decimal_type(&self) -> Option<DataType> {
        let precision = self
            .integer_digits
            .saturating_add(self.fraction_digits)
            .max(1);
        if self.beyond_decimal || precision > MAX_DECIMAL_DIGITS {
            return None;
        }
        let precision = u8::try_from(precision).ok()?;
        let scale = i8::try_from(self.fraction_digits).ok()?;
        Some(DataType::Decimal128(precision, scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(texts: &[&str]) -> NumberFacts {
        let mut facts = NumberFacts::default();
        for text in texts {
            assert!(facts.observe(text.as_bytes()), "{text}");
        }
        let mut backwards = NumberFacts::default();
        for text in texts.iter().rev() {
            let mut one = NumberFacts::default();
            one.observe(text.as_bytes());
            backwards.merge(&one);
        }
        assert_eq!(facts, backwards);
        facts
    }

    fn type_of(texts: &[&str]) -> Option<DataType> {
        facts(texts).data_type()
    }

    #[test]
    fn texts_that_are_not_numbers_leave_no_facts() {
        for text in [
            "", "-", "+5", "01", "-01", "00", ".5", "5.", "1.e5", "1e", "1e+", "1 ", " 1", "1,5",
            "0x1", "1_0", "NaN", "inf", "1.5.5", "--1", "1e5.5", "\u{661}",
        ] {
            let mut facts = NumberFacts::default();
            assert!(!facts.observe(text.as_bytes()), "{text}");
            assert!(facts.is_empty());
            assert_eq!(facts.data_type(), None);
        }
    }

    #[test]
    fn integers_take_the_smallest_type_that_holds_them() {
        use DataType::{Decimal128, Int64, UInt64};
        assert_eq!(type_of(&["0", "1", "-5"]), Some(Int64));
        assert_eq!(
            type_of(&["9223372036854775807", "-9223372036854775808"]),
            Some(Int64)
        );
        assert_eq!(type_of(&["9223372036854775808"]), Some(UInt64));
        assert_eq!(type_of(&["18446744073709551615", "0"]), Some(UInt64));
        assert_eq!(
            type_of(&["18446744073709551615", "-1"]),
            Some(Decimal128(20, 0))
        );
        assert_eq!(type_of(&["18446744073709551616"]), Some(Decimal128(20, 0)));
        assert_eq!(type_of(&["-9223372036854775809"]), Some(Decimal128(19, 0)));
        assert_eq!(type_of(&[&"9".repeat(38)]), Some(Decimal128(38, 0)));
        assert_eq!(type_of(&[&"9".repeat(39)]), None);
        assert_eq!(type_of(&[&format!("1{}", "0".repeat(38))]), None);
    }

    #[test]
    fn fractions_are_doubles_up_to_17_digits_and_decimals_beyond() {
        use DataType::{Decimal128, Float64};
        assert_eq!(type_of(&["1", "1.5"]), Some(Float64));
        assert_eq!(type_of(&["1e3"]), Some(Float64));
        assert_eq!(type_of(&["-0"]), Some(Float64));
        assert_eq!(type_of(&["-0.0", "1.5"]), Some(Float64));
        assert_eq!(type_of(&["0.12345678901234566"]), Some(Float64));
        // The nearest double is the one before.
        assert_eq!(type_of(&["0.12345678901234567"]), Some(Decimal128(17, 17)));
        assert_eq!(type_of(&["3e-324"]), None);
        assert_eq!(type_of(&["0.123456789012345678"]), Some(Decimal128(18, 18)));
        assert_eq!(
            type_of(&["123456789012345678", "0.5"]),
            Some(Decimal128(19, 1))
        );
        assert_eq!(
            type_of(&["12345678901234567800000", "0.5"]),
            Some(Decimal128(24, 1))
        );
        assert_eq!(type_of(&["10000000000000000000000", "0.5"]), Some(Float64));
        assert_eq!(type_of(&["1.50000000000000000000000"]), Some(Float64));
        assert_eq!(
            type_of(&["1.234567890123456789e3"]),
            Some(Decimal128(19, 15))
        );
        assert_eq!(
            type_of(&["1.234567890123456789e-3"]),
            Some(Decimal128(21, 21))
        );
        assert_eq!(
            type_of(&["1.234567890123456789e25"]),
            Some(Decimal128(26, 0))
        );
        assert_eq!(type_of(&["1.234567890123456789e38"]), None);
        assert_eq!(type_of(&["1.234567890123456789", "-0"]), None);
        assert_eq!(
            type_of(&["1.234567890123456789", "0e-99"]),
            Some(Decimal128(19, 18))
        );
        assert_eq!(type_of(&["1e308", "1e-300"]), Some(Float64));
        assert_eq!(type_of(&["1e309"]), None);
        assert_eq!(type_of(&["1e-400"]), None);
        assert_eq!(type_of(&["0e400", "1.5"]), Some(Float64));
        assert_eq!(type_of(&["1e99999999999999999999"]), None);
        assert_eq!(type_of(&[&format!("0.{}1", "0".repeat(400))]), None);
    }

    #[test]
    fn non_finite_words_make_doubles() {
        let mut facts = facts(&["1"]);
        assert!(!facts.observe_non_finite(b"nan"));
        assert_eq!(facts.data_type(), Some(DataType::Int64));
        for word in ["NaN", "inf", "-inf", "Infinity", "-Infinity"] {
            assert!(facts.observe_non_finite(word.as_bytes()));
        }
        assert_eq!(facts.data_type(), Some(DataType::Float64));
        facts.observe(b"1.234567890123456789");
        assert_eq!(facts.data_type(), None);
    }

    #[test]
    fn facts_of_a_type_grow_with_a_number_that_it_cannot_hold() {
        use DataType::{Decimal128, Float64, Int64, UInt64};
        let grown = |data_type: &DataType, text: &str| {
            let mut facts = NumberFacts::holding(data_type);
            assert_eq!(facts.data_type().as_ref(), Some(data_type));
            assert!(facts.observe(text.as_bytes()));
            facts.data_type()
        };
        assert_eq!(grown(&Int64, "1.5"), Some(Float64));
        assert_eq!(grown(&Int64, "9223372036854775808"), Some(UInt64));
        assert_eq!(
            grown(&Int64, "100000000000000000000"),
            Some(Decimal128(21, 0))
        );
        assert_eq!(grown(&UInt64, "-1"), Some(Decimal128(20, 0)));
        assert_eq!(grown(&Decimal128(20, 2), "1.555"), Some(Decimal128(21, 3)));
        assert_eq!(grown(&Float64, "1.234567890123456789"), None);
    }
}
