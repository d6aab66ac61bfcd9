//! Columns of dates, times of day and timestamps.

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, TimeUnit};

use crate::notation::DateNotation;

use super::{TimeOfDay, Timestamp, Zone, parse_date};

/// The type of a column of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeType {
    Date,
    TimeOfDay(TimeUnit),
    Timestamp(TimeUnit, Option<Zone>),
}

impl TimeType {
    /// `None` if text is not read as `data_type`.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Date32 => Self::Date,
            DataType::Time32(unit @ (TimeUnit::Second | TimeUnit::Millisecond))
            | DataType::Time64(unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond)) => {
                Self::TimeOfDay(*unit)
            }
            DataType::Timestamp(unit, None) => Self::Timestamp(*unit, None),
            DataType::Timestamp(unit, Some(zone)) => {
                Self::Timestamp(*unit, Some(Zone::parse_name(zone)?))
            }
            _ => return None,
        })
    }

    /// As [`Self::parse`], for a text that may be written in `notation`.
    #[inline]
    pub(crate) fn parse_as(self, text: &[u8], notation: DateNotation) -> Option<i64> {
        match notation.read(text) {
            Some((timestamp, is_date)) => self.convert(timestamp, is_date),
            None => self.parse(text),
        }
    }

    fn convert(self, timestamp: Timestamp, is_date: bool) -> Option<i64> {
        match self {
            Self::Date => timestamp.days().filter(|_| is_date),
            Self::TimeOfDay(_) => None,
            Self::Timestamp(unit, zone) => {
                timestamp.in_unit(unit).filter(|_| timestamp.zone == zone)
            }
        }
    }

    /// The days or units of a text; `None` if the type does not hold it exactly. A date is a timestamp without
    /// a zone too: its midnight.
    #[inline]
    pub(crate) fn parse(self, text: &[u8]) -> Option<i64> {
        match self {
            Self::Date => parse_date(text).map(i64::from),
            Self::TimeOfDay(unit) => TimeOfDay::parse(text)?.in_unit(unit),
            Self::Timestamp(unit, zone) => match Timestamp::parse(text) {
                Some(timestamp) if timestamp.zone == zone => timestamp.in_unit(unit),
                None if zone.is_none() => Timestamp::midnight(parse_date(text)?).in_unit(unit),
                _ => None,
            },
        }
    }
}

/// The array of days or units.
pub(crate) fn time_array(
    data_type: &DataType,
    values: Vec<i64>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let data = match data_type {
        DataType::Date32 | DataType::Time32(_) => {
            let values: Vec<i32> = values.into_iter().map(|value| value as i32).collect();
            Int32Array::try_new(values.into(), nulls)?.into_data()
        }
        _ => Int64Array::try_new(values.into(), nulls)?.into_data(),
    };
    let data = data.into_builder().data_type(data_type.clone()).build()?;
    Ok(make_array(data))
}
