//! Numbers as text: their grammar, facts about all numbers of a column, and exact values.
//!
//! The grammar is that of JSON: an optional `-`, digits without leading zeros, an optional fraction
//! and an optional exponent. `+5`, `01`, `.5` and `5.` are not numbers.

mod facts;
mod grouped;

pub(crate) use facts::NumberFacts;
pub(crate) use grouped::PlainNumber;

/// The most significant digits with which a number becomes a double.
const MAX_FLOAT_DIGITS: u32 = 17;

/// Any number of so many digits comes back from the nearest double, if that is not subnormal.
const SAFE_FLOAT_DIGITS: u32 = 15;

/// The most digits of a `Decimal128`.
const MAX_DECIMAL_DIGITS: u32 = 38;

/// Digits that a [`Number`] holds in its `mantissa`. 10^19 - 1 is less than 2^64.
const MAX_MANTISSA_DIGITS: u32 = 19;

/// Exponents are cut to this size, which no number of digits in a record can make up for.
const MAX_EXPONENT: i64 = 1 << 40;

/// A number that was read from text, not yet converted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number<'a> {
    /// The number as it stands in the text.
    pub(crate) text: &'a [u8],
    negative: bool,
    /// Neither a fraction nor an exponent.
    integral: bool,
    /// All digits as one integer; meaningful up to [`MAX_MANTISSA_DIGITS`].
    mantissa: u64,
    /// Digits from the first that is not zero; 0 for zero.
    num_digits: u32,
    /// Digits behind the point.
    fraction_len: u32,
    exponent: i64,
}

impl<'a> Number<'a> {
    /// Reads a text that is a number and nothing else.
    #[inline]
    pub(crate) fn parse(text: &'a [u8]) -> Option<Self> {
        Self::parse_prefix(text).filter(|number| number.text.len() == text.len())
    }

    /// Reads the number at the start of `text`, which goes on as long as the grammar does.
    #[inline]
    pub(crate) fn parse_prefix(text: &'a [u8]) -> Option<Self> {
        let negative = text.first() == Some(&b'-');
        let start = usize::from(negative);
        let mut mantissa = 0;
        let mut end = read_digits(text, start, &mut mantissa);
        let leading_zero = text.get(start) == Some(&b'0');
        if end == start || (leading_zero && end > start + 1) {
            return None;
        }
        let mut number = Self {
            text,
            negative,
            integral: true,
            mantissa,
            num_digits: if leading_zero {
                0
            } else {
                (end - start) as u32
            },
            fraction_len: 0,
            exponent: 0,
        };
        if text.get(end) == Some(&b'.') {
            let point = end;
            end = number.read_fraction(point + 1)?;
        }
        if let Some(b'e' | b'E') = text.get(end) {
            let (exponent, exponent_end) = read_exponent(text, end + 1)?;
            number.exponent = exponent;
            number.integral = false;
            end = exponent_end;
        }
        number.text = text.get(..end)?;
        Some(number)
    }

    #[inline]
    fn read_fraction(&mut self, start: usize) -> Option<usize> {
        let end = read_digits(self.text, start, &mut self.mantissa);
        if end == start {
            return None;
        }
        self.integral = false;
        self.fraction_len = (end - start) as u32;
        self.num_digits = if self.num_digits > 0 {
            self.num_digits + self.fraction_len
        } else {
            let digits = self.text.get(start..end)?;
            digits.iter().skip_while(|&&digit| digit == b'0').count() as u32
        };
        Some(end)
    }

    #[inline]
    fn is_zero(&self) -> bool {
        self.num_digits == 0
    }

    /// Whether the point could stand between thousands: `1.234`.
    #[inline]
    pub(crate) fn is_like_group(&self) -> bool {
        let digits = self.text.len() - usize::from(self.negative);
        self.fraction_len == 3 && (5..=7).contains(&digits) && self.num_digits == digits as u32 - 1
    }

    /// Whether there is a fraction, also one of zeros.
    #[inline]
    pub(crate) fn has_fraction(&self) -> bool {
        self.fraction_len > 0
    }

    #[inline]
    pub(crate) fn is_negative_zero(&self) -> bool {
        self.negative && self.is_zero()
    }

    /// Digits before the point once the exponent is expanded; 0 for numbers less than 1.
    fn integer_digits(&self) -> u32 {
        if self.is_zero() {
            return 0;
        }
        let digits = i64::from(self.num_digits) - i64::from(self.fraction_len) + self.exponent;
        u32::try_from(digits.max(0)).unwrap_or(u32::MAX)
    }

    /// Digits behind the point once the exponent is expanded.
    fn fraction_digits(&self) -> u32 {
        if self.is_zero() {
            return self.fraction_len;
        }
        let digits = i64::from(self.fraction_len) - self.exponent;
        u32::try_from(digits.max(0)).unwrap_or(u32::MAX)
    }

    /// The digits of the number in order, without sign, point and exponent.
    fn digits(&self) -> impl DoubleEndedIterator<Item = u8> + 'a {
        let mantissa_end = memchr::memchr2(b'e', b'E', self.text).unwrap_or(self.text.len());
        let mantissa = self.text.get(..mantissa_end).unwrap_or_default();
        mantissa.iter().copied().filter(u8::is_ascii_digit)
    }

    /// Zeros at the end of the digits.
    fn trailing_zeros(&self) -> u32 {
        self.digits()
            .rev()
            .take_while(|&digit| digit == b'0')
            .count() as u32
    }

    #[inline]
    fn has_float_digits(&self) -> bool {
        self.num_digits <= MAX_FLOAT_DIGITS
            || self.num_digits - self.trailing_zeros() <= MAX_FLOAT_DIGITS
    }

    /// The value, if the number is an integer of 64 bits with a sign.
    #[inline]
    pub(crate) fn to_i64(self) -> Option<i64> {
        if !self.integral || self.num_digits > MAX_MANTISSA_DIGITS || self.is_negative_zero() {
            None
        } else if self.negative {
            0_i64.checked_sub_unsigned(self.mantissa)
        } else {
            i64::try_from(self.mantissa).ok()
        }
    }

    /// The value, if the number is an integer of 64 bits without a sign.
    #[inline]
    pub(crate) fn to_u64(self) -> Option<u64> {
        if !self.integral || self.negative {
            None
        } else if self.num_digits <= MAX_MANTISSA_DIGITS {
            Some(self.mantissa)
        } else if self.num_digits == MAX_MANTISSA_DIGITS + 1 {
            std::str::from_utf8(self.text).ok()?.parse().ok()
        } else {
            None
        }
    }

    /// The nearest double, if the number has at most 17 significant digits and the double has them all, rounded to as
    /// many. Integers must be exact.
    #[inline]
    pub(crate) fn to_f64(self) -> Option<f64> {
        if self.mantissa <= 1 << 53 && self.num_digits <= MAX_FLOAT_DIGITS {
            let exponent = self.exponent - i64::from(self.fraction_len);
            if let Some(power) = power_of_ten(exponent.unsigned_abs()) {
                // Both operands are exact, so that the quotient or product is the nearest double.
                let mantissa = self.mantissa as f64;
                let value = if exponent < 0 {
                    mantissa / power
                } else {
                    mantissa * power
                };
                let value = if self.negative { -value } else { value };
                let is_exact = self.num_digits <= SAFE_FLOAT_DIGITS || self.is_shown_by(value);
                return is_exact.then_some(value);
            }
        }
        self.to_f64_slowly()
    }

    fn to_f64_slowly(self) -> Option<f64> {
        if !self.has_float_digits() {
            return None;
        }
        let value: f64 = std::str::from_utf8(self.text).ok()?.parse().ok()?;
        let loses_digits = self.integral && self.to_decimal(38, 0) != Some(value as i128);
        (value.is_finite() && !loses_digits && self.is_shown_by(value)).then_some(value)
    }

    /// Whether a double, rounded to as many significant digits as the number has, is the number.
    fn is_shown_by(self, value: f64) -> bool {
        if self.is_zero() || value == 0.0 {
            return self.is_zero() && value == 0.0;
        }
        self.is_close_to(value) || self.has_digits_of(value)
    }

    /// Whether a double is less than half of the number's last digit away: a quick answer for usual sizes, of which false
    /// says nothing.
    fn is_close_to(self, value: f64) -> bool {
        const SIGNIFICAND_BITS: u32 = 52;
        let bits = value.abs().to_bits();
        let (exponent, significand) = (
            bits >> SIGNIFICAND_BITS,
            bits & ((1 << SIGNIFICAND_BITS) - 1),
        );
        // The double is `significand` / 2^`shift`, and the number `mantissa` / 10^`places`.
        let significand = u128::from(significand | 1 << SIGNIFICAND_BITS);
        let places = u32::try_from(i64::from(self.fraction_len) - self.exponent);
        let shift = u32::try_from(1075 - i64::try_from(exponent).unwrap_or(0));
        match (places, shift) {
            (Ok(places @ ..=20), Ok(shift @ ..=64)) if self.num_digits <= MAX_FLOAT_DIGITS => {
                let own = u128::from(self.mantissa) << shift;
                own.abs_diff(significand * 10_u128.pow(places)) * 2 < 1 << shift
            }
            _ => false,
        }
    }

    fn has_digits_of(self, value: f64) -> bool {
        let num_digits = self.num_digits - self.trailing_zeros();
        let rounded = format!("{:.*e}", num_digits as usize - 1, value.abs());
        let Some((digits, exponent)) = rounded.split_once('e') else {
            return false;
        };
        let own_exponent =
            i64::from(self.num_digits) - 1 - i64::from(self.fraction_len) + self.exponent;
        let digits = digits.bytes().filter(u8::is_ascii_digit);
        let own_digits = self.digits().skip_while(|&digit| digit == b'0');
        exponent.parse() == Ok(own_exponent) && digits.eq(own_digits.take(num_digits as usize))
    }

    /// The value times 10^`scale`, if that is an integer of at most `precision` digits.
    #[inline]
    pub(crate) fn to_decimal(self, precision: u8, scale: i8) -> Option<i128> {
        if self.is_zero() {
            return (!self.negative).then_some(0);
        }
        let mut shift = i64::from(scale) + self.exponent - i64::from(self.fraction_len);
        let mut value = u128::from(self.mantissa);
        if self.num_digits > MAX_MANTISSA_DIGITS {
            let trailing = self.trailing_zeros();
            if self.num_digits - trailing > MAX_DECIMAL_DIGITS {
                return None;
            }
            value = self.digits_without(trailing);
            shift += i64::from(trailing);
        }
        let power = 10_u128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?)?;
        let value = if shift >= 0 {
            value.checked_mul(power)?
        } else if value % power == 0 {
            value / power
        } else {
            return None;
        };
        if value >= 10_u128.checked_pow(u32::from(precision))? {
            return None;
        }
        let value = i128::try_from(value).ok()?;
        Some(if self.negative { -value } else { value })
    }

    /// The digits without leading zeros and without `trailing` of them at the end, at most 38.
    fn digits_without(&self, trailing: u32) -> u128 {
        let digits = self.digits().skip_while(|&digit| digit == b'0');
        let kept = digits.take((self.num_digits - trailing) as usize);
        kept.fold(0_u128, |value, digit| {
            value
                .wrapping_mul(10)
                .wrapping_add(u128::from(digit - b'0'))
        })
    }
}

/// Appends the digits from `start` on to `mantissa`, which wraps around, and returns their end.
#[inline]
fn read_digits(text: &[u8], start: usize, mantissa: &mut u64) -> usize {
    let mut value = *mantissa;
    let mut end = start;
    while let Some(byte) = text.get(end) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        end += 1;
    }
    *mantissa = value;
    end
}

/// The exponent behind `e`, and its end.
fn read_exponent(text: &[u8], start: usize) -> Option<(i64, usize)> {
    let sign = text.get(start).copied();
    let start = start + usize::from(matches!(sign, Some(b'+' | b'-')));
    let mut exponent = 0_i64;
    let mut end = start;
    while let Some(digit) = text.get(end).filter(|byte| byte.is_ascii_digit()) {
        exponent = (exponent * 10 + i64::from(digit - b'0')).min(MAX_EXPONENT);
        end += 1;
    }
    let signed = if sign == Some(b'-') {
        -exponent
    } else {
        exponent
    };
    (end > start).then_some((signed, end))
}

/// 10^`exponent` as a double, up to the largest power that is exact.
#[inline]
fn power_of_ten(exponent: u64) -> Option<f64> {
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    POWERS.get(usize::try_from(exponent).ok()?).copied()
}

/// The value of `NaN`, `inf`, `-inf`, `Infinity` or `-Infinity`.
pub(crate) fn parse_non_finite(text: &[u8]) -> Option<f64> {
    match text {
        b"NaN" => Some(f64::NAN),
        b"inf" | b"Infinity" => Some(f64::INFINITY),
        b"-inf" | b"-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// The value of an integer without fraction and exponent; `None` for `-0` and for larger numbers.
#[inline]
pub(crate) fn parse_i64(text: &[u8]) -> Option<i64> {
    Number::parse(text)?.to_i64()
}

/// The value of an integer without sign, fraction and exponent; `None` for larger numbers.
#[inline]
pub(crate) fn parse_u64(text: &[u8]) -> Option<u64> {
    Number::parse(text)?.to_u64()
}

/// The nearest double; `None` as for [`Number::to_f64`].
#[inline]
pub(crate) fn parse_f64(text: &[u8]) -> Option<f64> {
    Number::parse(text)?.to_f64()
}

/// The number times 10^`scale`; `None` if that is not an integer of at most `precision` digits.
#[inline]
pub(crate) fn parse_decimal(text: &[u8], precision: u8, scale: i8) -> Option<i128> {
    Number::parse(text)?.to_decimal(precision, scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_parse_exactly_or_not_at_all() {
        assert_eq!(parse_i64(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_i64(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
        for text in [
            "9223372036854775808",
            "-9223372036854775809",
            "-0",
            "1.0",
            "1e2",
            "01",
            "99999999999999999999",
        ] {
            assert_eq!(parse_i64(text.as_bytes()), None, "{text}");
        }
        for text in [
            "18446744073709551616",
            "-1",
            "-0",
            "99999999999999999999",
            "100000000000000000000",
        ] {
            assert_eq!(parse_u64(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn doubles_are_the_nearest_ones() {
        for text in [
            "0",
            "-1",
            "0.1",
            "21168.23",
            "1e22",
            "1e23",
            "9007199254740992",
            "5e-324",
            "4.9406564584124654e-324",
            "0.10000000000000001",
            "0.30000000000000004",
            "2.2250738585072014e-308",
            "1.2347e-320",
            "1.7976931348623157e308",
            "123456789.12345678",
            "1e-22",
            "1e-23",
            "0.00000000000000000000000000012",
            "10000000000000000000000",
        ] {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(parse_f64(text.as_bytes()), Some(expected), "{text}");
        }
        assert!(parse_f64(b"-0.0").unwrap().is_sign_negative());
        assert_eq!(
            parse_f64(b"9007199254740994"),
            Some(9_007_199_254_740_994.0)
        );
        assert_eq!(parse_f64(b"9007199254740993"), None);
        assert_eq!(parse_f64(b"0e999"), Some(0.0));
        for text in [
            "123456789012345678",
            "0.123456789012345678",
            "1e309",
            "1e-400",
            "3e-324",
            "1.2345678e-320",
            "0.30000000000000007",
            "12345678901234.567",
            "NaN",
        ] {
            assert_eq!(parse_f64(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn close_doubles_have_the_digits() {
        let mut random = 1_u64;
        let mut num_close = 0;
        for case in 0..20_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let digits = (random % 10_u64.pow(14 + case % 4)).to_string();
            let (whole, fraction) = digits.split_at(digits.len().min(case as usize % 9));
            let text = format!("{}.{fraction}0", if whole.is_empty() { "0" } else { whole });
            let Some(number) = Number::parse(text.as_bytes()) else {
                continue;
            };
            let value = text.parse().unwrap();
            let neighbour = f64::from_bits(f64::to_bits(value) + 1);
            for value in [value, neighbour] {
                let is_close = number.is_close_to(value);
                num_close += u32::from(is_close);
                assert!(!is_close || number.has_digits_of(value), "{text}: {value}");
            }
        }
        assert!(num_close > 5_000, "{num_close}");
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(parse_decimal(b"1.5", 10, 2), Some(150));
        assert_eq!(parse_decimal(b"-1.500", 10, 1), Some(-15));
        assert_eq!(parse_decimal(b"1.55", 10, 1), None);
        assert_eq!(parse_decimal(b"99.99", 4, 2), Some(9999));
        assert_eq!(parse_decimal(b"100", 4, 2), None);
        assert_eq!(parse_decimal(b"15e-1", 4, 2), Some(150));
        assert_eq!(parse_decimal(b"1.5e2", 4, 0), Some(150));
        assert_eq!(parse_decimal(b"-0.0", 4, 2), None);
        assert_eq!(parse_decimal(b"0e-99", 4, 2), Some(0));
        assert_eq!(parse_decimal(b"1e-99", 4, 2), None);
        assert_eq!(parse_decimal(b"1e99999999999999", 4, 2), None);
        let nines = "9".repeat(38);
        assert_eq!(
            parse_decimal(nines.as_bytes(), 38, 0),
            Some(10_i128.pow(38) - 1)
        );
        let long = format!("{}.{}{}", &nines[..20], &nines[..18], "0".repeat(50));
        assert_eq!(
            parse_decimal(long.as_bytes(), 38, 18),
            Some(10_i128.pow(38) - 1)
        );
        assert_eq!(parse_decimal(format!("{nines}9").as_bytes(), 38, 0), None);
    }
}
