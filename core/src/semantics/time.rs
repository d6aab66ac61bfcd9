//! The positions of dates and times among the values of a type.

use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};

use super::Position;
use crate::text::{FixedOffsets, TimeZones};

const DAY_SECONDS: i64 = 86_400;

impl Position {
    /// The position of a date such as `2024-02-29`, a time `12:30:45.678`, or both separated by `T` or a
    /// space, among the values of a type of dates or times. Years can have a sign and up to seven digits.
    /// A date and time can have an offset (`Z`, `+02:00`). Without an offset it is local to the zone of
    /// the type, or else in UTC. `None` if the text is not of this form, or if the type is another.
    #[must_use]
    pub fn of_time(text: &str, data_type: &DataType, zones: &dyn TimeZones) -> Option<Self> {
        use DataType::{Date32, Date64, Time32, Time64, Timestamp};
        let (seconds, fraction) = match data_type {
            Time32(_) | Time64(_) => parse_time(text)?,
            Timestamp(_, Some(zone)) => parse_timestamp(text, Some(zone), zones)?,
            _ => parse_timestamp(text, None, zones)?,
        };
        let (ticks, is_value) = match data_type {
            Date32 => (
                i128::from(seconds.div_euclid(DAY_SECONDS)),
                seconds.rem_euclid(DAY_SECONDS) == 0 && is_zero(fraction),
            ),
            Date64 => ticks_of(seconds, fraction, TimeUnit::Millisecond),
            Time32(unit) | Time64(unit) | Timestamp(unit, _) => ticks_of(seconds, fraction, *unit),
            _ => return None,
        };
        let ticks = i256::from_i128(ticks);
        Some(match is_value {
            true => Self::At(ticks),
            false => Self::After(ticks),
        })
    }
}

/// The ticks of a second and its fraction's digits, and whether no digit is left.
fn ticks_of(seconds: i64, fraction: &str, unit: TimeUnit) -> (i128, bool) {
    let num_digits = match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    let (kept, rest) = fraction.split_at(fraction.len().min(num_digits));
    let mut ticks = i128::from(seconds);
    for at in 0..num_digits {
        let digit = kept.as_bytes().get(at).map_or(0, |digit| digit - b'0');
        ticks = ticks * 10 + i128::from(digit);
    }
    (ticks, is_zero(rest))
}

fn is_zero(digits: &str) -> bool {
    digits.bytes().all(|digit| digit == b'0')
}

/// Parses `2024-02-29` as days since the epoch. Years can have a sign and up to seven digits.
fn parse_date(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = digits.split('-');
    let year = parts.next().filter(|year| (4..=7).contains(&year.len()))?;
    let year = sign * digits_of(year)?;
    let month = two_digits(parts.next()?, 1..=12)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let day = two_digits(parts.next()?, 1..=last)?;
    if parts.next().is_some() {
        return None;
    }
    // Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let year_of_era = year.rem_euclid(400);
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// Parses `12:30`, `12:30:45`, `12:30:45.678` as seconds and the digits of a fraction.
fn parse_time(text: &str) -> Option<(i64, &str)> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':');
    let hour = two_digits(parts.next()?, 0..=23)?;
    let minute = two_digits(parts.next()?, 0..=59)?;
    let second = match parts.next() {
        Some(second) => two_digits(second, 0..=59)?,
        None if fraction.is_empty() => 0,
        None => return None,
    };
    let is_fraction = fraction.bytes().all(|byte| byte.is_ascii_digit());
    if parts.next().is_some() || text.ends_with('.') || !is_fraction {
        return None;
    }
    Some((hour * 3600 + minute * 60 + second, fraction))
}

/// Parses a date, or a date and a time, as seconds since the epoch and the digits of a fraction.
fn parse_timestamp<'a>(
    text: &'a str,
    zone: Option<&str>,
    zones: &dyn TimeZones,
) -> Option<(i64, &'a str)> {
    let (date, clock) = match text.find(['T', ' ']) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, "00:00"),
    };
    let (clock, offset) = match clock.find(['Z', '+', '-']) {
        Some(at) => (clock[..at].trim_end(), Some(&clock[at..])),
        None => (clock, None),
    };
    let (seconds, fraction) = parse_time(clock)?;
    let local_seconds = parse_date(date)? * DAY_SECONDS + seconds;
    let offset_seconds = match (offset, zone) {
        (Some(offset), _) => FixedOffsets.offset_seconds(offset, 0)?,
        (None, Some(zone)) => zone_offset(zone, local_seconds, zones),
        (None, None) => 0,
    };
    Some((local_seconds - i64::from(offset_seconds), fraction))
}

/// The offset of a local time in the zone; the earlier one if two are possible. An unknown zone is UTC,
/// as in cells.
fn zone_offset(zone: &str, local_seconds: i64, zones: &dyn TimeZones) -> i32 {
    let at = |utc: i64| zones.offset_seconds(zone, utc).unwrap_or(0);
    let candidates = [
        at(local_seconds - DAY_SECONDS),
        at(local_seconds + DAY_SECONDS),
    ];
    candidates
        .into_iter()
        .find(|&offset| at(local_seconds - i64::from(offset)) == offset)
        .unwrap_or(candidates[0])
}

fn digits_of(text: &str) -> Option<i64> {
    let are_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| text.parse().ok()).flatten()
}

fn two_digits(text: &str, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    (text.len() == 2)
        .then(|| digits_of(text))
        .flatten()
        .filter(|value| range.contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType::{Date32, Time32, Time64, Timestamp};
    use Position::{After, At};
    use TimeUnit::{Millisecond, Nanosecond, Second};

    fn position(text: &str, data_type: &DataType) -> Option<Position> {
        Position::of_time(text, data_type, &FixedOffsets)
    }

    fn at(ticks: i64) -> Option<Position> {
        Some(At(i256::from(ticks)))
    }

    fn after(ticks: i64) -> Option<Position> {
        Some(After(i256::from(ticks)))
    }

    #[test]
    fn dates() {
        assert_eq!(position("1970-01-01", &Date32), at(0));
        assert_eq!(position("2024-02-29", &Date32), at(19_782));
        assert_eq!(position("0000-03-01", &Date32), at(-719_468));
        assert_eq!(position("-5877641-06-23", &Date32), at(i32::MIN.into()));
        assert_eq!(position("10000-01-01", &Date32), at(2_932_897));
        assert_eq!(position("1969-12-31 00:00", &Date32), at(-1));
        assert_eq!(position("1969-12-31 00:00:00.1", &Date32), after(-1));
        for wrong in [
            "",
            "2023-02-29",
            "2024-2-01",
            "24-01-01",
            "2024-01-01-01",
            "2024-13-01",
            "x",
        ] {
            assert_eq!(position(wrong, &Date32), None, "{wrong}");
        }
    }

    #[test]
    fn times_and_timestamps() {
        assert_eq!(position("12:30", &Time32(Second)), at(45_000));
        assert_eq!(position("00:00:01.5", &Time32(Millisecond)), at(1_500));
        assert_eq!(position("00:00:01.500", &Time32(Second)), after(1));
        assert_eq!(position("00:00:01.000", &Time32(Second)), at(1));
        assert_eq!(
            position("00:00:00.0000000001", &Time64(Nanosecond)),
            after(0)
        );
        for wrong in [
            "24:00:00",
            "00:00.5",
            "00:00:01.",
            "00:00:01.x",
            "00:00:01.5.5",
        ] {
            assert_eq!(position(wrong, &Time32(Second)), None, "{wrong}");
        }
        let of =
            |text, zone: Option<&str>| position(text, &Timestamp(Nanosecond, zone.map(Into::into)));
        assert_eq!(of("1970-01-01T00:00:00.000000001Z", None), at(1));
        assert_eq!(of("1969-12-31T23:59:59.9999999999Z", None), after(-1));
        assert_eq!(of("1970-01-01 02:00:00 +02:00", None), at(0));
        assert_eq!(of("1970-01-01 02:00", Some("+02:00")), at(0));
        assert_eq!(of("1970-01-02", None), at(DAY_SECONDS * 1_000_000_000));
        let late = of("2554-07-21", None);
        assert!(matches!(late, Some(At(ticks)) if ticks > i256::from(i64::MAX)));
        assert_eq!(of("1970-01-01T", None), None);
        assert_eq!(position("1970-01-01", &DataType::Utf8), None);
    }
}
