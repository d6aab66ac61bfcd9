use std::fmt::LowerExp;

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::Float16Type;

use super::{CellKind, CellText};

/// The shortest text that reads back as the same float64.
pub(crate) fn write_f64(value: f64, out: &mut CellText) -> CellKind {
    write_finite(value, value, out)
}

/// The shortest text that reads back as the same float32.
pub(super) fn write_f32(value: f32, out: &mut CellText) -> CellKind {
    write_finite(f64::from(value), value, out)
}

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// The shortest text that reads back as the same float16.
pub(super) fn write_f16(value: Half, out: &mut CellText) -> CellKind {
    let wide = value.to_f64();
    // Five significant digits distinguish any two float16.
    let shortest = (0..5)
        .map(|digits| format!("{wide:.digits$e}"))
        .find(|text| text.parse().is_ok_and(|read| is_nearest(value, read)))
        .unwrap_or_else(|| format!("{wide:e}"));
    write_scientific(wide, &shortest, out)
}

/// Whether this float16 is the nearest to a number of its sign; of two that are as near, the even one is.
/// `Half::from_f64` misses the nearest of some numbers that are less than the least normal float16.
fn is_nearest(value: Half, number: f64) -> bool {
    let bits = value.to_bits() & 0x7FFF;
    let distance = |bits: u16| {
        let value = match bits {
            0x7C00 => 65_536.0,
            _ => Half::from_bits(bits).to_f64(),
        };
        (number.abs() - value).abs()
    };
    let neighbours = [bits.checked_sub(1), bits.checked_add(1)];
    neighbours.into_iter().flatten().all(|neighbour| {
        let (own, other) = (distance(bits), distance(neighbour));
        own < other || (own == other && bits.is_multiple_of(2))
    })
}

fn write_finite(value: f64, shortest: impl LowerExp, out: &mut CellText) -> CellKind {
    write_scientific(value, &format!("{shortest:e}"), out)
}

/// Formats `scientific` (`d.ddde±x`, shortest digits) as JavaScript's Number does: plain from 1e-6 to
/// below 1e21, otherwise with an exponent. ECMA-262, Number::toString.
fn write_scientific(value: f64, scientific: &str, out: &mut CellText) -> CellKind {
    if value.is_nan() {
        out.push("NaN");
        return CellKind::NonFinite;
    }
    if value.is_infinite() {
        out.push(if value > 0.0 { "Infinity" } else { "-Infinity" });
        return CellKind::NonFinite;
    }
    if value.is_sign_negative() {
        out.push("-");
    }
    let (mantissa, exponent) = scientific
        .trim_start_matches('-')
        .split_once('e')
        .unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        trimmed => trimmed,
    };
    let num_digits = digits.len() as i32;
    let is_whole = num_digits <= exponent + 1;
    match exponent {
        0..=20 if is_whole && !out.is_for_programs() => {
            out.push(digits);
            out.push(&"0".repeat((exponent + 1 - num_digits) as usize));
        }
        0..=20 if is_whole && is_exact(value, digits) => {
            out.put(format_args!("{:.0}", value.abs()));
        }
        0..=20 if !is_whole => {
            let (whole, fraction) = digits.split_at(exponent as usize + 1);
            out.put(format_args!("{whole}.{fraction}"));
        }
        -6..=-1 => {
            out.push("0.");
            out.push(&"0".repeat((-exponent - 1) as usize));
            out.push(digits);
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            out.put(format_args!("{first}{point}{rest}e{exponent:+}"));
        }
    }
    CellKind::Value
}

/// Whether a program that reads all digits of a whole number gets this number: it is an integer that doubles count up to,
/// or it has no other digits than these.
fn is_exact(value: f64, digits: &str) -> bool {
    const LAST_COUNTED: f64 = 9_007_199_254_740_992.0;
    let whole = format!("{:.0}", value.abs());
    value.abs() <= LAST_COUNTED || whole.trim_end_matches('0') == digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut CellText) -> CellKind) -> String {
        let mut out = String::new();
        write(&mut CellText::new(&mut out, 0));
        out
    }

    #[test]
    fn is_laid_out_as_in_javascript() {
        // Expected: what String(x) gives in a browser.
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (123_456.789, "123456.789"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (1e-6, "0.000001"),
            (1.25e-7, "1.25e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(text(|out| write_f64(value, out)), expected);
        }
    }

    #[test]
    fn whole_floats_have_all_digits_for_programs() {
        let text = |write: &dyn Fn(&mut CellText) -> CellKind| {
            let mut out = String::new();
            write(&mut CellText::for_programs(&mut out));
            out
        };
        assert_eq!(text(&|out| write_f32(123_456_792.0, out)), "123456792");
        assert_eq!(text(&|out| write_f16(Half::MAX, out)), "65504");
        for (value, expected) in [
            (-(2f64.powi(60)), "-1.152921504606847e+18"),
            (2f64.powi(53), "9007199254740992"),
            (2f64.powi(53) + 2.0, "9007199254740994"),
            (0.0, "0"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (0.5, "0.5"),
            (-0.0, "-0"),
            (1.2345e20, "123450000000000000000"),
        ] {
            assert_eq!(text(&|out| write_f64(value, out)), expected);
        }
    }

    #[test]
    fn float32_and_float16_are_as_short_as_their_own_precision_allows() {
        assert_eq!(text(|out| write_f32(0.1, out)), "0.1");
        assert_eq!(text(|out| write_f32(16_777_216.0, out)), "16777216");
        assert_eq!(text(|out| write_f16(Half::from_f64(0.1), out)), "0.1");
        assert_eq!(text(|out| write_f16(Half::MAX, out)), "65500");
        assert_eq!(text(|out| write_f16(Half::from_bits(1), out)), "6e-8");
    }

    #[test]
    fn every_float16_reads_back_the_same() {
        // The sorted values, between two of which a text is nearer to one.
        let value = |bits| match bits {
            0x7C00 => 65_536.0,
            _ => Half::from_bits(bits).to_f64(),
        };
        let values: Vec<f64> = (0..=0x7C00).map(value).collect();
        for bits in 0..0x7C00_u16 {
            for sign in [0, 0x8000] {
                let text = text(|out| write_f16(Half::from_bits(bits | sign), out));
                assert_eq!(text.starts_with('-'), sign > 0);
                let read: f64 = text.trim_start_matches('-').parse().unwrap();
                let after = values.partition_point(|value| *value <= read);
                let middle = (values[after - 1] + values[after]) / 2.0;
                let is_above = read > middle || (read == middle && after % 2 == 0);
                let nearest = if is_above { after } else { after - 1 };
                assert_eq!(nearest, usize::from(bits), "{text}");
            }
        }
        for (bits, expected) in [
            (0x03DA, "0.00005877"),
            (0x7C00, "Infinity"),
            (0xFC00, "-Infinity"),
            (0x7E00, "NaN"),
        ] {
            assert_eq!(text(|out| write_f16(Half::from_bits(bits), out)), expected);
        }
    }
}
