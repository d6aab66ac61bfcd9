use arrow_buffer::{ArrowNativeType, i256};

use super::{CellKind, CellText};

/// Writes the digits with the decimal point `scale` places from the right. A negative scale appends
/// zeros.
pub(crate) fn write(
    unscaled: impl ArrowNativeType + Into<i256>,
    scale: i8,
    out: &mut CellText,
) -> CellKind {
    match unscaled.to_i64() {
        Some(small) => place_point(itoa::Buffer::new().format(small), scale, out),
        None => place_point(&integer(unscaled.into()), scale, out),
    }
    CellKind::Value
}

/// The digits of an integer. What `i256` has for this needs a library for integers of any size, 3 % of the wasm module.
fn integer(value: i256) -> String {
    const LOW_DIGITS: u32 = 38;
    if let Some(value) = value.to_i128() {
        return itoa::Buffer::new().format(value).to_owned();
    }
    let divisor = i256::from_i128(10i128.pow(LOW_DIGITS));
    let high = integer(value.wrapping_div(divisor));
    let low = value.wrapping_rem(divisor).to_i128().unwrap_or(0);
    format!("{high}{:038}", low.unsigned_abs())
}

fn place_point(integer: &str, scale: i8, out: &mut CellText) {
    let (sign, digits) = match integer.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", integer),
    };
    out.push(sign);
    let places = usize::from(scale.unsigned_abs());
    if scale <= 0 {
        out.push(digits);
        if digits != "0" {
            out.push(&"0".repeat(places));
        }
    } else if digits.len() > places {
        let (whole, fraction) = digits.split_at(digits.len() - places);
        out.push(whole);
        out.push(".");
        out.push(fraction);
    } else {
        out.put(format_args!("0.{digits:0>places$}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_integers_as_their_library_does() {
        let powers = (0..=76).filter_map(|digits| i256::from_i128(10).checked_pow(digits));
        let near = powers.flat_map(|power| [power.wrapping_sub(i256::ONE), power]);
        for value in near.chain([i256::ZERO, i256::MAX, i256::MIN]) {
            assert_eq!(integer(value), value.to_string());
            assert_eq!(
                integer(value.wrapping_neg()),
                value.wrapping_neg().to_string()
            );
        }
    }

    fn text(unscaled: i128, scale: i8) -> String {
        let mut out = String::new();
        write(unscaled, scale, &mut CellText::new(&mut out, 0));
        out
    }

    #[test]
    fn places_the_point_by_the_scale() {
        assert_eq!(text(1234, 3), "1.234");
        assert_eq!(text(-5, 3), "-0.005");
        assert_eq!(text(0, 2), "0.00");
        assert_eq!(text(1200, 0), "1200");
        assert_eq!(text(12, -3), "12000");
        assert_eq!(text(0, -3), "0");
        assert_eq!(
            text(i128::MIN, 38),
            "-1.70141183460469231731687303715884105728"
        );
    }
}
