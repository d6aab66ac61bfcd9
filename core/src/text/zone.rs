/// The offsets of time zones. The browser has its own database; this crate has none.
pub trait TimeZones {
    /// Seconds east of UTC in `zone` (a name of the IANA database or `±HH:MM`) at `utc_seconds`
    /// since the epoch. `None` if the zone is unknown or the time is beyond its rules.
    fn offset_seconds(&self, zone: &str, utc_seconds: i64) -> Option<i32>;
}

/// Knows UTC and fixed offsets (`+05:30`, `-0800`, `+01`), as Arrow's `Schema.fbs` describes them.
#[derive(Debug, Clone, Copy, Default)]
pub struct FixedOffsets;

impl TimeZones for FixedOffsets {
    fn offset_seconds(&self, zone: &str, _utc_seconds: i64) -> Option<i32> {
        if ["UTC", "utc", "Z", "GMT", "Etc/UTC", "Etc/GMT"].contains(&zone) {
            return Some(0);
        }
        let (sign, digits) = match zone.split_at_checked(1)? {
            ("+", digits) => (1, digits),
            ("-", digits) => (-1, digits),
            _ => return None,
        };
        let (hours, minutes) = match digits.split_once(':') {
            Some(parts) => parts,
            None => digits.split_at_checked(2)?,
        };
        let two_digits = |text: &str, below: i32| {
            let value: i32 = text.parse().ok()?;
            (text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit()) && value < below)
                .then_some(value)
        };
        let minutes = if minutes.is_empty() {
            0
        } else {
            two_digits(minutes, 60)?
        };
        Some(sign * (two_digits(hours, 24)? * 3600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_offsets_have_many_spellings_and_bounds() {
        let offset = |zone| FixedOffsets.offset_seconds(zone, 0);
        assert_eq!(offset("UTC"), Some(0));
        assert_eq!(offset("+05:30"), Some(19_800));
        assert_eq!(offset("-0800"), Some(-28_800));
        assert_eq!(offset("+01"), Some(3_600));
        for unknown in [
            "",
            "+",
            "+5",
            "+24:00",
            "+01:60",
            "+1:00",
            "+é0:00",
            "Europe/Paris",
        ] {
            assert_eq!(offset(unknown), None, "{unknown}");
        }
    }
}
