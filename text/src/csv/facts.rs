//! Facts about all values of a CSV column, and the type that they make.

use arrow_schema::{DataType, TimeUnit};

use crate::csv::dialect::{Dialect, Syntax};
use crate::csv::records::Block;
use crate::csv::values::{ValueSyntax, parse_bool};
use crate::number::NumberFacts;
use crate::time::{TimeFacts, Zone};

/// Facts about all values of a column. They do not depend on the values' order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    kind: Kind,
}

/// What all values are that are not null.
#[derive(Debug, Clone, Default, PartialEq)]
enum Kind {
    /// There is none.
    #[default]
    Nothing,
    Bools,
    Numbers(NumberFacts),
    Times(TimeFacts),
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
        let fits = match &mut self.kind {
            Kind::Nothing => {
                self.kind = Kind::of(value, values);
                true
            }
            Kind::Bools => parse_bool(value).is_some(),
            Kind::Numbers(facts) => observe_number(facts, value, values),
            Kind::Times(facts) => facts.observe(value),
            Kind::Text => true,
        };
        if !fits {
            self.kind = Kind::Text;
        }
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
        match (&mut self.kind, &other.kind) {
            (_, Kind::Nothing) | (Kind::Bools, Kind::Bools) => {}
            (kind @ Kind::Nothing, other) => *kind = other.clone(),
            (Kind::Numbers(facts), Kind::Numbers(other)) => facts.merge(other),
            (Kind::Times(facts), Kind::Times(other)) => facts.merge(other),
            (kind, _) => *kind = Kind::Text,
        }
    }

    /// The type that holds all values exactly; text if no other does, or if all are null.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        let data_type = match &self.kind {
            Kind::Bools => Some(DataType::Boolean),
            Kind::Numbers(facts) => facts.data_type(),
            Kind::Times(facts) => facts.data_type(),
            Kind::Nothing | Kind::Text => None,
        };
        data_type.unwrap_or(DataType::Utf8)
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

impl Kind {
    fn of(value: &[u8], values: &ValueSyntax) -> Self {
        if parse_bool(value).is_some() {
            return Self::Bools;
        }
        let mut numbers = NumberFacts::default();
        if observe_number(&mut numbers, value, values) {
            return Self::Numbers(numbers);
        }
        let mut times = TimeFacts::default();
        if times.observe(value) {
            return Self::Times(times);
        }
        Self::Text
    }
}

#[inline]
fn observe_number(facts: &mut NumberFacts, value: &[u8], values: &ValueSyntax) -> bool {
    match values.number(value) {
        Some(number) => facts.observe(&number) || facts.observe_non_finite(&number),
        None => false,
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
