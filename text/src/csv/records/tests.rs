use super::*;
use crate::csv::dialect::LineEnd;

type Read = (Vec<Vec<String>>, Option<TextError>);

fn read_pieces(dialect: &Dialect, text: &[u8], size: usize) -> Read {
    let mut splitter = Splitter::new(dialect, None, 0..u64::MAX);
    let mut rows = Vec::new();
    let mut pieces = text.chunks(size);
    while !splitter.is_final {
        match pieces.next() {
            Some(piece) => splitter.feed(piece),
            None => splitter.finish(),
        }
        let syntax = splitter.syntax;
        loop {
            match splitter.next_block(3) {
                Err(error) => return (rows, Some(error)),
                Ok(None) => break,
                Ok(Some(block)) => {
                    rows.extend((0..block.num_rows).map(|row| block.row_values(row, &syntax)));
                }
            }
        }
    }
    (rows, None)
}

fn read_with(dialect: &Dialect, text: &[u8]) -> Read {
    let whole = read_pieces(dialect, text, usize::MAX);
    for size in [1, 2, 3, 7] {
        assert_eq!(read_pieces(dialect, text, size), whole, "{size}");
    }
    whole
}

fn headless() -> Dialect {
    Dialect {
        has_header: false,
        ..Dialect::default()
    }
}

/// Rows as fields joined by `~`.
fn rows_with(dialect: &Dialect, text: &str) -> Vec<String> {
    let (rows, error) = read_with(dialect, text.as_bytes());
    assert_eq!(error, None, "{text:?}");
    rows.iter().map(|row| row.join("~")).collect()
}

fn rows(text: &str) -> Vec<String> {
    rows_with(&headless(), text)
}

fn error(text: &[u8]) -> (usize, TextErrorKind, u64) {
    let (rows, error) = read_with(&headless(), text);
    let error = error.unwrap();
    (rows.len(), error.kind, error.offset_bytes)
}

#[test]
fn fields_are_split_at_delimiters() {
    assert_eq!(rows("a,b\n1,2\n"), ["a~b", "1~2"]);
    assert_eq!(rows("a,b\r\n1,2"), ["a~b", "1~2"]);
    assert_eq!(rows(",\n,"), ["~", "~"]);
    assert_eq!(rows("a\rb,c\n"), ["a\rb~c"]);
    assert_eq!(rows(" a , b \n"), [" a ~ b "]);
    assert_eq!(rows("\u{feff}a,b\n"), ["a~b"]);
    assert_eq!(rows("a,\u{feff}b\n"), ["a~\u{feff}b"]);
    let long = format!("{},{}\n", "x".repeat(100), "y".repeat(64)).repeat(50);
    assert_eq!(rows(&long).len(), 50);
}

#[test]
fn quotes_hold_delimiters_and_line_ends() {
    assert_eq!(rows("\"a,b\",\"c\nd\"\r\n\"\",x"), ["a,b~c\nd", "~x"]);
    assert_eq!(rows("\"a\"\"b\",\"\"\"\"\n"), ["a\"b~\""]);
    assert_eq!(rows("5\" pipe,x\"y\"\n"), ["5\" pipe~x\"y\""]);
    assert_eq!(rows(" \"a\",b\n"), [" \"a\"~b"]);
    assert_eq!(rows("\"a\"\r\n\"b\""), ["a", "b"]);
    let none = Dialect {
        quote: None,
        ..headless()
    };
    assert_eq!(rows_with(&none, "\"a,b\"\n"), ["\"a~b\""]);
}

#[test]
fn an_escape_stands_before_quotes_and_itself() {
    let dialect = Dialect {
        escape: Some(b'\\'),
        ..headless()
    };
    let text = r#""a\"b","c\\","\n",d\"e"#;
    assert_eq!(rows_with(&dialect, text), [r#"a"b~c\~\n~d\"e"#]);
    let same = Dialect {
        escape: Some(b'"'),
        ..headless()
    };
    assert_eq!(rows_with(&same, "\"a\"\"b\"\n"), ["a\"b"]);
}

#[test]
fn blank_lines_are_rows_of_one_column_only() {
    assert_eq!(rows("\na,b\n\n\r\n1,2\n\n"), ["a~b", "1~2"]);
    assert_eq!(rows("a\n\nb\n"), ["a", "", "b"]);
    assert_eq!(rows("\n\r\na\n\n"), ["", "", "a", ""]);
    assert_eq!(rows_with(&Dialect::default(), "\n\na\n\nb"), ["", "b"]);
}

#[test]
fn comments_are_skipped_where_they_are_set() {
    let dialect = Dialect {
        comment: Some(b'#'),
        ..headless()
    };
    let text = "#x\na,#b\n#,,\"\n\"#c\",d\n#";
    assert_eq!(rows_with(&dialect, text), ["a~#b", "#c~d"]);
    assert_eq!(rows("#x,1\na,b\n"), ["#x~1", "a~b"]);
}

#[test]
fn lines_end_with_cr_where_it_is_set() {
    let dialect = Dialect {
        line_end: LineEnd::Cr,
        ..headless()
    };
    let text = "a,b\r\r1,\"2\r3\"\rx\n,y";
    assert_eq!(rows_with(&dialect, text), ["a~b", "1~2\r3", "x\n~y"]);
}

#[test]
fn wrong_records_are_named_by_their_offset() {
    use TextErrorKind::{AfterQuote, FieldCount, UnclosedQuote};
    let found = |found| FieldCount { found, expected: 2 };
    assert_eq!(error(b"a,b\n1,2\n3\n4,5"), (2, found(1), 8));
    assert_eq!(error(b"a,b\n1,2,3\n"), (1, found(3), 4));
    assert_eq!(error(b"a,b\n1,\"2\n3,4\n"), (1, UnclosedQuote, 4));
    assert_eq!(error(b"a,b\n1,\"2\"x\n"), (1, AfterQuote, 4));
    assert_eq!(error(b"a,b\n\"1\" ,2\n"), (1, AfterQuote, 4));
    assert_eq!(
        error(b"a,b\n1,2\n\xff,\"4\"\n5,6\n"),
        (2, TextErrorKind::Encoding(crate::Encoding::UTF_8), 8)
    );
    assert_eq!(
        error(b"a,b\n1,2\n\"3\",\xc3\n5,6\n"),
        (2, TextErrorKind::Encoding(crate::Encoding::UTF_8), 8)
    );
    assert_eq!(
        error(b"\xff,b\n"),
        (0, TextErrorKind::Encoding(crate::Encoding::UTF_8), 0)
    );
    assert_eq!(
        error(b"a,b\n\xff,\n3\n"),
        (1, TextErrorKind::Encoding(crate::Encoding::UTF_8), 4)
    );
    assert_eq!(error(b"a,b\n3\n\xff,\n"), (1, found(1), 4));
    assert_eq!(error(b""), (0, TextErrorKind::Empty, 0));
    assert_eq!(error(b"\n\n"), (0, TextErrorKind::Empty, 0));
}

#[test]
fn delimiters_can_be_bytes_beyond_ascii() {
    let dialect = Dialect {
        delimiter: 0xff,
        ..headless()
    };
    let (rows, error) = read_with(&dialect, b"a\xffb\n\xc3\xa9\xff\n");
    assert_eq!((rows[1][0].as_str(), error), ("\u{e9}", None));
    let (rows, error) = read_with(&dialect, b"a\xffb\n\xc3\xff\n");
    assert_eq!(rows.len(), 1);
    assert_eq!(
        error,
        Some(TextError::new(TextErrorKind::Encoding(Encoding::UTF_8), 4))
    );
}

#[test]
fn too_long_records_are_refused() {
    let mut text = b"a,b\n".to_vec();
    text.extend(std::iter::repeat_n(b'x', MAX_RECORD_BYTES));
    let expected = Some(TextError::new(TextErrorKind::TooLong, 4));
    for (size, end) in [(1 << 16, &b""[..]), (1 << 16, b",\n"), (usize::MAX, b",\n")] {
        let whole = [&text, end].concat();
        let (rows, error) = read_pieces(&headless(), &whole, size);
        let expected = if end.is_empty() {
            Some(TextError::new(
                TextErrorKind::FieldCount {
                    found: 1,
                    expected: 2,
                },
                4,
            ))
        } else {
            expected.clone()
        };
        assert_eq!((rows.len(), error), (1, expected));
    }
    text.truncate(MAX_RECORD_BYTES);
    text.extend(b",y\n");
    let (rows, error) = read_pieces(&headless(), &text, 1 << 16);
    assert_eq!((rows.len(), error), (2, None));
}
