//! Facts about all values of a CSV column, and the type that they make.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, TimeUnit};

use crate::csv::dialect::{Dialect, Syntax};
use crate::csv::number_readings::NumberReadings;
use crate::csv::records::Block;
use crate::csv::values::{ValueSyntax, parse_bool};
use crate::notation::{READING_KEY, READINGS_KEY, Reading};
use crate::time::{LocalTimeFacts, TimeFacts, Zone};

/// Facts about all values of a column. They do not depend on the values' order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    kind: Kind,
    /// How the column is read in any case. Values that are written otherwise leave no facts.
    said: Option<Reading>,
}

/// What all values are that are not null.
#[derive(Debug, Clone, Default, PartialEq)]
enum Kind {
    /// There is none.
    #[default]
    Nothing,
    Bools,
    Numbers(NumberReadings),
    /// Dates as in `2024-01-31`, times of day, and timestamps.
    Times(TimeFacts),
    /// Dates in other notations.
    LocalTimes(LocalTimeFacts),
    /// Other text, or values of several kinds.
    Text,
}

impl Facts {
    /// Whether the column is text whatever its other values are.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.kind == Kind::Text
    }

    /// Enters the value of a field without its quotes and escapes.
    #[inline]
    pub(crate) fn observe_field(&mut self, value: &[u8], is_quoted: bool, values: &ValueSyntax) {
        if self.is_text() || values.is_null(value, is_quoted) {
            return;
        }
        if let Some(reading) = values.reading {
            return self.observe_reading(value, reading, values);
        }
        let fits = match &mut self.kind {
            Kind::Nothing => {
                self.kind = Kind::of(value, values);
                true
            }
            Kind::Bools => parse_bool(value).is_some(),
            Kind::Numbers(facts) => facts.observe(value, values),
            Kind::Times(facts) => facts.observe(value),
            Kind::LocalTimes(facts) => {
                LocalTimeFacts::of(value, values.dates).is_some_and(|other| facts.merge(&other))
            }
            Kind::Text => true,
        };
        if !fits {
            self.kind = Kind::Text;
        }
    }

    /// Enters a value of a column that is read in a certain way. A value that is written otherwise is an error later.
    fn observe_reading(&mut self, value: &[u8], reading: Reading, values: &ValueSyntax) {
        self.said = Some(reading);
        let kind = match reading {
            Reading::Number(_) => NumberReadings::of(value, values).map(Kind::Numbers),
            Reading::Date(_) => LocalTimeFacts::of(value, values.dates).map(Kind::LocalTimes),
        };
        self.kind.merge(&kind.unwrap_or_default());
    }

    /// Enters the values of one column of a block.
    pub(crate) fn observe_column(
        &mut self,
        block: &Block<'_>,
        column: usize,
        syntax: &Syntax,
        values: &ValueSyntax,
    ) {
        let mut unescaped = Vec::new();
        for span in block.column(column) {
            if self.is_text() {
                return;
            }
            let mut value = span.bytes(block.text);
            if span.is_escaped() {
                unescaped.clear();
                syntax.unescape(value, &mut unescaped);
                value = &unescaped;
            }
            self.observe_field(value, span.is_quoted(), values);
        }
    }

    /// Enters all values of another part of the column.
    pub fn merge(&mut self, other: &Self) {
        self.said = self.said.or(other.said);
        if !self.kind.merge(&other.kind) && self.said.is_none() {
            self.kind = Kind::Text;
        }
    }

    /// The type that holds all values exactly; text if no other does, if all are null, or if it depends on how they
    /// are read.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        if let Notation::Unknown(_) = self.notation() {
            return DataType::Utf8;
        }
        let data_type = match &self.kind {
            Kind::Nothing => match self.said {
                Some(Reading::Number(_)) => Some(DataType::Int64),
                Some(Reading::Date(_)) => Some(DataType::Date32),
                None => None,
            },
            Kind::Bools => Some(DataType::Boolean),
            Kind::Numbers(facts) => facts.data_type(),
            Kind::Times(facts) => facts.data_type(),
            Kind::LocalTimes(facts) => facts.times().data_type(),
            Kind::Text => None,
        };
        data_type.unwrap_or(DataType::Utf8)
    }

    fn notation(&self) -> Notation {
        if let Some(said) = self.said {
            return Notation::Known(said);
        }
        match &self.kind {
            Kind::Numbers(facts) => match facts.signs()[..] {
                [_] if facts.is_plain() => Notation::Usual,
                [sign] => Notation::Known(Reading::Number(sign)),
                ref signs => {
                    Notation::Unknown(signs.iter().copied().map(Reading::Number).collect())
                }
            },
            Kind::LocalTimes(facts) => match facts.notations()[..] {
                [notation] if facts.has_known_century() => Notation::Known(Reading::Date(notation)),
                ref several => {
                    Notation::Unknown(several.iter().copied().map(Reading::Date).collect())
                }
            },
            _ => Notation::Usual,
        }
    }

    /// The nullable column of that name, with its reading, or the readings that are possible.
    pub(crate) fn field(&self, name: &str) -> Field {
        let field = Field::new(name, self.data_type(), true);
        let metadata = match self.notation() {
            Notation::Usual => return field,
            Notation::Known(reading) => (READING_KEY, reading.word()),
            Notation::Unknown(readings) => {
                let words = readings
                    .iter()
                    .map(|reading| format!("{:?}", reading.word()));
                (
                    READINGS_KEY,
                    format!("[{}]", words.collect::<Vec<_>>().join(",")),
                )
            }
        };
        field.with_metadata(HashMap::from([(metadata.0.to_owned(), metadata.1)]))
    }

    /// Whether the values are of one kind other than text.
    pub(crate) fn is_typed(&self) -> bool {
        !matches!(self.kind, Kind::Nothing | Kind::Text)
            && (self.data_type() != DataType::Utf8
                || matches!(self.notation(), Notation::Unknown(_)))
    }

    /// Facts about the extreme values of a type.
    pub(crate) fn of_type(data_type: &DataType) -> Self {
        let mut facts = Self::default();
        let values = ValueSyntax::new(&Dialect::default());
        for value in extremes(data_type) {
            facts.observe_field(value.as_bytes(), true, &values);
        }
        facts
    }
}

/// How all values of a column are written.
enum Notation {
    /// As in `-1.5` and `2024-01-31`, or they are neither numbers nor dates.
    Usual,
    Known(Reading),
    /// In one of these, or in the only one if the century of years is a guess.
    Unknown(Vec<Reading>),
}

impl Kind {
    /// Enters all values of another part of the column. Returns false if they are of another kind.
    fn merge(&mut self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Nothing) | (Self::Bools, Self::Bools) | (Self::Text, Self::Text) => true,
            (kind @ Self::Nothing, other) => {
                *kind = other.clone();
                true
            }
            (Self::Numbers(facts), Self::Numbers(other)) => facts.merge(other),
            (Self::Times(facts), Self::Times(other)) => {
                facts.merge(other);
                true
            }
            (Self::LocalTimes(facts), Self::LocalTimes(other)) => facts.merge(other),
            _ => false,
        }
    }

    fn of(value: &[u8], values: &ValueSyntax) -> Self {
        if parse_bool(value).is_some() {
            return Self::Bools;
        }
        if let Some(numbers) = NumberReadings::of(value, values) {
            return Self::Numbers(numbers);
        }
        let mut times = TimeFacts::default();
        if times.observe(value) {
            return Self::Times(times);
        }
        LocalTimeFacts::of(value, values.dates).map_or(Self::Text, Self::LocalTimes)
    }
}

/// Values that only `data_type` and wider types hold.
fn extremes(data_type: &DataType) -> Vec<String> {
    match data_type {
        DataType::Boolean => vec!["true".into()],
        DataType::Int64 => vec![i64::MIN.to_string(), i64::MAX.to_string()],
        DataType::UInt64 => vec![u64::MAX.to_string()],
        DataType::Float64 => vec!["1e300".into(), "1e-300".into()],
        DataType::Decimal128(precision, scale) => vec![largest_decimal(*precision, *scale)],
        DataType::Date32 => vec!["0001-01-01".into(), "9999-12-31".into()],
        DataType::Time32(unit) | DataType::Time64(unit) => {
            vec![format!("23:59:59{}", fraction(*unit))]
        }
        DataType::Timestamp(unit, zone) => extreme_timestamps(*unit, zone.as_deref()),
        _ => vec![String::new()],
    }
}

fn largest_decimal(precision: u8, scale: i8) -> String {
    let scale = usize::from(scale.unsigned_abs());
    let integer = usize::from(precision).saturating_sub(scale);
    let integer = if integer == 0 {
        "0".into()
    } else {
        "9".repeat(integer)
    };
    let point = if scale == 0 { "" } else { "." };
    format!("{integer}{point}{}", "9".repeat(scale))
}

fn fraction(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "",
        TimeUnit::Millisecond => ".999",
        TimeUnit::Microsecond => ".999999",
        TimeUnit::Nanosecond => ".999999999",
    }
}

fn extreme_timestamps(unit: TimeUnit, zone: Option<&str>) -> Vec<String> {
    let zone = match zone {
        Some("UTC") => "Z",
        Some(zone) if Zone::parse_name(zone).is_some() => zone,
        Some(_) => return vec![String::new()],
        None => "",
    };
    let years: &[&str] = match unit {
        TimeUnit::Nanosecond => &["1970"],
        _ => &["0001", "9999"],
    };
    let timestamp = |year: &&str| format!("{year}-06-01T00:00:00{}{zone}", fraction(unit));
    years.iter().map(timestamp).collect()
}

#[cfg(test)]
mod tests;
