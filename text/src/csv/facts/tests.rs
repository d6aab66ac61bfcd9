use super::*;
use crate::DecimalSign;
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
        &["1,5", "1.5"],
        &["1,234"],
        &["1.234", "12.345"],
        &["01.02.2026"],
        &["31.12.99"],
        &["192.168.100.200"],
        &["1e400"],
    ] {
        assert_eq!(word(fields), "text", "{fields:?}");
    }
}

#[test]
fn the_dialect_sets_null_words_and_commas() {
    let dialect = Dialect {
        null_words: vec!["NA".into()],
        decimal: Some(DecimalSign::Comma),
        ..Dialect::default()
    };
    assert_eq!(word_with(&dialect, &["1", "NA", ""]), "int64");
    assert_eq!(word_with(&dialect, &["1", "\"NA\""]), "text");
    assert_eq!(word_with(&dialect, &["1,5", "2"]), "decimal(18,1)");
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

fn field(fields: &[&str]) -> (String, String) {
    let values = ValueSyntax::new(&Dialect::default());
    let mut facts = Facts::default();
    for field in fields {
        facts.observe_field(field.as_bytes(), false, &values);
    }
    let field = facts.field("a");
    let readings = field.metadata().values().cloned().collect();
    (type_word(field.data_type()), readings)
}

#[test]
fn the_only_reading_of_all_values_is_taken() {
    for (fields, word, reading) in [
        (&["2.535,04", "1"][..], "decimal(18,2)", "number(,)"),
        (&["1 234,5"], "decimal(18,1)", "number(,)"),
        (&["1'234.50"], "decimal(18,2)", "number(.)"),
        (&["1.234", "1,5"], "decimal(18,1)", "number(,)"),
        (&["1.234.567"], "int64", "number(,)"),
        (&["1 234", "5"], "int64", "number()"),
        (&["1.234", "0.5"], "float64", ""),
        (&["1.234", "1234.5"], "float64", ""),
        (&["0.123"], "float64", ""),
        (&["1,234", "0.5"], "decimal(18,1)", "number(.)"),
        (&["08.01.2026", "31.01.2026"], "date", "date(DD.MM.YYYY)"),
        (&["31/12/2025 14:05"], "timestamp(s)", "date(DD/MM/YYYY)"),
        (
            &["12/31/2025", "1/1/2026, 2:05 PM"],
            "timestamp(s)",
            "date(MM/DD/YYYY)",
        ),
        (&["1.234", "12.345"], "text", r#"["number(.)","number(,)"]"#),
        (&["1,234"], "text", r#"["number(.)","number(,)"]"#),
        (
            &["01.02.2026"],
            "text",
            r#"["date(DD.MM.YYYY)","date(MM.DD.YYYY)"]"#,
        ),
        (&["31.12.99"], "text", r#"["date(DD.MM.YY)"]"#),
        (&["31.12.2025", "2025-12-31"], "text", ""),
        (&["1,5", "x"], "text", ""),
    ] {
        let expected = (word.to_owned(), reading.to_owned());
        assert_eq!(field(fields), expected, "{fields:?}");
    }
}

#[test]
fn a_column_is_read_as_someone_said() {
    let read = |word: &str, fields: &[&str]| {
        let reading = Reading::parse(word).unwrap();
        let values = ValueSyntax::new(&Dialect::default()).read_as(reading);
        let mut facts = Facts::default();
        for field in fields {
            facts.observe_field(field.as_bytes(), false, &values);
        }
        assert_eq!(Reading::of_field(&facts.field("a")), Some(reading));
        type_word(&facts.data_type())
    };
    assert_eq!(read("number(,)", &["1.234"]), "int64");
    assert_eq!(read("number(.)", &["1.234"]), "float64");
    assert_eq!(read("number(,)", &["1,5", "wrong", "1.5"]), "decimal(18,1)");
    assert_eq!(
        read("date(MM/DD/YYYY)", &["01/02/2026", "31/12/2026"]),
        "date"
    );
    assert_eq!(read("date(DD.MM.YY)", &["01.02.26"]), "date");
    assert_eq!(read("date(DD.MM.YY)", &["wrong"]), "date");
    assert_eq!(
        read("date(dmy)", &["1.2.2026", "1/2/2026 1:05"]),
        "timestamp(s)"
    );
}
