use super::*;
use crate::csv::LineEnd;

fn has_with(dialect: &Dialect, text: &str) -> bool {
    let found = [usize::MAX, 1, 2, 3].map(|size| {
        let mut scan = QuoteScan::new(dialect);
        let pieces = text.as_bytes().chunks(size);
        pieces.for_each(|piece| scan.push(piece));
        scan.has_quoted_line_end()
    });
    assert!(found.iter().all(|one| *one == found[0]), "{text:?}");
    found[0]
}

#[test]
fn only_line_ends_in_quotes_count() {
    let has = |text| has_with(&Dialect::default(), text);
    assert!(has("\"a\nb\"\n"));
    assert!(has("\u{feff}\"a\nb\"\n"));
    assert!(has("a,\"b\"\"\n\"\n"));
    assert!(has("a\n\"\n"));
    assert!(!has("\"a\",\"b\"\n\"c\"\n"));
    assert!(!has("a\"\nb\"\n"));
    assert!(!has("\"a\"\"\",b\n\"\"\n"));
    assert!(!has("\"a\rb\"\n"));
    assert!(!has("#\"\n\"a\"\n"));
    assert!(!has(""));
}

#[test]
fn dialects_are_followed() {
    let escape = Dialect {
        escape: Some(b'\\'),
        ..Dialect::default()
    };
    assert!(!has_with(&escape, "\"a\\\\\"\n\"b\"\n"));
    assert!(has_with(&escape, "\"a\\\"\n\"\n"));
    let comment = Dialect {
        comment: Some(b'#'),
        ..Dialect::default()
    };
    assert!(!has_with(&comment, "#,\"\n#\"\na,b\n"));
    assert!(has_with(&comment, "a,\"#\n\"\n"));
    let cr = Dialect {
        line_end: LineEnd::Cr,
        ..Dialect::default()
    };
    assert!(!has_with(&cr, "\"a\nb\"\r"));
    assert!(has_with(&cr, "\"a\rb\"\r"));
    let none = Dialect {
        quote: None,
        ..Dialect::default()
    };
    assert!(!has_with(&none, "\"a\nb\"\n"));
}
