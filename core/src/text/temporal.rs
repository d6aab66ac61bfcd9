use arrow_schema::TimeUnit;

use super::calendar::Day;
use super::{CellKind, CellText, TimeZones};

const DAY_SECONDS: i64 = 86_400;

/// Ticks per second, and the number of digits of a fraction of a second.
pub(super) fn resolution(unit: TimeUnit) -> (i64, usize) {
    match unit {
        TimeUnit::Second => (1, 0),
        TimeUnit::Millisecond => (1_000, 3),
        TimeUnit::Microsecond => (1_000_000, 6),
        TimeUnit::Nanosecond => (1_000_000_000, 9),
    }
}

/// Writes `.000123` with the unit's digits; nothing if the unit is seconds.
pub(super) fn write_fraction(ticks: i64, digits: usize, out: &mut CellText) {
    if digits > 0 {
        out.put(format_args!(".{ticks:0digits$}"));
    }
}

fn write_clock(second_of_day: i64, fraction: i64, digits: usize, out: &mut CellText) {
    out.put(format_args!(
        "{:02}:{:02}:{:02}",
        second_of_day / 3600,
        second_of_day / 60 % 60,
        second_of_day % 60
    ));
    write_fraction(fraction, digits, out);
}

fn write_raw(raw: i64, why: &str, out: &mut CellText) -> CellKind {
    out.put(format_args!("{raw} ({why})"));
    CellKind::Raw
}

/// Days since the epoch as a date.
pub(super) fn write_date32(days: i32, out: &mut CellText) -> CellKind {
    match Day::from_epoch_days(i64::from(days)) {
        Some(day) => {
            day.write(out);
            CellKind::Value
        }
        None => write_raw(i64::from(days), "days, out of any calendar", out),
    }
}

/// Milliseconds since the epoch as a date, with the time of day unless it is midnight.
pub(super) fn write_date64(ms: i64, out: &mut CellText) -> CellKind {
    let day_ms = DAY_SECONDS * 1000;
    let Some(day) = Day::from_epoch_days(ms.div_euclid(day_ms)) else {
        return write_raw(ms, "ms, out of any calendar", out);
    };
    day.write(out);
    let rest_ms = ms.rem_euclid(day_ms);
    if rest_ms != 0 {
        out.push(" ");
        write_clock(rest_ms / 1000, rest_ms % 1000, 3, out);
    }
    CellKind::Value
}

/// Writes a time of day with the unit's digits.
pub(super) fn write_time(ticks: i64, unit: TimeUnit, out: &mut CellText) -> CellKind {
    let (per_second, digits) = resolution(unit);
    if !(0..DAY_SECONDS * per_second).contains(&ticks) {
        return write_raw(ticks, "not a time of day", out);
    }
    write_clock(ticks / per_second, ticks % per_second, digits, out);
    CellKind::Value
}

/// Writes a timestamp with the unit's digits: `2024-07-01 12:00:00.000000`. With a time zone it is in
/// that zone, followed by the offset (`+0200`, or `Z` for UTC) as pyarrow writes it. A timestamp in an
/// unknown zone is shown in UTC.
pub(super) fn write_timestamp(
    ticks: i64,
    unit: TimeUnit,
    zone: Option<&str>,
    zones: &dyn TimeZones,
    out: &mut CellText,
) -> CellKind {
    let (per_second, digits) = resolution(unit);
    let utc_seconds = ticks.div_euclid(per_second);
    let offset_seconds = zone.and_then(|zone| zones.offset_seconds(zone, utc_seconds));
    let local = utc_seconds.checked_add(i64::from(offset_seconds.unwrap_or(0)));
    let day = local.and_then(|local| Day::from_epoch_days(local.div_euclid(DAY_SECONDS)));
    let (Some(local), Some(day)) = (local, day) else {
        let unit = ["s", "ms", "us", "ns"][digits / 3];
        return write_raw(ticks, &format!("{unit}, out of any calendar"), out);
    };
    day.write(out);
    out.push(" ");
    write_clock(
        local.rem_euclid(DAY_SECONDS),
        ticks.rem_euclid(per_second),
        digits,
        out,
    );
    if zone.is_some() {
        write_offset(offset_seconds.unwrap_or(0), out);
    }
    CellKind::Value
}

fn write_offset(seconds: i32, out: &mut CellText) {
    if seconds == 0 {
        out.push("Z");
        return;
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let seconds = seconds.unsigned_abs();
    out.put(format_args!(
        "{sign}{:02}{:02}",
        seconds / 3600,
        seconds / 60 % 60
    ));
    if !seconds.is_multiple_of(60) {
        out.put(format_args!("{:02}", seconds % 60));
    }
}
