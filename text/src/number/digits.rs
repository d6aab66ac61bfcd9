//! Whether the nearest double of a number gives back its digits.

use super::Number;

/// The most significant digits with which a number becomes a double.
const MAX_FLOAT_DIGITS: u32 = 17;

/// Any number of this many digits is given back by the nearest double, unless that is subnormal.
pub(super) const SAFE_FLOAT_DIGITS: u32 = 15;

impl Number<'_> {
    /// Whether a double, written with as many digits as the number has, gives these digits.
    pub(super) fn is_given_back_by(&self, value: f64) -> bool {
        if self.num_digits <= SAFE_FLOAT_DIGITS && !value.is_subnormal() {
            return true;
        }
        let is_short = self.num_digits <= MAX_FLOAT_DIGITS && !self.mantissa.is_multiple_of(10);
        if is_short && let Some(is_near) = self.is_near(value) {
            return is_near;
        }
        let num_digits = self.num_digits.saturating_sub(self.trailing_zeros());
        if num_digits <= SAFE_FLOAT_DIGITS && !value.is_subnormal() {
            return true;
        }
        if num_digits > MAX_FLOAT_DIGITS {
            return false;
        }
        let num_digits = num_digits as usize;
        let written = format!("{value:.*e}", num_digits.saturating_sub(1));
        let written = written.bytes().filter(u8::is_ascii_digit);
        let digits = self.digits().skip_while(|&digit| digit == b'0');
        digits.take(num_digits).eq(written.take(num_digits))
    }

    /// Whether a normal double is within half a unit of the last digit; `None` if it is exactly
    /// half a unit away, or if 128 bits do not suffice. They do for most numbers with a fraction.
    fn is_near(&self, value: f64) -> Option<bool> {
        let num_decimals = i64::from(self.fraction_len) - self.exponent;
        if !(1..=31).contains(&num_decimals) {
            return None;
        }
        // The value is `significand` · 2^`exponent`; both sides are multiplied by 10^`num_decimals` and
        // divided by 2^(`exponent` + `num_decimals`).
        let bits = value.to_bits();
        let significand = (bits & ((1 << 52) - 1)) | 1 << 52;
        let exponent = (bits >> 52 & 0x7ff) as i64 - 1075;
        let shift = u32::try_from(-exponent - num_decimals).ok()?;
        if shift == 0 || shift >= self.mantissa.leading_zeros() + 64 {
            return None;
        }
        let scaled = u128::from(significand) * 5_u128.pow(num_decimals as u32);
        let difference = scaled.abs_diff(u128::from(self.mantissa) << shift);
        let half = 1 << (shift - 1);
        (difference != half).then_some(difference < half)
    }
}

#[cfg(test)]
mod tests {
    use crate::number::parse_f64;

    /// The nearest double, if it has the digits of the text when it is written with as many.
    fn expected_double(text: &str) -> Option<f64> {
        let value: f64 = text.parse().unwrap();
        let digits = |text: &str| -> String {
            let (mantissa, _) = text.split_once('e').unwrap_or((text, ""));
            let digits = mantissa.replace(['.', '-'], "");
            digits.trim_start_matches('0').trim_end_matches('0').into()
        };
        let digits_of_text = digits(text);
        let written = format!("{value:.*e}", digits_of_text.len().saturating_sub(1));
        let is_same = digits(&written) == digits_of_text && digits_of_text.len() <= 17;
        is_same.then_some(value)
    }

    #[test]
    fn doubles_give_back_all_digits() {
        assert_eq!(parse_f64(b"90071992547409.93"), None);
        assert_eq!(parse_f64(b"9007199254740993.0"), None);
        assert_eq!(parse_f64(b"12345678901234567.0"), None);
        assert_eq!(parse_f64(b"0.12345678901234567"), None);
        assert_eq!(parse_f64(b"1.2345678e-320"), None);
        assert_eq!(parse_f64(b"3e-324"), None);
        assert_eq!(parse_f64(b"4.9e-324"), Some(5e-324));
        assert_eq!(parse_f64(b"0.10000000000000001"), Some(0.1));
        assert_eq!(parse_f64(b"0.1000000000000000055511151231257827"), None);
        let mut bits = 1_u64;
        for num_decimals in (0..40).cycle().take(40_000) {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005) + 1;
            let digits = bits >> 7;
            let value = digits as f64 / 10_f64.powi(num_decimals);
            for text in [
                format!("{:.*}", num_decimals as usize, value),
                format!("{}e-{num_decimals}", digits / 10_u64.pow(bits as u32 % 4)),
                format!("{value:.16e}"),
                format!("{value:e}"),
                format!("{}.{}", digits >> 40, digits & 0xff_ffff_ffff),
            ] {
                let is_integral = !text.contains(['.', 'e']);
                let expected = expected_double(&text).filter(|_| !is_integral);
                let found = parse_f64(text.as_bytes()).filter(|_| !is_integral);
                assert_eq!(found, expected, "{text}");
            }
        }
    }
}
