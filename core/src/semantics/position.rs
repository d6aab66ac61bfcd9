use arrow_buffer::i256;

/// The maximum number of digits of a decimal.
const MAX_DIGITS: usize = 76;

/// The position of a literal among the values of a type, which are represented as integers: the digits
/// of a decimal without its point, the ticks of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// The literal is this value.
    At(i256),
    /// The literal is between this value and the next.
    After(i256),
    /// The literal is less than all that 256 bits hold.
    Below,
    /// The literal is greater than all that 256 bits hold.
    Above,
}

impl Position {
    /// The position of a number such as `-1.005` or `1e-7` among decimals of this scale; `None` if the text is not a
    /// number or has more than 76 digits between zeros. Nothing is rounded.
    #[must_use]
    pub fn of_number(text: &str, scale: i8) -> Option<Self> {
        let (text, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().ok()?;
        let is_negative = text.starts_with('-');
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let mut all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        if is_negative {
            all.insert(0, '-');
        }
        let significant = all.trim_end_matches('0');
        let num_zeros = all.len() - significant.len();
        match significant.trim_start_matches(['-', '0']).len() {
            0 => return Some(Self::At(i256::ZERO)),
            1..=MAX_DIGITS => {}
            _ => return None,
        }
        let value = i256::from_string(significant)?;
        let num_digits =
            i64::from(scale) - fraction.len() as i64 + num_zeros as i64 + i64::from(exponent);
        let power = |digits: i64| i256::from_i128(10).checked_pow(u32::try_from(digits).ok()?);
        if num_digits >= 0 {
            let scaled = power(num_digits).and_then(|power| value.checked_mul(power));
            return Some(match scaled {
                Some(scaled) => Self::At(scaled),
                None if is_negative => Self::Below,
                None => Self::Above,
            });
        }
        let Some(power) = power(-num_digits) else {
            let floor = if is_negative {
                i256::MINUS_ONE
            } else {
                i256::ZERO
            };
            return Some(Self::After(floor));
        };
        let (quotient, rest) = (value.checked_div(power)?, value.checked_rem(power)?);
        Some(if rest == i256::ZERO {
            Self::At(quotient)
        } else if rest.is_negative() {
            Self::After(quotient.wrapping_sub(i256::ONE))
        } else {
            Self::After(quotient)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Position::{Above, After, At, Below};

    #[test]
    fn nothing_is_rounded() {
        let of = |text: &str| Position::of_number(text, 2);
        let number = i256::from_i128;
        assert_eq!(of("1.5"), Some(At(number(150))));
        assert_eq!(of("-.05"), Some(At(number(-5))));
        assert_eq!(of("+1."), Some(At(number(100))));
        assert_eq!(of("1.00000"), Some(At(number(100))));
        assert_eq!(of("-0.00"), Some(At(i256::ZERO)));
        assert_eq!(of("1.005"), Some(After(number(100))));
        assert_eq!(of("-1.005"), Some(After(number(-101))));
        assert_eq!(of(&"9".repeat(76)), Some(Above));
        assert_eq!(of(&format!("-{}", "9".repeat(76))), Some(Below));
        assert_eq!(Position::of_number("1234", -3), Some(After(number(1))));
        let smallest = format!("-0.{}1", "0".repeat(75));
        assert_eq!(Position::of_number(&smallest, -3), Some(After(number(-1))));
        let zeros = "0".repeat(80);
        assert_eq!(of(&format!(".{zeros}")), Some(At(i256::ZERO)));
        assert_eq!(of(&format!(".{zeros}1")), Some(After(i256::ZERO)));
        assert_eq!(of(&format!("-1{zeros}")), Some(Below));
        let large = Position::of_number(&format!("5{zeros}"), -80);
        assert_eq!(large, Some(At(number(5))));
        assert_eq!(of("-1.5e2"), Some(At(number(-15_000))));
        assert_eq!(of("1E-3"), Some(After(i256::ZERO)));
        assert_eq!(of("-1e-2147483648"), Some(After(i256::MINUS_ONE)));
        assert_eq!(of("1e2147483647"), Some(Above));
        assert_eq!(of("0e9"), Some(At(i256::ZERO)));
    }

    #[test]
    fn what_is_no_number() {
        for wrong in [
            "",
            "-",
            ".",
            "e5",
            "1e",
            "1e2147483648",
            "1e1e1",
            "a",
            "--1",
            "1.2.3",
            "١",
        ] {
            assert_eq!(Position::of_number(wrong, 2), None, "{wrong}");
        }
        assert_eq!(Position::of_number(&"9".repeat(77), 2), None);
    }
}
