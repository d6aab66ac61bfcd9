//! The offsets of named time zones.

use colonnade_core::text::{FixedOffsets, TimeZones};
use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::datatypes::TimestampSecondType;
use datafusion::arrow::temporal_conversions::as_datetime_with_timezone;

/// Fixed offsets, and the zones of the IANA database that this program was built with.
#[derive(Debug, Clone, Copy)]
pub struct IanaTimeZones;

impl TimeZones for IanaTimeZones {
    fn offset_seconds(&self, zone: &str, utc_seconds: i64) -> Option<i32> {
        if let Some(offset_seconds) = FixedOffsets.offset_seconds(zone, utc_seconds) {
            return Some(offset_seconds);
        }
        let zone: Tz = zone.parse().ok()?;
        let time = as_datetime_with_timezone::<TimestampSecondType>(utc_seconds, zone)?;
        let offset = time.naive_local() - time.naive_utc();
        offset.num_seconds().try_into().ok()
    }
}
