//! How numbers and dates are written where that is not `1.5` and `2024-01-31`, and the words for it.

use arrow_schema::Field;

/// The metadata key of a field whose values are written in another notation; its value is the reading's word.
pub const READING_KEY: &str = "colonnade.reading";

/// The metadata key of a text field whose values have several readings; its value is a JSON list of their words.
pub const READINGS_KEY: &str = "colonnade.readings";

/// The words, for messages.
pub(crate) const READING_WORDS: &str = "number(,), number(.) or date(DD.MM.YYYY)";

/// Which sign stands before a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum DecimalSign {
    /// `1.5`
    Point,
    /// `1,5`
    Comma,
    /// There are integers only, so that neither a point nor a comma has a meaning.
    None,
}

/// Which signs may stand between groups of digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Thousands {
    /// The point or comma that is not the decimal sign, spaces, or apostrophes.
    #[default]
    Any,
    /// `1.234`
    Point,
    /// `1,234`
    Comma,
    /// `1 234`, also with the spaces that do not break.
    Space,
    /// `1'234` or `1’234`
    Apostrophe,
    /// `1234`
    None,
}

/// The order of the parts of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum DateOrder {
    DayMonthYear,
    MonthDayYear,
    YearMonthDay,
}

/// What stands between the parts of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum DateSeparator {
    Point,
    Slash,
    Hyphen,
    /// A point and a space.
    PointSpace,
}

impl DateSeparator {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let all = [Self::Point, Self::Slash, Self::Hyphen, Self::PointSpace];
        all.into_iter().find(|separator| separator.text() == text)
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Point => ".",
            Self::Slash => "/",
            Self::Hyphen => "-",
            Self::PointSpace => ". ",
        }
    }
}

/// How the dates of a column are written, such as `DD.MM.YYYY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DateNotation {
    pub(crate) order: DateOrder,
    /// `None`: any.
    pub(crate) separator: Option<DateSeparator>,
    /// Whether years have two digits: 69 to 99 are of the last century, 00 to 68 of this one.
    pub(crate) has_short_years: bool,
}

/// How the values of a column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Reading {
    /// As numbers with this sign.
    Number(DecimalSign),
    /// As dates, perhaps with times of day.
    Date(DateNotation),
}

impl DateNotation {
    /// Reads a notation such as `DD.MM.YYYY`, `%d/%m/%y` or `mdy`, behind which a time of day may stand; that is
    /// found by itself.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut letters = Vec::new();
        let mut separators: Vec<String> = vec![String::new()];
        let mut num_year_letters = 0;
        let mut characters = text.chars().peekable();
        let mut previous = None;
        while let Some(&character) = characters.peek() {
            let letter = character.to_ascii_lowercase();
            if matches!(letter, 'd' | 'm' | 'y') {
                if previous != Some(letter) {
                    if letters.len() == 3 {
                        break;
                    }
                    letters.push(letter);
                    separators.push(String::new());
                }
                if letter == 'y' {
                    num_year_letters += if character == 'Y' && text.contains('%') {
                        4
                    } else {
                        1
                    };
                }
                previous = Some(letter);
            } else if letters.len() == 3 {
                break;
            } else if character != '%' {
                previous = None;
                separators.last_mut()?.push(character);
            }
            characters.next();
        }
        let rest: String = characters.collect();
        let order = match letters[..] {
            ['d', 'm', 'y'] => DateOrder::DayMonthYear,
            ['m', 'd', 'y'] => DateOrder::MonthDayYear,
            ['y', 'm', 'd'] => DateOrder::YearMonthDay,
            _ => return None,
        };
        let between = (&separators[1], &separators[2]);
        let separator = match between.0.as_str() {
            "" => None,
            other => Some(DateSeparator::parse(other)?),
        };
        let is_date_only = rest.is_empty() || rest == ".";
        let is_valid = separators[0].is_empty()
            && between.0 == between.1
            && matches!(num_year_letters, 1 | 2 | 4)
            && (is_date_only || rest.starts_with([' ', ',', 'T']));
        is_valid.then_some(Self {
            order,
            separator,
            has_short_years: num_year_letters == 2 || text.contains("%y"),
        })
    }

    /// The word that [`Self::parse`] reads.
    pub(crate) fn word(self) -> String {
        let (separator, day, month, year) = match (self.separator, self.has_short_years) {
            (Some(separator), false) => (separator.text(), "DD", "MM", "YYYY"),
            (Some(separator), true) => (separator.text(), "DD", "MM", "YY"),
            (None, false) => ("", "d", "m", "y"),
            (None, true) => ("", "d", "m", "yy"),
        };
        let parts = match self.order {
            DateOrder::DayMonthYear => [day, month, year],
            DateOrder::MonthDayYear => [month, day, year],
            DateOrder::YearMonthDay => [year, month, day],
        };
        parts.join(separator)
    }
}

impl Reading {
    /// Reads a word such as `number(,)` or `date(DD.MM.YYYY)`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let (name, rest) = word.trim().split_once('(')?;
        let argument = rest.strip_suffix(')')?.trim();
        match (name.trim(), argument) {
            ("number", ",") => Some(Self::Number(DecimalSign::Comma)),
            ("number", ".") => Some(Self::Number(DecimalSign::Point)),
            ("number", "") => Some(Self::Number(DecimalSign::None)),
            ("date", notation) => DateNotation::parse(notation).map(Self::Date),
            _ => None,
        }
    }

    /// The word that [`Self::parse`] reads.
    #[must_use]
    pub fn word(self) -> String {
        match self {
            Self::Number(DecimalSign::Comma) => "number(,)".to_owned(),
            Self::Number(DecimalSign::Point) => "number(.)".to_owned(),
            Self::Number(DecimalSign::None) => "number()".to_owned(),
            Self::Date(notation) => format!("date({})", notation.word()),
        }
    }

    /// How a column of this field is read; `None` if its values are written as usual.
    #[must_use]
    pub fn of_field(field: &Field) -> Option<Self> {
        Self::parse(field.metadata().get(READING_KEY)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_parsed_to_the_reading_that_it_was_written_for() {
        for word in [
            "number(,)",
            "number(.)",
            "number()",
            "date(DD.MM.YYYY)",
            "date(MM/DD/YYYY)",
            "date(YYYY/MM/DD)",
            "date(DD-MM-YY)",
            "date(DD. MM. YYYY)",
            "date(dmy)",
            "date(dmyy)",
        ] {
            assert_eq!(Reading::parse(word).expect(word).word(), word);
        }
    }

    #[test]
    fn other_notations_of_dates_mean_the_same() {
        for (text, word) in [
            ("%d.%m.%Y", "DD.MM.YYYY"),
            ("%d/%m/%y", "DD/MM/YY"),
            ("dd.mm.yyyy", "DD.MM.YYYY"),
            ("d/m/yyyy", "DD/MM/YYYY"),
            ("MDY", "mdy"),
            ("%d%m%y", "dmyy"),
            ("%Y/%m/%d %H:%M:%S", "YYYY/MM/DD"),
            ("DD.MM.YYYY, HH:MM", "DD.MM.YYYY"),
            ("YYYY. MM. DD.", "YYYY. MM. DD"),
        ] {
            let notation = DateNotation::parse(text).map(DateNotation::word);
            assert_eq!(notation.as_deref(), Some(word), "{text}");
        }
        for text in [
            "",
            "d",
            "ddd",
            "dm",
            "ydm",
            "DD.MM/YYYY",
            "DD_MM_YYYY",
            "d.m.yyy",
            "xDD.MM.YYYY",
            "dmyx",
        ] {
            assert_eq!(DateNotation::parse(text), None, "{text}");
        }
    }
}
