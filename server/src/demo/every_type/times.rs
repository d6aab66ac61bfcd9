//! The columns of dates, times, durations and intervals.

use datafusion::arrow::datatypes::*;

use super::{Columns, primitive};

/// Adds these columns.
pub(super) fn add(columns: &mut Columns) {
    // Days since 1970: the epoch, the day before, a leap day, the first day of year 1 and the last
    // before it, years -9999 and 9999, and values beyond any calendar.
    let days = [
        0,
        -1,
        11_016,
        -719_162,
        -719_163,
        -4_371_587,
        2_932_896,
        i32::MIN,
        i32::MAX,
    ];
    columns.values::<Date32Type>("date32", &days);
    let days_ms = [
        0,
        -1,
        11_016,
        -719_162,
        -719_163,
        -4_371_587,
        2_932_896,
        100_000_000,
    ]
    .map(|day: i64| day * 86_400_000);
    columns.values::<Date64Type>("date64", &days_ms);
    columns.values::<Time32SecondType>("time32[s]", &[0, 1, 43_200, 86_399]);
    columns.values::<Time32MillisecondType>("time32[ms]", &[0, 1, 43_200_500, 86_399_999]);
    columns.values::<Time64MicrosecondType>("time64[us]", &[0, 1, 43_200_000_001, 86_399_999_999]);
    columns.values::<Time64NanosecondType>(
        "time64[ns]",
        &[0, 1, 43_200_000_000_001, 86_399_999_999_999],
    );
    // 2024-02-29 12:34:56, the second before 1970, years 1, 0 and 9999, and the edges of 64 bits.
    let seconds: [i64; 7] = [
        0,
        -1,
        1_709_210_096,
        -62_135_596_800,
        -62_135_596_801,
        253_402_300_799,
        i64::MIN,
    ];
    columns.values::<TimestampSecondType>("timestamp[s]", &seconds);
    let ms = [
        0,
        -1,
        1_709_210_096_789,
        -62_135_596_800_000,
        253_402_300_799_999,
        i64::MAX,
    ];
    columns.values::<TimestampMillisecondType>("timestamp[ms]", &ms);
    let us = [
        0,
        -1,
        1_709_210_096_789_012,
        -62_135_596_800_000_000,
        253_402_300_799_999_999,
        i64::MAX,
    ];
    columns.values::<TimestampMicrosecondType>("timestamp[us]", &us);
    let ns = [0, -1, 1_709_210_096_789_012_345, i64::MIN, i64::MAX];
    columns.values::<TimestampNanosecondType>("timestamp[ns]", &ns);
    let zoned = primitive::<TimestampMicrosecondType>(&us);
    columns.put("timestamp UTC", zoned.clone().with_timezone("UTC"));
    columns.put("timestamp +05:30", zoned.clone().with_timezone("+05:30"));
    // Both sides of the two clock changes of 2024, when an hour is missing and when one occurs twice.
    let changes = [
        1_711_846_799_000_000,
        1_711_846_800_000_000,
        1_729_987_200_000_000,
        1_729_990_800_000_000,
        0,
    ];
    let paris = primitive::<TimestampMicrosecondType>(&changes);
    columns.put("timestamp Paris", paris.with_timezone("Europe/Paris"));
    columns.values::<DurationSecondType>("duration[s]", &[0, 1, -1, 90_061, i64::MIN, i64::MAX]);
    columns.values::<DurationMillisecondType>("duration[ms]", &[0, 1, -1, 90_061_001, i64::MAX]);
    columns
        .values::<DurationMicrosecondType>("duration[us]", &[0, 1, -1, 90_061_000_001, i64::MAX]);
    columns.values::<DurationNanosecondType>(
        "duration[ns]",
        &[0, 1, -1, 90_061_000_000_001, i64::MAX],
    );
    columns.values::<IntervalYearMonthType>("interval months", &[0, 1, -1, 14, i32::MIN, i32::MAX]);
    let day_times = [(0, 0), (1, 500), (-1, -500), (i32::MIN, i32::MAX)]
        .map(|(d, ms)| IntervalDayTime::new(d, ms));
    columns.values::<IntervalDayTimeType>("interval days", &day_times);
    let mixed = [
        (0, 0, 0),
        (1, 2, 3),
        (-14, -3, -1_500_000_000),
        (i32::MAX, i32::MIN, i64::MAX),
    ];
    let mixed = mixed.map(|(months, days, ns)| IntervalMonthDayNano::new(months, days, ns));
    columns.values::<IntervalMonthDayNanoType>("interval mixed", &mixed);
}
