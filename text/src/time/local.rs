//! Dates and timestamps as people of different countries write them: `31/12/2025 14:05`, `8.1.2026`, `1/8/2026, 2:05 PM`.

use super::{
    NANOSECONDS, TimeFacts, TimeOfDay, Timestamp, Zone, days_of, days_since_1970, parse_date,
    parse_fraction,
};
use crate::notation::{DateNotation, DateOrder, DateSeparator};

const ORDERS: [DateOrder; 3] = [
    DateOrder::DayMonthYear,
    DateOrder::MonthDayYear,
    DateOrder::YearMonthDay,
];

/// Where the year of a date stands, and how many digits it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Year {
    First,
    Last,
    /// Two digits, first or last.
    Short,
}

/// A date of an order that is not known yet, and perhaps a time of day. Not one that [`parse_date`] or [`Timestamp`]
/// reads.
#[derive(Debug, Clone, Copy)]
struct LocalTime {
    parts: [u32; 3],
    year: Year,
    separator: DateSeparator,
    time: Option<(TimeOfDay, Option<Zone>)>,
}

impl LocalTime {
    fn parse(text: &[u8]) -> Option<Self> {
        let (first, first_digits, rest) = strip_number(text)?;
        let (separator, rest) = strip_separator(rest)?;
        let (second, second_digits, rest) = strip_number(rest)?;
        let (same, rest) = strip_separator(rest)?;
        let (third, third_digits, mut rest) = strip_number(rest)?;
        let year = match (first_digits, third_digits) {
            (4, 1..=2) => Year::First,
            (1..=2, 4) => Year::Last,
            (1..=2, 2) => Year::Short,
            _ => return None,
        };
        let is_standard = year == Year::First
            && separator == DateSeparator::Hyphen
            && (parse_date(text).is_some() || Timestamp::parse(text).is_some());
        if separator != same || second_digits > 2 || is_standard {
            return None;
        }
        if matches!(separator, DateSeparator::Point | DateSeparator::PointSpace)
            && let [b'.', behind @ ..] = rest
        {
            rest = behind;
        }
        let time = match rest {
            [] => None,
            [b',', b' ', time @ ..] | [b' ' | b'T', time @ ..] => Some(parse_time(time)?),
            _ => return None,
        };
        Some(Self {
            parts: [first, second, third],
            year,
            separator,
            time,
        })
    }

    /// The days since 1970; `None` if there is no such date in that order.
    fn days(&self, order: DateOrder) -> Option<i32> {
        let [first, second, third] = self.parts;
        let (year, month, day) = match order {
            DateOrder::DayMonthYear => (third, second, first),
            DateOrder::MonthDayYear => (third, first, second),
            DateOrder::YearMonthDay => (first, second, third),
        };
        let has_year = match self.year {
            Year::First => order == DateOrder::YearMonthDay,
            Year::Last => order != DateOrder::YearMonthDay,
            Year::Short => true,
        };
        let year = match (self.year, year) {
            (Year::Short, 0..=68) => 2000 + year,
            (Year::Short, 69..=99) => 1900 + year,
            _ => year,
        };
        let exists = has_year
            && year >= 1
            && (1..=12).contains(&month)
            && day >= 1
            && day <= days_of(year, month);
        exists.then(|| days_since_1970(year, month, day))
    }

    fn timestamp(&self, days: i32) -> Timestamp {
        let midnight = Timestamp::midnight(days);
        match self.time {
            None => midnight,
            Some((time, zone)) => Timestamp {
                seconds: midnight.seconds + time.nanoseconds / NANOSECONDS
                    - zone.map_or(0, Zone::offset_seconds),
                nanoseconds: time.nanoseconds % NANOSECONDS,
                num_digits: time.num_digits,
                zone,
            },
        }
    }
}

/// The separator at the start of a text.
fn strip_separator(text: &[u8]) -> Option<(DateSeparator, &[u8])> {
    match text {
        [b'.', b' ', rest @ ..] => Some((DateSeparator::PointSpace, rest)),
        [b'.', rest @ ..] => Some((DateSeparator::Point, rest)),
        [b'/', rest @ ..] => Some((DateSeparator::Slash, rest)),
        [b'-', rest @ ..] => Some((DateSeparator::Hyphen, rest)),
        _ => None,
    }
}

/// The number at the start of a text, of at most four digits, and their number.
#[inline]
fn strip_number(text: &[u8]) -> Option<(u32, usize, &[u8])> {
    let num_digits = text
        .iter()
        .take(5)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if !(1..=4).contains(&num_digits) {
        return None;
    }
    let (digits, rest) = text.split_at_checked(num_digits)?;
    let value = digits
        .iter()
        .fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
    Some((value, num_digits, rest))
}

/// A time of day such as `14:05`, `2:05:30 PM` or `14.05.30,250`, and a zone behind it.
fn parse_time(text: &[u8]) -> Option<(TimeOfDay, Option<Zone>)> {
    let (hours, 1..=2, [separator @ (b':' | b'.'), rest @ ..]) = strip_number(text)? else {
        return None;
    };
    let (minutes, 2, mut rest) = strip_number(rest)? else {
        return None;
    };
    let (mut seconds, mut fraction) = (0, (0, 0));
    if let [next, behind @ ..] = rest
        && next == separator
    {
        let (value, 2, behind) = strip_number(behind)? else {
            return None;
        };
        (seconds, rest) = (value, behind);
        if let [b'.' | b',', behind @ ..] = rest {
            (fraction, rest) = parse_fraction(behind)?;
        }
    }
    let half = strip_half(rest);
    let (hours, zone) = match half {
        Some(_) if !(1..=12).contains(&hours) => return None,
        Some(offset) => (hours % 12 + offset, None),
        None if rest.is_empty() => (hours, None),
        None => (hours, Some(Zone::parse(rest)?)),
    };
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let seconds = i64::from(hours * 3600 + minutes * 60 + seconds);
    let time = TimeOfDay {
        nanoseconds: seconds * NANOSECONDS + fraction.0,
        num_digits: fraction.1,
    };
    Some((time, zone))
}

/// The hours that `AM` or `PM` adds, of which nothing else follows.
fn strip_half(text: &[u8]) -> Option<u32> {
    let word = text
        .strip_prefix(b" ")
        .or_else(|| text.strip_prefix("\u{202f}".as_bytes()))
        .or_else(|| text.strip_prefix("\u{a0}".as_bytes()))
        .unwrap_or(text);
    let is = |words: [&str; 2]| {
        words
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
    };
    if is(["am", "a.m."]) {
        Some(0)
    } else if is(["pm", "p.m."]) {
        Some(12)
    } else {
        None
    }
}

impl DateNotation {
    /// The timestamp of a text that is written so and nothing else, and whether it is a date only.
    #[inline]
    pub(crate) fn read(self, text: &[u8]) -> Option<(Timestamp, bool)> {
        let local = LocalTime::parse(text)?;
        let is_written_so = (local.year == Year::Short) == self.has_short_years
            && self
                .separator
                .is_none_or(|separator| separator == local.separator);
        let days = is_written_so.then(|| local.days(self.order)).flatten()?;
        Some((local.timestamp(days), local.time.is_none()))
    }
}

/// Facts about the dates of a column whose notation is looked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LocalTimeFacts {
    separator: DateSeparator,
    has_short_years: bool,
    /// Whether the century of the years is known.
    has_known_century: bool,
    /// For each of [`ORDERS`], whether all dates exist in it.
    fits: [bool; 3],
    times: TimeFacts,
}

impl LocalTimeFacts {
    /// Facts about one value; `None` if it is no date, or not one of the notation that was `said`.
    pub(crate) fn of(text: &[u8], said: Option<DateNotation>) -> Option<Self> {
        let local = LocalTime::parse(text)?;
        let is_open = |order: &DateOrder| said.is_none_or(|said| said.order == *order);
        let days = ORDERS.map(|order| local.days(order).filter(|_| is_open(&order)));
        let any_days = days.iter().flatten().next()?;
        let has_short_years = local.year == Year::Short;
        if said.is_some_and(|said| {
            said.has_short_years != has_short_years
                || said
                    .separator
                    .is_some_and(|separator| separator != local.separator)
        }) {
            return None;
        }
        let mut times = TimeFacts::default();
        match local.time {
            None => times.observe_date(*any_days),
            Some(_) => times.observe_timestamp(local.timestamp(*any_days)),
        }
        Some(Self {
            separator: local.separator,
            has_short_years,
            has_known_century: !has_short_years || said.is_some(),
            fits: days.map(|days| days.is_some()),
            times,
        })
    }

    /// Enters the dates of other facts. Returns false if no notation fits all.
    pub(crate) fn merge(&mut self, other: &Self) -> bool {
        let is_same =
            self.separator == other.separator && self.has_short_years == other.has_short_years;
        for (fits, other) in self.fits.iter_mut().zip(other.fits) {
            *fits &= other;
        }
        self.times.merge(&other.times);
        is_same && self.fits.contains(&true)
    }

    /// The notations that fit all dates.
    pub(crate) fn notations(&self) -> Vec<DateNotation> {
        let orders = ORDERS.into_iter().zip(self.fits).filter(|(_, fits)| *fits);
        let notation = |(order, _)| DateNotation {
            order,
            separator: Some(self.separator),
            has_short_years: self.has_short_years,
        };
        orders.map(notation).collect()
    }

    /// Whether years have four digits, or someone has said that they have two.
    pub(crate) fn has_known_century(&self) -> bool {
        self.has_known_century
    }

    pub(crate) fn times(&self) -> &TimeFacts {
        &self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(texts: &[&str]) -> Vec<String> {
        let mut facts: Option<LocalTimeFacts> = None;
        for text in texts {
            let Some(one) = LocalTimeFacts::of(text.as_bytes(), None) else {
                return Vec::new();
            };
            match &mut facts {
                None => facts = Some(one),
                Some(facts) => {
                    if !facts.merge(&one) {
                        return Vec::new();
                    }
                }
            }
        }
        facts
            .unwrap()
            .notations()
            .into_iter()
            .map(DateNotation::word)
            .collect()
    }

    #[test]
    fn a_day_beyond_12_shows_the_order() {
        assert_eq!(words(&["08.01.2026", "31.12.2025"]), ["DD.MM.YYYY"]);
        assert_eq!(words(&["12/31/2025 14:05"]), ["MM/DD/YYYY"]);
        assert_eq!(words(&["01.02.2026"]), ["DD.MM.YYYY", "MM.DD.YYYY"]);
        assert_eq!(words(&["2026/01/02"]), ["YYYY/MM/DD"]);
        assert_eq!(words(&["2026. 1. 8."]), ["YYYY. MM. DD"]);
        assert_eq!(words(&["8. 1. 2026", "18. 1. 2026"]), ["DD. MM. YYYY"]);
        assert_eq!(words(&["31.12.25"]), ["DD.MM.YY", "YY.MM.DD"]);
        assert_eq!(words(&["31.12.2025", "31/12/2025"]), [""; 0]);
        assert_eq!(words(&["31/12/2025", "12/31/2025"]), [""; 0]);
        assert_eq!(words(&["30.02.2026"]), [""; 0]);
        assert_eq!(words(&["2026-1-8"]), ["YYYY-MM-DD"]);
        assert_eq!(words(&["2026-11-18"]), [""; 0]);
    }

    #[test]
    fn times_follow_in_several_notations() {
        let notation = DateNotation::parse("DD/MM/YYYY").unwrap();
        let seconds = |text: &str| {
            let (timestamp, is_date) = notation.read(text.as_bytes())?;
            assert_eq!(is_date, text.len() < 11);
            timestamp.in_unit(arrow_schema::TimeUnit::Millisecond)
        };
        let midnight = seconds("31/12/2025").unwrap();
        for (time, milliseconds) in [
            (" 14:05", 50_700_000),
            (", 14:05:30", 50_730_000),
            ("T2:05 PM", 50_700_000),
            (" 2.05.30 p.m.", 50_730_000),
            (" 12:05\u{202f}AM", 300_000),
            (" 14:05:30,25", 50_730_250),
            (" 14:05+02:00", 43_500_000),
        ] {
            let text = format!("31/12/2025{time}");
            assert_eq!(seconds(&text), Some(midnight + milliseconds), "{text}");
        }
        for time in [
            " ",
            " 14",
            " 24:00",
            " 14:5",
            " 13:05 PM",
            " 0:05 AM",
            " 14:05:60",
            "14:05",
            " 14:05 XM",
        ] {
            assert_eq!(
                notation.read(format!("31/12/2025{time}").as_bytes()),
                None,
                "{time}"
            );
        }
    }
}
