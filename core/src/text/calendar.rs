use super::CellText;

/// A day of the proleptic Gregorian calendar; year 0 is 1 BC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Day {
    pub(super) year: i64,
    pub(super) month: u8,
    pub(super) day: u8,
}

/// Date32 reaches the years ±5,881,580. A timestamp beyond seven digits of the year is in no calendar.
const MAX_YEAR: i64 = 9_999_999;

impl Day {
    /// The day `days` after 1970-01-01; `None` beyond the years ±9,999,999.
    ///
    /// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    pub(super) fn from_epoch_days(days: i64) -> Option<Self> {
        let days = days.checked_add(719_468)?;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        (year.abs() <= MAX_YEAR).then_some(Self {
            year,
            month: month as u8,
            day: (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u8,
        })
    }

    /// `2024-02-29`; other years with a sign (`-0044-03-15`) or more digits, as pyarrow writes them.
    pub(super) fn write(self, out: &mut CellText) {
        let Self { year, month, day } = self;
        let sign = if year < 0 { "-" } else { "" };
        let year = year.unsigned_abs();
        out.put(format_args!("{sign}{year:04}-{month:02}-{day:02}"));
    }
}
