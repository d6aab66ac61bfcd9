//! Sizes on the command line: `65536`, `64KiB`, `1.5 GiB`, `2GB`.

/// Parses a size into bytes. Without a unit the number is bytes; `KB`, `MB`, `GB`, `TB` are powers
/// of 1000, `KiB`, `MiB`, `GiB`, `TiB` powers of 1024; letter case does not matter.
///
/// # Errors
/// One line that says what was wrong and what would be right.
pub fn parse_size_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let refuse = || {
        format!(
            "{text:?} is not a size: write bytes, or a number with KiB, MiB or GiB, such as 64MiB"
        )
    };
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(refuse()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(refuse);
    }
    let fraction: f64 = number.parse().map_err(|_| refuse())?;
    let bytes = fraction * factor as f64;
    if bytes.is_finite() && bytes < 9e18 {
        Ok(bytes as u64)
    } else {
        Err(refuse())
    }
}

#[cfg(test)]
mod tests {
    use super::parse_size_bytes;

    #[test]
    fn units() {
        for (text, bytes) in [
            ("0", 0),
            ("65536", 65_536),
            ("64KiB", 65_536),
            ("64 mib", 64 << 20),
            ("1.5GiB", 3 << 29),
            ("2GB", 2_000_000_000),
            ("1g", 1 << 30),
        ] {
            assert_eq!(parse_size_bytes(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn refusals() {
        for text in [
            "",
            "MiB",
            "-1",
            "12 parsecs",
            "1.2.3",
            "99999999999GiB",
            "1e3",
        ] {
            let message = parse_size_bytes(text).unwrap_err();
            assert!(message.contains("64MiB"), "{text}: {message}");
        }
    }
}
