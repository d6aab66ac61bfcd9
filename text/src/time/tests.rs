use super::*;

fn type_of(values: &[&str]) -> Option<DataType> {
    let mut facts = TimeFacts::default();
    let mut backwards = TimeFacts::default();
    for value in values {
        if !facts.observe(value.as_bytes()) {
            return None;
        }
    }
    for value in values.iter().rev() {
        let mut one = TimeFacts::default();
        one.observe(value.as_bytes());
        backwards.merge(&one);
    }
    assert_eq!(facts, backwards);
    facts.data_type()
}

fn timestamp(unit: TimeUnit, zone: Option<&str>) -> Option<DataType> {
    Some(DataType::Timestamp(unit, zone.map(Into::into)))
}

/// Counts days one by one, independently of the formula.
#[test]
fn every_day_has_its_number_and_no_other_day_exists() {
    let mut days = -719_162;
    for year in 1..=9999 {
        for month in 1..=12 {
            for day in 0..=32 {
                let text = format!("{year:04}-{month:02}-{day:02}");
                let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
                let length = [
                    31,
                    28 + i32::from(leap),
                    31,
                    30,
                    31,
                    30,
                    31,
                    31,
                    30,
                    31,
                    30,
                    31,
                ];
                if (1..=length[month as usize - 1]).contains(&day) {
                    assert_eq!(parse_date(text.as_bytes()), Some(days), "{text}");
                    days += 1;
                } else {
                    assert_eq!(parse_date(text.as_bytes()), None, "{text}");
                }
            }
        }
    }
    assert_eq!(parse_date(b"1970-01-01"), Some(0));
}

#[test]
fn what_is_not_exactly_a_date_or_time_is_text() {
    for text in [
        "",
        "2024-02-30",
        "0000-01-01",
        "2024-13-01",
        "2024-00-01",
        "2024-1-1",
        "20240101",
        "2024/01/01",
        "2024-01-01 ",
        " 2024-01-01",
        "2024-01-01T",
        "2024-01-01T1:00",
        "2024-01-01  10:00",
        "2024-01-01t10:00",
        "2024-01-01T10:00 Z",
        "2024-01-01T10:00z",
        "2024-01-01T24:00",
        "2024-01-01T10:60",
        "2016-12-31T23:59:60Z",
        "2024-01-01T10:00:00.",
        "2024-01-01T10:00:00.1234567890",
        "2024-01-01T10:00:00,5",
        "2024-01-01T10:00.5",
        "2024-01-01T10:00+2",
        "2024-01-01T10:00+02:0",
        "2024-01-01T10:00+24:00",
        "2024-01-01T10:00+02:60",
        "2024-01-01T10:00-00:00",
        "2024-01-01T10",
        "10",
        "10:0",
        "10:00Z",
        "10:00:60",
        "10:00:00.",
        "24:00",
        "1:00:00",
    ] {
        assert!(!TimeFacts::default().observe(text.as_bytes()), "{text}");
    }
}

#[test]
fn the_most_digits_decide_the_unit() {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    assert_eq!(
        type_of(&["10:00", "10:00:59"]),
        Some(DataType::Time32(Second))
    );
    assert_eq!(
        type_of(&["10:00", "10:00:59.1"]),
        Some(DataType::Time32(Millisecond))
    );
    assert_eq!(
        type_of(&["10:00:00.1234"]),
        Some(DataType::Time64(Microsecond))
    );
    assert_eq!(
        type_of(&["10:00:00.1234567"]),
        Some(DataType::Time64(Nanosecond))
    );
    assert_eq!(type_of(&["2024-01-01T10:00"]), timestamp(Second, None));
    assert_eq!(
        type_of(&["2024-01-01 10:00:00.123"]),
        timestamp(Millisecond, None)
    );
    assert_eq!(
        type_of(&["2024-01-01 10:00:00.1234"]),
        timestamp(Microsecond, None)
    );
    assert_eq!(
        type_of(&["2024-01-01 10:00:00.123456789"]),
        timestamp(Nanosecond, None)
    );
}

#[test]
fn zones_stay_or_the_column_is_text() {
    use TimeUnit::Second;
    assert_eq!(
        type_of(&["2024-01-01T10:00Z"]),
        timestamp(Second, Some("UTC"))
    );
    assert_eq!(
        type_of(&[
            "2024-01-01T10:00+0200",
            "2024-01-01T10:00+02",
            "2024-01-01T10:00+02:00"
        ]),
        timestamp(Second, Some("+02:00"))
    );
    assert_eq!(
        type_of(&["2024-01-01T10:00-03:30"]),
        timestamp(Second, Some("-03:30"))
    );
    assert_eq!(
        type_of(&["2024-01-01T10:00Z", "2024-01-01T10:00+00:00"]),
        None
    );
    assert_eq!(type_of(&["2024-01-01T10:00Z", "2024-01-01T10:00"]), None);
    assert_eq!(type_of(&["2024-01-01T10:00Z", "2024-01-01"]), None);
    assert_eq!(
        type_of(&["2024-01-01T10:00", "2024-01-01"]),
        timestamp(Second, None)
    );
    assert_eq!(type_of(&["10:00", "2024-01-01"]), None);
    assert_eq!(type_of(&["10:00", "2024-01-01T10:00"]), None);
}

#[test]
fn nanoseconds_hold_1677_to_2262_only() {
    let ns = timestamp(TimeUnit::Nanosecond, None);
    let first = "1677-09-21T00:12:43.145224192";
    let last = "2262-04-11T23:47:16.854775807";
    assert_eq!(type_of(&[first, last]), ns);
    assert_eq!(type_of(&["1677-09-21T00:12:43.145224191"]), None);
    assert_eq!(type_of(&["2262-04-11T23:47:16.854775808"]), None);
    assert_eq!(type_of(&[first, "2262-04-11"]), ns);
    assert_eq!(type_of(&[first, "2262-04-12"]), None);
    assert_eq!(type_of(&[first, "1677-09-22"]), ns);
    assert_eq!(type_of(&[first, "1677-09-21"]), None);
    let parse = |text: &str| {
        Timestamp::parse(text.as_bytes())
            .unwrap()
            .in_unit(TimeUnit::Nanosecond)
    };
    assert_eq!(parse(first), Some(i64::MIN));
    assert_eq!(parse(last), Some(i64::MAX));
}

#[test]
fn timestamps_count_from_1970_in_utc() {
    let parse = |text: &str, unit| Timestamp::parse(text.as_bytes()).unwrap().in_unit(unit);
    assert_eq!(parse("1970-01-01T00:00:00.5", TimeUnit::Second), None);
    assert_eq!(
        parse("1970-01-01T00:00:00.5", TimeUnit::Millisecond),
        Some(500)
    );
    assert_eq!(
        parse("1969-12-31T23:59:59.999", TimeUnit::Millisecond),
        Some(-1)
    );
    assert_eq!(parse("1970-01-01T02:00+02:00", TimeUnit::Second), Some(0));
    assert_eq!(parse("1969-12-31T23:00-01", TimeUnit::Second), Some(0));
    assert_eq!(
        parse("2000-02-29T12:34:56.789Z", TimeUnit::Microsecond),
        Some(951_827_696_789_000)
    );
}
