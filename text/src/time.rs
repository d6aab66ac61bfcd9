//! Dates, times of day and timestamps: a strict grammar, and facts about all such values of a column.
//!
//! - a date is `YYYY-MM-DD`, of a day that exists in the years 0001 to 9999;
//! - a time of day is `HH:MM`, `HH:MM:SS` or `HH:MM:SS.f` with one to nine digits behind the point;
//! - a timestamp is a date, `T` or one space, a time of day, and a zone or none: `Z`, `+02:00`, `+0200`
//!   or `+02`.
//!
//! Everything else is text, including second 60. Other notations of dates are in [`local`].

mod column;
mod local;

use arrow_schema::{DataType, TimeUnit};

pub(crate) use column::{TimeType, time_array};
pub(crate) use local::LocalTimeFacts;

pub(crate) const NANOSECONDS: i64 = 1_000_000_000;
const SECONDS_OF_DAY: i64 = 86_400;

/// The zone of a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    /// Written as `Z`.
    Utc,
    /// Minutes east of UTC, less than a day.
    Offset(i16),
}

impl Zone {
    /// `UTC`, or an offset such as `+02:00`.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Utc => "UTC".into(),
            Self::Offset(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.unsigned_abs();
                format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }

    /// Reads what [`Self::name`] writes, and offsets as timestamps have them.
    pub(crate) fn parse_name(name: &str) -> Option<Self> {
        match name {
            "UTC" => Some(Self::Utc),
            "Z" => None,
            _ => Self::parse(name.as_bytes()),
        }
    }

    /// Reads a zone as it stands in a timestamp. `-00:00` is none, because no type is named so.
    fn parse(text: &[u8]) -> Option<Self> {
        let (hours, minutes) = match *text {
            [b'Z'] => return Some(Self::Utc),
            [_, a, b] => ([a, b], [b'0', b'0']),
            [_, a, b, c, d] | [_, a, b, b':', c, d] => ([a, b], [c, d]),
            _ => return None,
        };
        let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
        if hours > 23 || minutes > 59 {
            return None;
        }
        let offset = (hours * 60 + minutes) as i16;
        match text.first() {
            Some(b'+') => Some(Self::Offset(offset)),
            Some(b'-') if offset > 0 => Some(Self::Offset(-offset)),
            _ => None,
        }
    }

    fn offset_seconds(self) -> i64 {
        match self {
            Self::Utc => 0,
            Self::Offset(minutes) => i64::from(minutes) * 60,
        }
    }
}

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeOfDay {
    /// Nanoseconds since midnight.
    nanoseconds: i64,
    /// Digits behind the point, at most 9.
    num_digits: u8,
}

impl TimeOfDay {
    /// Reads a time of day and nothing else.
    #[inline]
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let (time, rest) = Self::parse_prefix(text)?;
        rest.is_empty().then_some(time)
    }

    fn parse_prefix(text: &[u8]) -> Option<(Self, &[u8])> {
        let (&[h1, h2, b':', m1, m2], mut rest) = text.split_first_chunk()? else {
            return None;
        };
        let (hours, minutes) = (two_digits([h1, h2])?, two_digits([m1, m2])?);
        let mut seconds = 0;
        let mut fraction = (0, 0);
        if let Some((&[b':', s1, s2], behind)) = rest.split_first_chunk() {
            seconds = two_digits([s1, s2])?;
            rest = behind;
            if let Some((b'.', behind)) = rest.split_first() {
                (fraction, rest) = parse_fraction(behind)?;
            }
        }
        if hours > 23 || minutes > 59 || seconds > 59 {
            return None;
        }
        let seconds = i64::from(hours * 3600 + minutes * 60 + seconds);
        let time = Self {
            nanoseconds: seconds * NANOSECONDS + fraction.0,
            num_digits: fraction.1,
        };
        Some((time, rest))
    }

    /// The time in `unit`; `None` if it has more digits.
    #[inline]
    pub(crate) fn in_unit(self, unit: TimeUnit) -> Option<i64> {
        (self.num_digits <= unit_digits(unit))
            .then(|| self.nanoseconds / (NANOSECONDS / per_second(unit)))
    }
}

/// The nanoseconds of the digits behind a point, the number of digits, and the text behind them.
fn parse_fraction(text: &[u8]) -> Option<((i64, u8), &[u8])> {
    let num_digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=9).contains(&num_digits) {
        return None;
    }
    let (digits, rest) = text.split_at_checked(num_digits)?;
    let value = digits
        .iter()
        .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    let scale = 10_i64.pow(9 - num_digits as u32);
    Some(((value * scale, num_digits as u8), rest))
}

/// A date with a time of day, and perhaps a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timestamp {
    /// Seconds since 1970; in UTC if there is a zone.
    seconds: i64,
    nanoseconds: i64,
    num_digits: u8,
    /// The zone; `None` for a timestamp of a clock on a wall.
    pub(crate) zone: Option<Zone>,
}

impl Timestamp {
    /// Reads a timestamp and nothing else.
    #[inline]
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let (date, behind) = text.split_first_chunk::<10>()?;
        let (b'T' | b' ', behind) = behind.split_first()? else {
            return None;
        };
        let days = parse_date(date)?;
        let (time, behind) = TimeOfDay::parse_prefix(behind)?;
        let zone = match behind {
            [] => None,
            zone => Some(Zone::parse(zone)?),
        };
        let seconds = i64::from(days) * SECONDS_OF_DAY + time.nanoseconds / NANOSECONDS;
        Some(Self {
            seconds: seconds - zone.map_or(0, Zone::offset_seconds),
            nanoseconds: time.nanoseconds % NANOSECONDS,
            num_digits: time.num_digits,
            zone,
        })
    }

    /// Midnight of a day, without a zone.
    pub(crate) fn midnight(days: i32) -> Self {
        Self {
            seconds: i64::from(days) * SECONDS_OF_DAY,
            nanoseconds: 0,
            num_digits: 0,
            zone: None,
        }
    }

    /// The timestamp in `unit` since 1970; `None` if it has more digits or is out of range.
    #[inline]
    pub(crate) fn in_unit(self, unit: TimeUnit) -> Option<i64> {
        if self.num_digits > unit_digits(unit) {
            return None;
        }
        let per_second = per_second(unit);
        let fraction = self.nanoseconds / (NANOSECONDS / per_second);
        if self.seconds < 0 {
            // Through the next second, because the product with this one can be out of range.
            let seconds = (self.seconds + 1).checked_mul(per_second)?;
            seconds.checked_add(fraction - per_second)
        } else {
            self.seconds.checked_mul(per_second)?.checked_add(fraction)
        }
    }

    fn days(self) -> Option<i64> {
        Some(self.seconds / SECONDS_OF_DAY).filter(|days| days * SECONDS_OF_DAY == self.seconds)
    }

    fn fits_nanoseconds(self) -> bool {
        self.in_unit(TimeUnit::Nanosecond).is_some()
    }
}

/// Days since 1970 of a date and nothing else.
#[inline]
pub(crate) fn parse_date(text: &[u8]) -> Option<i32> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else {
        return None;
    };
    let year = two_digits([y1, y2])? * 100 + two_digits([y3, y4])?;
    let (month, day) = (two_digits([m1, m2])?, two_digits([d1, d2])?);
    let exists = year >= 1 && (1..=12).contains(&month) && day >= 1 && day <= days_of(year, month);
    exists.then(|| days_since_1970(year, month, day))
}

#[inline]
fn two_digits([tens, ones]: [u8; 2]) -> Option<u32> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then(|| u32::from(tens) * 10 + u32::from(ones))
}

#[inline]
fn days_of(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970 in the proleptic Gregorian calendar. Years are counted from March, so that the
/// leap day is the last of a year.
#[inline]
fn days_since_1970(year: u32, month: u32, day: u32) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = if month <= 2 { month + 9 } else { month - 3 };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year;
    days as i32 - 719_468
}

/// Ticks of `unit` in a second.
fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => NANOSECONDS,
    }
}

fn unit_digits(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// The zones of all timestamps of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zones {
    /// All timestamps have this zone, or all have none.
    Same(Option<Zone>),
    Mixed,
}

/// Facts about the dates, times and timestamps of a column, in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TimeFacts {
    has_date: bool,
    has_time: bool,
    zones: Option<Zones>,
    num_digits: u8,
    out_of_nanoseconds: bool,
}

impl TimeFacts {
    /// Enters a value. Returns whether it is a date, a time of day or a timestamp.
    #[inline]
    pub(crate) fn observe(&mut self, text: &[u8]) -> bool {
        if let Some(days) = parse_date(text) {
            self.observe_date(days);
        } else if let Some(timestamp) = Timestamp::parse(text) {
            self.observe_timestamp(timestamp);
        } else if let Some(time) = TimeOfDay::parse(text) {
            self.has_time = true;
            self.num_digits = self.num_digits.max(time.num_digits);
        } else {
            return false;
        }
        true
    }

    fn observe_date(&mut self, days: i32) {
        self.has_date = true;
        self.out_of_nanoseconds |= !(-106_751..=106_751).contains(&days);
    }

    fn observe_timestamp(&mut self, timestamp: Timestamp) {
        self.num_digits = self.num_digits.max(timestamp.num_digits);
        self.out_of_nanoseconds |= !timestamp.fits_nanoseconds();
        self.add_zones(Zones::Same(timestamp.zone));
    }

    fn add_zones(&mut self, zones: Zones) {
        self.zones = match self.zones {
            None => Some(zones),
            Some(known) if known == zones => Some(known),
            Some(_) => Some(Zones::Mixed),
        };
    }

    /// Enters all values of another part of the column.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.has_date |= other.has_date;
        self.has_time |= other.has_time;
        self.num_digits = self.num_digits.max(other.num_digits);
        self.out_of_nanoseconds |= other.out_of_nanoseconds;
        if let Some(zones) = other.zones {
            self.add_zones(zones);
        }
    }

    /// The type that holds all values exactly; `None` if only text does.
    pub(crate) fn data_type(&self) -> Option<DataType> {
        match (self.has_time, self.has_date, self.zones) {
            (true, false, None) => Some(time_type(self.unit())),
            (false, true, None) => Some(DataType::Date32),
            (false, has_date, Some(Zones::Same(zone))) if !has_date || zone.is_none() => {
                let unit = self.unit();
                let fits = unit != TimeUnit::Nanosecond || !self.out_of_nanoseconds;
                let zone = zone.map(|zone| zone.name().into());
                fits.then_some(DataType::Timestamp(unit, zone))
            }
            _ => None,
        }
    }

    fn unit(&self) -> TimeUnit {
        match self.num_digits {
            0 => TimeUnit::Second,
            1..=3 => TimeUnit::Millisecond,
            4..=6 => TimeUnit::Microsecond,
            _ => TimeUnit::Nanosecond,
        }
    }
}

fn time_type(unit: TimeUnit) -> DataType {
    match unit {
        TimeUnit::Second | TimeUnit::Millisecond => DataType::Time32(unit),
        TimeUnit::Microsecond | TimeUnit::Nanosecond => DataType::Time64(unit),
    }
}

#[cfg(test)]
mod tests;
