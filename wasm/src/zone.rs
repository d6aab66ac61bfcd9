use std::cell::RefCell;
use std::collections::HashMap;

use colonnade_core::text::{FixedOffsets, TimeZones};
use js_sys::{Array, Date, Function, Intl, Object, Reflect};

/// An offset serves 15 minutes if it is the same at both ends of them. Today's offsets only change at
/// quarter hours, but earlier ones changed at any second.
const QUARTER_HOUR_SECONDS: i64 = 900;

/// The number of cached offsets at which the cache is cleared.
const MAX_CACHED_OFFSETS: usize = 65_536;

/// ECMA-262: a Date reaches 100,000,000 days before and after the epoch.
const MAX_DATE_SECONDS: i64 = 8_640_000_000_000;

/// Time zones from the browser's own database.
#[derive(Default)]
pub(crate) struct IntlTimeZones {
    formats: RefCell<HashMap<String, Option<Zone>>>,
}

struct Zone {
    /// The bound `format` of an `Intl.DateTimeFormat` with `timeZoneName: "longOffset"`.
    format: Function,
    /// The offsets at the starts of quarters of an hour.
    offset_seconds: HashMap<i64, Option<i32>>,
}

impl TimeZones for IntlTimeZones {
    fn offset_seconds(&self, zone: &str, utc_seconds: i64) -> Option<i32> {
        if let Some(offset_seconds) = FixedOffsets.offset_seconds(zone, utc_seconds) {
            return Some(offset_seconds);
        }
        let mut formats = self.formats.borrow_mut();
        let zone = formats
            .entry(zone.to_owned())
            .or_insert_with(|| Zone::new(zone))
            .as_mut()?;
        zone.offset_seconds(utc_seconds)
    }
}

impl Zone {
    fn new(name: &str) -> Option<Self> {
        let options = Object::new();
        for (key, value) in [("timeZone", name), ("timeZoneName", "longOffset")] {
            Reflect::set(&options, &key.into(), &value.into()).ok()?;
        }
        let constructor: Function = Reflect::get(&js_sys::global(), &"Intl".into())
            .and_then(|intl| Reflect::get(&intl, &"DateTimeFormat".into()))
            .ok()?
            .into();
        // An unknown zone throws a RangeError, which `Intl::DateTimeFormat::new` would not let the
        // caller catch.
        let format: Intl::DateTimeFormat =
            Reflect::construct(&constructor, &Array::of2(&"en-US".into(), &options))
                .ok()?
                .into();
        Some(Self {
            format: format.format(),
            offset_seconds: HashMap::new(),
        })
    }

    fn offset_seconds(&mut self, utc_seconds: i64) -> Option<i32> {
        if utc_seconds.abs() > MAX_DATE_SECONDS {
            return None;
        }
        let quarter = utc_seconds.div_euclid(QUARTER_HOUR_SECONDS);
        let [start, end] = [quarter, quarter + 1].map(|quarter| self.at_start_of(quarter));
        match start == end {
            true => start,
            false => look_up(&self.format, utc_seconds),
        }
    }

    /// The offset at the start of a quarter of an hour.
    fn at_start_of(&mut self, quarter: i64) -> Option<i32> {
        if self.offset_seconds.len() > MAX_CACHED_OFFSETS {
            self.offset_seconds.clear();
        }
        let format = &self.format;
        *self
            .offset_seconds
            .entry(quarter)
            .or_insert_with(|| look_up(format, quarter * QUARTER_HOUR_SECONDS))
    }
}

/// Formats the time as `1/1/1970, GMT+01:00` and reads the offset.
fn look_up(format: &Function, utc_seconds: i64) -> Option<i32> {
    let date = Date::new(&(utc_seconds as f64 * 1000.0).into());
    let text = format.call1(&date, &date).ok()?.as_string()?;
    let (_, offset) = text.rsplit_once("GMT")?;
    parse_offset(offset)
}

/// Seconds of `+01:00` or `-00:09:21`; an empty text is UTC.
fn parse_offset(text: &str) -> Option<i32> {
    let (sign, parts) = match text.split_at_checked(1) {
        None => return Some(0),
        Some(("+", parts)) => (1, parts),
        Some(("-", parts)) => (-1, parts),
        // U+2212, which some locales use as minus sign.
        Some(_) => (-1, text.strip_prefix('\u{2212}')?),
    };
    let mut seconds = 0;
    let mut weight = 3600;
    for part in parts.split(':') {
        seconds += part.parse::<i32>().ok()? * weight;
        weight /= 60;
    }
    Some(sign * seconds)
}
