use std::fmt::Display;

use arrow_buffer::ArrowNativeType;

use super::{CellKind, CellText};

/// Writes the digits with the decimal point `scale` places from the right. A negative scale appends
/// zeros.
pub(crate) fn write(
    unscaled: impl ArrowNativeType + Display,
    scale: i8,
    out: &mut CellText,
) -> CellKind {
    match unscaled.to_i64() {
        Some(small) => place_point(itoa::Buffer::new().format(small), scale, out),
        None => place_point(&unscaled.to_string(), scale, out),
    }
    CellKind::Value
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
