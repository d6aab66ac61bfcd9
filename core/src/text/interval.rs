//! Durations and intervals. The parts of an interval cannot be converted into each other (months have
//! different numbers of days), so each part is written separately.

use arrow_schema::TimeUnit;

use super::temporal::{resolution, write_fraction};
use super::{CellKind, CellText};

/// Writes `-1d 02:03:04.005`: days if there are any, then hours, minutes and seconds with the unit's
/// digits.
pub(super) fn write_duration(ticks: i64, unit: TimeUnit, out: &mut CellText) -> CellKind {
    let (per_second, digits) = resolution(unit);
    if ticks < 0 {
        out.push("-");
    }
    let ticks = ticks.unsigned_abs();
    let per_second = per_second.unsigned_abs();
    let seconds = ticks / per_second;
    if seconds >= 86_400 {
        out.put(format_args!("{}d ", seconds / 86_400));
    }
    let clock = seconds % 86_400;
    out.put(format_args!(
        "{:02}:{:02}:{:02}",
        clock / 3600,
        clock / 60 % 60,
        clock % 60
    ));
    write_fraction((ticks % per_second) as i64, digits, out);
    CellKind::Value
}

/// Writes `1y 2mo`.
pub(super) fn write_months(months: i32, out: &mut CellText) -> CellKind {
    write_parts(
        &[
            (i64::from(months / 12), "y"),
            (i64::from(months % 12), "mo"),
        ],
        "0mo",
        out,
    )
}

/// Writes `3d 14706007ms`.
pub(super) fn write_day_time(days: i32, milliseconds: i32, out: &mut CellText) -> CellKind {
    write_parts(
        &[(i64::from(days), "d"), (i64::from(milliseconds), "ms")],
        "0ms",
        out,
    )
}

/// Writes `1mo 2d 3ns`.
pub(super) fn write_month_day_nano(
    months: i32,
    days: i32,
    nanoseconds: i64,
    out: &mut CellText,
) -> CellKind {
    write_parts(
        &[
            (i64::from(months), "mo"),
            (i64::from(days), "d"),
            (nanoseconds, "ns"),
        ],
        "0ns",
        out,
    )
}

fn write_parts(parts: &[(i64, &str)], none: &str, out: &mut CellText) -> CellKind {
    let mut separator = "";
    for (count, unit) in parts.iter().filter(|(count, _)| *count != 0) {
        out.put(format_args!("{separator}{count}{unit}"));
        separator = " ";
    }
    if separator.is_empty() {
        out.push(none);
    }
    CellKind::Value
}
