use super::*;
use crate::{parse_type_word, type_word};

fn word_with(dialect: &Dialect, fields: &[&str]) -> String {
    let values = ValueSyntax::new(dialect);
    let observe = |facts: &mut Facts, field: &str| match field.strip_prefix('"') {
        Some(quoted) => facts.observe_field(quoted.trim_end_matches('"').as_bytes(), true, &values),
        None => facts.observe_field(field.as_bytes(), false, &values),
    };
    let mut facts = Facts::default();
    let mut backwards = Facts::default();
    for field in fields {
        observe(&mut facts, field);
    }
    for field in fields.iter().rev() {
        let mut one = Facts::default();
        observe(&mut one, field);
        backwards.merge(&one);
    }
    assert_eq!(facts, backwards);
    type_word(&facts.data_type())
}

fn word(fields: &[&str]) -> String {
    word_with(&Dialect::default(), fields)
}

#[test]
fn one_kind_of_values_makes_its_type() {
    for (fields, expected) in [
        (&["", "true", "False", "TRUE"][..], "bool"),
        (&["1", "", "-5", "\"7\""], "int64"),
        (&["9223372036854775808", "1"], "uint64"),
        (&["9223372036854775808", "-1"], "decimal(19,0)"),
        (&["1", "1.5", "1e3"], "float64"),
        (&["-0"], "float64"),
        (&["NaN", "1", "-inf", "Infinity"], "float64"),
        (&["1.234567890123456789", "100"], "decimal(21,18)"),
        (&["2024-01-01", "\"2024-01-02\""], "date"),
        (&["2024-01-01", "2024-01-02T10:00:00.5"], "timestamp(ms)"),
        (&["2024-01-02T10:00:00Z"], "timestamp(s, UTC)"),
        (&["10:00", "10:00:00.1234"], "time(us)"),
    ] {
        assert_eq!(word(fields), expected, "{fields:?}");
    }
}

#[test]
fn everything_else_is_text() {
    for fields in [
        &[][..],
        &["", ""],
        &["1", "\"\""],
        &["\"\"", "1"],
        &["1", "true"],
        &["2024-01-01", "20240101"],
        &["10:00", "2024-01-01"],
        &["01234"],
        &["+5"],
        &[" 5"],
        &["5 "],
        &["nan"],
        &["-NaN"],
        &["tRUE"],
        &["2024-02-30"],
        &["1", "NA"],
        &["1,5"],
        &["1e400"],
    ] {
        assert_eq!(word(fields), "text", "{fields:?}");
    }
}

#[test]
fn the_dialect_sets_null_words_and_commas() {
    let dialect = Dialect {
        null_words: vec!["NA".into()],
        decimal_comma: true,
        ..Dialect::default()
    };
    assert_eq!(word_with(&dialect, &["1", "NA", ""]), "int64");
    assert_eq!(word_with(&dialect, &["1", "\"NA\""]), "text");
    assert_eq!(word_with(&dialect, &["1,5", "2"]), "float64");
    assert_eq!(word_with(&dialect, &["1,5", "1.5"]), "text");
}

#[test]
fn the_extremes_of_a_type_make_it() {
    for word in [
        "bool",
        "int64",
        "uint64",
        "decimal(38,0)",
        "decimal(38,38)",
        "decimal(20,2)",
        "float64",
        "date",
        "time(s)",
        "time(ns)",
        "timestamp(s)",
        "timestamp(us, UTC)",
        "timestamp(ns, -03:30)",
        "text",
    ] {
        let data_type = parse_type_word(word).unwrap();
        let made = Facts::of_type(&data_type).data_type();
        assert_eq!(type_word(&made), word);
    }
}
