//! Facts about the numbers of a column whose decimal sign is looked for.

use arrow_schema::DataType;

use crate::csv::values::ValueSyntax;
use crate::notation::DecimalSign;
use crate::number::{Number, NumberFacts, PlainNumber};

/// What the numbers of a column are if its decimal sign is a point, and what if it is a comma.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NumberReadings {
    /// Numbers that are the same in both readings.
    same: NumberFacts,
    /// The others, as with a point; `None`: some value is not written so.
    point: Option<NumberFacts>,
    /// The others, as with a comma.
    comma: Option<NumberFacts>,
    /// Whether all numbers are written as `-1.5`.
    is_plain: bool,
}

impl NumberReadings {
    /// Facts about one value; `None` if it is no number.
    pub(crate) fn of(value: &[u8], values: &ValueSyntax) -> Option<Self> {
        let is_open = |sign| match values.decimal {
            None | Some(DecimalSign::None) => true,
            Some(said) => said == sign,
        };
        let facts = |sign| is_open(sign).then(NumberFacts::default);
        let mut readings = Self {
            same: NumberFacts::default(),
            point: facts(DecimalSign::Point),
            comma: facts(DecimalSign::Comma),
            is_plain: true,
        };
        readings.observe(value, values).then_some(readings)
    }

    /// Enters a value. Returns false if no reading fits all values.
    #[inline]
    pub(crate) fn observe(&mut self, value: &[u8], values: &ValueSyntax) -> bool {
        match Number::parse(value) {
            Some(number) if !number.has_fraction() => self.same.observe_number(&number),
            Some(number) if !(number.is_like_group() && self.comma.is_some()) => {
                self.comma = None;
                if let Some(point) = &mut self.point {
                    point.observe_number(&number);
                }
            }
            _ if self.same.observe_non_finite(value) => {}
            _ => self.observe_grouped(value, values),
        }
        self.fits()
    }

    fn observe_grouped(&mut self, value: &[u8], values: &ValueSyntax) {
        self.is_plain &= Number::parse(value).is_some();
        let read = |sign| PlainNumber::parse(value, sign, values.thousands);
        let (point, comma) = (read(DecimalSign::Point), read(DecimalSign::Comma));
        let number = |plain: &Option<PlainNumber>| {
            plain
                .as_ref()
                .is_some_and(|plain| Number::parse(plain.text()).is_some())
        };
        let texts = (
            point
                .as_ref()
                .filter(|_| number(&point))
                .map(PlainNumber::text),
            comma
                .as_ref()
                .filter(|_| number(&comma))
                .map(PlainNumber::text),
        );
        if let (Some(point), Some(comma)) = texts
            && point == comma
        {
            self.same.observe(point);
            return;
        }
        enter(&mut self.point, texts.0);
        enter(&mut self.comma, texts.1);
    }

    /// Enters the numbers of other facts. Returns false if no reading fits all values.
    pub(crate) fn merge(&mut self, other: &Self) -> bool {
        self.same.merge(&other.same);
        merge(&mut self.point, other.point.as_ref());
        merge(&mut self.comma, other.comma.as_ref());
        self.is_plain &= other.is_plain;
        self.fits()
    }

    fn fits(&self) -> bool {
        self.point.is_some() || self.comma.is_some()
    }

    /// The decimal signs with which all values are numbers; several only if they make other numbers.
    pub(crate) fn signs(&self) -> Vec<DecimalSign> {
        match (&self.point, &self.comma) {
            (Some(point), Some(_)) if point.is_empty() && self.is_plain => vec![DecimalSign::Point],
            (Some(point), Some(_)) if point.is_empty() => vec![DecimalSign::None],
            (Some(_), Some(_)) => vec![DecimalSign::Point, DecimalSign::Comma],
            (Some(_), None) => vec![DecimalSign::Point],
            (None, _) => vec![DecimalSign::Comma],
        }
    }

    /// Whether all numbers are written as `-1.5`, which is no notation of its own.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain && self.point.is_some()
    }

    /// The type that holds all numbers exactly, with the only one of [`Self::signs`].
    pub(crate) fn data_type(&self) -> Option<DataType> {
        let mut facts = self.same;
        if let Some(others) = self.point.as_ref().or(self.comma.as_ref()) {
            facts.merge(others);
        }
        if self.is_plain() {
            facts.data_type()
        } else {
            facts.exact_type()
        }
    }
}

fn enter(facts: &mut Option<NumberFacts>, number: Option<&[u8]>) {
    match (facts.as_mut(), number) {
        (Some(facts), Some(number)) => {
            facts.observe(number);
        }
        _ => *facts = None,
    }
}

fn merge(facts: &mut Option<NumberFacts>, other: Option<&NumberFacts>) {
    match (facts.as_mut(), other) {
        (Some(facts), Some(other)) => facts.merge(other),
        _ => *facts = None,
    }
}
