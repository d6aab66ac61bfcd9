//! Parses the dates and times of a predicate as ticks.

use arrow_schema::TimeUnit;

use super::key::ticks_per_second;
use crate::text::{FixedOffsets, TimeZones};

const DAY_SECONDS: i64 = 86_400;

/// Parses `2024-02-29` as days since the epoch. Years can have a sign and up to seven digits.
pub(super) fn parse_date(text: &str) -> Option<i64> {
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

/// Parses `12:30`, `12:30:45`, `12:30:45.678` as ticks. Digits beyond the unit must be 0.
pub(super) fn parse_time(text: &str, unit: TimeUnit) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':');
    let hour = two_digits(parts.next()?, 0..=23)?;
    let minute = two_digits(parts.next()?, 0..=59)?;
    let second = match parts.next() {
        Some(second) => two_digits(second, 0..=59)?,
        None if fraction.is_empty() => 0,
        None => return None,
    };
    if parts.next().is_some() || text.ends_with('.') {
        return None;
    }
    let per_second = ticks_per_second(unit);
    let mut ticks = 0;
    let mut worth = per_second;
    for digit in fraction.bytes() {
        if !digit.is_ascii_digit() || worth == 1 && digit != b'0' {
            return None;
        }
        if worth > 1 {
            worth /= 10;
            ticks += i64::from(digit - b'0') * worth;
        }
    }
    Some((hour * 3600 + minute * 60 + second) * per_second + ticks)
}

/// Parses a date, or a date and a time separated by `T` or a space, as ticks since the epoch. It can
/// have an offset (`Z`, `+02:00`). Without an offset it is local to `zone`, if the column has one.
pub(super) fn parse_timestamp(
    text: &str,
    unit: TimeUnit,
    zone: Option<&str>,
    zones: &dyn TimeZones,
) -> Option<i64> {
    let (date, clock) = match text.find(['T', ' ']) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, "00:00"),
    };
    let (clock, offset) = match clock.find(['Z', '+', '-']) {
        Some(at) => (clock[..at].trim_end(), Some(&clock[at..])),
        None => (clock, None),
    };
    let per_second = ticks_per_second(unit);
    let ticks = parse_time(clock, unit)?;
    let local = parse_date(date)?.checked_mul(DAY_SECONDS)?;
    let local_seconds = local + ticks.div_euclid(per_second);
    let offset_seconds = match (offset, zone) {
        (Some(offset), _) => FixedOffsets.offset_seconds(offset, 0)?,
        (None, Some(zone)) => zone_offset(zone, local_seconds, zones),
        (None, None) => 0,
    };
    // i128, because the first second of a type's range begins before its first tick.
    let utc = i128::from(local) - i128::from(offset_seconds);
    i64::try_from(utc * i128::from(per_second) + i128::from(ticks)).ok()
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
    use TimeUnit::{Millisecond, Nanosecond, Second};

    #[test]
    fn dates() {
        assert_eq!(parse_date("1970-01-01"), Some(0));
        assert_eq!(parse_date("2024-02-29"), Some(19_782));
        assert_eq!(parse_date("0000-03-01"), Some(-719_468));
        assert_eq!(parse_date("-5877641-06-23"), Some(i64::from(i32::MIN)));
        for wrong in [
            "",
            "2023-02-29",
            "2024-2-01",
            "24-01-01",
            "2024-01-01-01",
            "2024-13-01",
            "x",
        ] {
            assert_eq!(parse_date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_and_timestamps() {
        assert_eq!(parse_time("12:30", Second), Some(45_000));
        assert_eq!(parse_time("00:00:01.5", Millisecond), Some(1_500));
        assert_eq!(parse_time("00:00:01.500", Second), None);
        assert_eq!(parse_time("00:00:01.000", Second), Some(1));
        assert_eq!(parse_time("24:00:00", Second), None);
        let at = |text, zone| parse_timestamp(text, Nanosecond, zone, &FixedOffsets);
        assert_eq!(at("1970-01-01T00:00:00.000000001Z", None), Some(1));
        assert_eq!(at("1970-01-01 02:00:00 +02:00", None), Some(0));
        assert_eq!(at("1970-01-01 02:00", Some("+02:00")), Some(0));
        assert_eq!(at("1970-01-02", None), Some(DAY_SECONDS * 1_000_000_000));
        assert_eq!(at("2554-07-21", None), None, "beyond nanoseconds");
        assert_eq!(at("1970-01-01T", None), None);
    }
}
