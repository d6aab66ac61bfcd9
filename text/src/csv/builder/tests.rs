use arrow_schema::SchemaRef;
use std::sync::Arc;

use arrow_schema::{Field, Schema};

use crate::TextErrorKind;
use crate::csv::{Decoder, Dialect};
use crate::parse_type_word;

/// The fitting type for the value of a column forced to a type; `None` if the value fits.
fn fitting(word: &str, value: &str) -> Option<String> {
    let field = Field::new("a", parse_type_word(word).unwrap(), true);
    let schema: SchemaRef = Arc::new(Schema::new(vec![field]));
    let range = 0..u64::MAX;
    let mut decoder = Decoder::new(&Dialect::default(), &schema, &[0], range, 9).unwrap();
    let pushed = decoder.push(format!("a\n{value}\n").as_bytes());
    let is_read = decoder.next_batch().is_some();
    match pushed.and_then(|_| decoder.finish()).err()?.kind {
        TextErrorKind::Misfit {
            column,
            value: shown,
            expected,
            fitting,
        } => {
            assert!(!is_read);
            assert_eq!((column.as_str(), expected.as_str()), ("a", word));
            assert!(value.trim_matches('"').starts_with(&shown));
            Some(fitting)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_that_do_not_fit_name_a_wider_type() {
    for (word, value, expected) in [
        ("int64", "x", "text"),
        ("int64", "9223372036854775808", "decimal(19,0)"),
        ("int64", "1.5", "decimal(20,1)"),
        ("int64", "1e3", "decimal(19,0)"),
        ("int64", "-0", "text"),
        ("int64", "\"\"", "text"),
        ("uint64", "-1", "decimal(20,0)"),
        ("float64", "0.123456789012345678", "text"),
        ("decimal(20,2)", "1.555", "decimal(21,3)"),
        ("bool", "1", "text"),
        ("date", "2024-01-01T10:00", "timestamp(s)"),
        ("date", "2024-01-01T10:00Z", "text"),
        ("date", "2024-02-30", "text"),
        ("time(s)", "10:00:00.0", "time(ms)"),
        ("timestamp(s)", "2024-01-01T10:00:00.1234", "timestamp(us)"),
        ("timestamp(s)", "2024-01-01T10:00:00.123456789", "text"),
        ("timestamp(s)", "2024-01-01T10:00Z", "text"),
        ("timestamp(ns)", "2263-01-01", "text"),
        ("timestamp(s, UTC)", "2024-01-01T10:00+00:00", "text"),
        ("timestamp(s, UTC)", "2024-01-01", "text"),
        (
            "timestamp(s, +02:00)",
            "2024-01-01T10:00:00.5+02",
            "timestamp(ms, +02:00)",
        ),
    ] {
        assert_eq!(
            fitting(word, value).as_deref(),
            Some(expected),
            "{word} {value}"
        );
    }
}

#[test]
fn values_that_fit_are_read() {
    for (word, value) in [
        ("int64", "5"),
        ("int64", "\"5\""),
        ("float64", "5"),
        ("float64", "-inf"),
        ("decimal(20,2)", "1.500"),
        ("timestamp(s)", "2024-01-01"),
        ("timestamp(ns)", "2024-01-01 10:00"),
        ("timestamp(s, +02:00)", "2024-01-01T10:00+0200"),
        ("time(us)", "10:00"),
        ("text", "\"\""),
        ("text", "01"),
    ] {
        assert_eq!(fitting(word, value), None, "{word} {value}");
    }
}

#[test]
fn errors_show_the_start_of_long_values() {
    let value = "\u{e9}".repeat(300);
    assert_eq!(fitting("int64", &value).as_deref(), Some("text"));
}
