//! Draws numbers and dates, how a locale writes them, and CSV texts that hold them.

use std::fmt::Write;
use std::iter::repeat_n;

use crate::locales::{LOCALES, Locale, PLAIN};

/// Splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn one_in(&mut self, limit: usize) -> bool {
        self.below(limit) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    fn between(&mut self, first: usize, last: usize) -> usize {
        first + self.below(last + 1 - first)
    }

    fn digits(&mut self, length: usize) -> String {
        (0..length)
            .map(|_| (b'0' + self.below(10) as u8) as char)
            .collect()
    }

    /// Digits without a leading zero; `0` if there are none.
    fn integer(&mut self, length: usize) -> String {
        match length {
            0 => "0".into(),
            _ => format!("{}{}", self.between(1, 9), self.digits(length - 1)),
        }
    }
}

/// What a text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truth {
    /// An integer over a power of ten.
    Number(i128, u32),
    /// Days since 1970.
    Date(i64),
    /// Seconds since 1970, and nanoseconds.
    Timestamp(i64, u32),
    /// Neither a number nor a date.
    Text,
}

/// A value that is not null.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) truth: Truth,
}

pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) locale: &'static str,
    pub(crate) cells: Vec<Option<Cell>>,
    /// The fewest readings of a column of text.
    pub(crate) min_readings: usize,
}

impl Column {
    /// Whether the column may be text without readings:
    ///
    /// - it has no value;
    /// - its values are codes such as `007`, or addresses such as `192.168.100.200`;
    /// - one of its values could be an address, as the number `1.234.123.100` could.
    pub(crate) fn expects_text(&self) -> bool {
        let mut cells = self.cells.iter().flatten();
        self.is_text() || cells.any(|cell| is_address(&cell.text))
    }

    /// Whether no value is a number or a date.
    pub(crate) fn is_text(&self) -> bool {
        let mut cells = self.cells.iter().flatten();
        cells.all(|cell| cell.truth == Truth::Text)
    }
}

fn is_address(text: &str) -> bool {
    let parts: Vec<_> = text.split('.').collect();
    parts.len() == 4 && parts.iter().all(|part| part.parse::<u8>().is_ok())
}

/// How the values of a column are drawn.
enum Style {
    Number(NumberStyle),
    Moment(MomentStyle),
    Code,
    Address,
}

impl Style {
    fn cell(&self, random: &mut Random) -> Cell {
        match self {
            Self::Number(style) => style.cell(random),
            Self::Moment(style) => style.cell(random),
            Self::Code => Cell {
                text: format!("0{}", random.digits(2)),
                truth: Truth::Text,
            },
            Self::Address => {
                let first = random.between(1, 255);
                let others = [0; 3].map(|_| random.between(100, 255).to_string());
                Cell {
                    text: format!("{first}.{}", others.join(".")),
                    truth: Truth::Text,
                }
            }
        }
    }
}

struct NumberStyle {
    decimal: &'static str,
    /// Empty for digits without groups.
    group: &'static str,
    is_indian: bool,
    min_grouping: usize,
    minus: &'static str,
    negative_rate: usize,
    /// The fewest and the most digits before the fraction; 0 for `0`.
    integer_digits: (usize, usize),
    fraction_digits: usize,
    /// Whether a fraction may be shorter, and has no zero at its end.
    is_fraction_cut: bool,
}

impl NumberStyle {
    fn draw(random: &mut Random, locale: &Locale) -> Self {
        let groups: &[&str] = if random.one_in(4) {
            &[""]
        } else {
            locale.groups
        };
        Self {
            decimal: locale.decimal,
            group: random.pick(groups),
            is_indian: locale.is_indian,
            min_grouping: random.pick(locale.min_grouping),
            minus: random.pick(locale.minus),
            negative_rate: random.pick(&[2, 10, usize::MAX]),
            integer_digits: (0, random.pick(&[1, 3, 4, 4, 6, 6, 9, 12, 20])),
            fraction_digits: random.below(5),
            is_fraction_cut: random.one_in(2),
        }
    }

    /// Only numbers such as `1.234`, in which a point or a comma stands before three digits.
    fn draw_ambiguous(random: &mut Random, locale: &Locale) -> Self {
        let mut style = Self::draw(random, locale);
        let is_other_sign = matches!(locale.groups, [".", ..] | [",", ..]);
        style.is_fraction_cut = false;
        if is_other_sign && random.one_in(2) {
            style.group = locale.groups[0];
            style.fraction_digits = 0;
            style.integer_digits = (3 + style.min_grouping, if style.is_indian { 5 } else { 6 });
        } else {
            style.group = "";
            style.fraction_digits = 3;
            style.integer_digits = (1, 3);
        }
        style
    }

    fn cell(&self, random: &mut Random) -> Cell {
        let (fewest, most) = self.integer_digits;
        let length = random.between(fewest, most);
        let integer = random.integer(length);
        let mut fraction = random.digits(self.fraction_digits);
        if self.is_fraction_cut {
            fraction.truncate(random.between(0, self.fraction_digits));
            fraction.truncate(fraction.trim_end_matches('0').len());
        }
        let magnitude: i128 = format!("{integer}{fraction}").parse().unwrap();
        let is_negative = random.one_in(self.negative_rate) && magnitude > 0;
        let sign = if is_negative { self.minus } else { "" };
        let decimal = if fraction.is_empty() {
            ""
        } else {
            self.decimal
        };
        Cell {
            text: format!("{sign}{}{decimal}{fraction}", self.grouped(&integer)),
            truth: Truth::Number(
                if is_negative { -magnitude } else { magnitude },
                fraction.len() as u32,
            ),
        }
    }

    fn grouped(&self, digits: &str) -> String {
        if self.group.is_empty() || digits.len() < 3 + self.min_grouping {
            return digits.into();
        }
        let size = if self.is_indian { 2 } else { 3 };
        let (mut rest, last) = digits.split_at(digits.len() - 3);
        let mut groups = vec![last];
        while rest.len() > size {
            let (before, group) = rest.split_at(rest.len() - size);
            groups.push(group);
            rest = before;
        }
        groups.push(rest);
        groups.reverse();
        groups.join(self.group)
    }
}

/// A date and a time on a clock.
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    millisecond: i64,
}

impl Moment {
    fn write(&self, pattern: &str, noons: [&str; 2]) -> String {
        let mut text = String::new();
        let mut rest = pattern;
        while let Some(letter) = rest.chars().next() {
            let length = rest.chars().take_while(|other| *other == letter).count();
            rest = &rest[length * letter.len_utf8()..];
            let value = match letter {
                'y' if length == 2 => self.year % 100,
                'y' => self.year,
                'M' => self.month,
                'd' => self.day,
                'H' => self.hour,
                'h' => (self.hour + 11) % 12 + 1,
                'm' => self.minute,
                's' => self.second,
                'S' => self.millisecond,
                'a' => {
                    text.push_str(noons[usize::from(self.hour >= 12)]);
                    continue;
                }
                _ => {
                    text.extend(repeat_n(letter, length));
                    continue;
                }
            };
            write!(text, "{value:0length$}").unwrap();
        }
        text
    }
}

struct MomentStyle {
    /// Of CLDR.
    pattern: String,
    noons: [&'static str; 2],
    has_time: bool,
    /// Whether days are at most 12, as months are.
    has_small_days: bool,
    /// The first and the last year.
    years: (usize, usize),
}

impl MomentStyle {
    fn draw(random: &mut Random, locale: &Locale, has_time: bool) -> Self {
        let dates = locale.dates;
        let years = random.pick(&[(2026, 2026), (2020, 2026), (1950, 2049), (1583, 9999)]);
        Self::of(random, locale, dates, years, has_time)
    }

    fn draw_short(random: &mut Random, locale: &Locale) -> Self {
        let dates = locale.short_dates;
        let years = random.pick(&[(2026, 2026), (1999, 2026), (1969, 2068)]);
        let has_time = random.one_in(3);
        Self::of(random, locale, dates, years, has_time)
    }

    fn of(
        random: &mut Random,
        locale: &Locale,
        dates: &[&str],
        years: (usize, usize),
        has_time: bool,
    ) -> Self {
        let mut pattern = random.pick(dates).to_owned();
        if has_time {
            let space = random.pick(&[" ", "\u{202f}"]);
            pattern += random.pick(locale.joins);
            pattern += &random.pick(locale.times).replace(' ', space);
        }
        Self {
            pattern,
            noons: random.pick(locale.noons),
            has_time,
            has_small_days: false,
            years,
        }
    }

    fn cell(&self, random: &mut Random) -> Cell {
        let year = random.between(self.years.0, self.years.1) as i64;
        let month = random.between(1, 12) as i64;
        let last_day = if self.has_small_days {
            12
        } else {
            days_of(year, month) as usize
        };
        let mut draw_if = |letter: char, limit: usize| {
            let is_written = self.has_time && self.pattern.contains(letter);
            if is_written {
                random.below(limit) as i64
            } else {
                0
            }
        };
        let moment = Moment {
            hour: draw_if('m', 24),
            minute: draw_if('m', 60),
            second: draw_if('s', 60),
            millisecond: draw_if('S', 1000),
            year,
            month,
            day: random.between(1, last_day) as i64,
        };
        let days = days_since_1970(year, month, moment.day);
        let seconds = moment.hour * 3600 + moment.minute * 60 + moment.second;
        Cell {
            text: moment.write(&self.pattern, self.noons),
            truth: if self.has_time {
                let nanoseconds = moment.millisecond as u32 * 1_000_000;
                Truth::Timestamp(days * 86_400 + seconds, nanoseconds)
            } else {
                Truth::Date(days)
            },
        }
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Adds up the lengths of years and months.
pub(crate) fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let years = before * 365 + before / 4 - before / 100 + before / 400;
    let months: i64 = (1..month).map(|month| days_of(year, month)).sum();
    years + months + day - 1 - 719_162
}

fn draw_column(
    random: &mut Random,
    locale: &'static Locale,
    index: usize,
    num_rows: usize,
) -> Column {
    let mut null_rate = random.pick(&[usize::MAX, 8, 2]);
    let mut min_readings = 2;
    let kind = random.below(24);
    let locale = if matches!(kind, 0..=2) {
        &PLAIN
    } else {
        locale
    };
    let style = match kind {
        0 | 3..=10 => Style::Number(NumberStyle::draw(random, locale)),
        11 | 12 => Style::Number(NumberStyle::draw_ambiguous(random, locale)),
        1 | 13..=15 => Style::Moment(MomentStyle::draw(random, locale, false)),
        2 | 16..=18 => Style::Moment(MomentStyle::draw(random, locale, true)),
        19 | 20 => {
            let has_time = random.one_in(2);
            let mut style = MomentStyle::draw(random, locale, has_time);
            style.has_small_days = true;
            Style::Moment(style)
        }
        21 if !locale.short_dates.is_empty() => {
            // Of `31.12.25`, one order is right at most.
            min_readings = 1;
            Style::Moment(MomentStyle::draw_short(random, locale))
        }
        22 if random.one_in(2) => Style::Code,
        22 => Style::Address,
        _ => {
            null_rate = 1;
            Style::Code
        }
    };
    let cells = (0..num_rows).map(|_| {
        let is_null = random.one_in(null_rate);
        (!is_null).then(|| style.cell(random))
    });
    Column {
        cells: cells.collect(),
        name: format!("{}{index}", random.pick(&["n", "größe", "prix ", "金額"])),
        locale: locale.name,
        min_readings,
    }
}

pub(crate) struct Drawn {
    pub(crate) columns: Vec<Column>,
    /// The names, perhaps behind a byte order mark.
    pub(crate) header: String,
    /// The rows with their line ends.
    pub(crate) records: Vec<String>,
    /// All of it, perhaps without the last line end.
    pub(crate) text: String,
}

pub(crate) fn draw(random: &mut Random) -> Drawn {
    let locale = &LOCALES[random.below(LOCALES.len())];
    let num_columns = 1 + random.below(8);
    let max_rows = random.pick(&[3, 30, 200]);
    let num_rows = 1 + random.below(max_rows);
    let columns: Vec<_> = (0..num_columns)
        .map(|index| draw_column(random, locale, index, num_rows))
        .collect();
    let writer = Writer {
        // Without delimiters, a text is taken to have commas.
        delimiter: match num_columns {
            1 => ',',
            _ => random.pick(&[';', ',', '\t', '|']),
        },
        line_end: random.pick(&["\n", "\r\n"]),
        quote_rate: random.pick(&[3, 20, usize::MAX]),
    };
    let mark = if random.one_in(4) { "\u{feff}" } else { "" };
    let names = columns.iter().map(|column| Some(column.name.as_str()));
    let header = mark.to_owned() + &writer.record(random, names);
    let records: Vec<_> = (0..num_rows)
        .map(|row| {
            let cells = columns.iter().map(|column| column.cells[row].as_ref());
            let texts = cells.map(|cell| cell.map(|cell| cell.text.as_str()));
            writer.record(random, texts)
        })
        .collect();
    let mut text = header.clone() + &records.concat();
    // A blank line at the end is a row only with its line end.
    let is_last_blank = num_columns == 1 && columns[0].cells[num_rows - 1].is_none();
    if random.one_in(3) && !is_last_blank {
        text.truncate(text.len() - writer.line_end.len());
    }
    Drawn {
        columns,
        header,
        records,
        text,
    }
}

struct Writer {
    delimiter: char,
    line_end: &'static str,
    quote_rate: usize,
}

impl Writer {
    fn record<'a>(
        &self,
        random: &mut Random,
        fields: impl Iterator<Item = Option<&'a str>>,
    ) -> String {
        let mut record = String::new();
        for (index, field) in fields.enumerate() {
            if index > 0 {
                record.push(self.delimiter);
            }
            let Some(field) = field else { continue };
            if field.contains(self.delimiter) || random.one_in(self.quote_rate) {
                write!(record, "\"{field}\"").unwrap();
            } else {
                record.push_str(field);
            }
        }
        record + self.line_end
    }
}
