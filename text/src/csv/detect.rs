//! Detects the dialect of a CSV text from its first bytes.

use std::collections::HashSet;

use crate::TextOptions;
use crate::csv::dialect::{Dialect, LineEnd, Syntax};
use crate::csv::facts::Facts;
use crate::csv::scan::{Bounds, Span, Stop, scan};
use crate::csv::values::ValueSyntax;
use crate::notation::DecimalSign;

/// The most bytes that [`Dialect::detect`] uses. Shorter text is taken for a whole file, so that its
/// last record is not cut.
pub const DETECT_BYTES: usize = 64 << 10;

/// Records per thousand of a table that have as many fields as the first. Prose with commas has less.
const MIN_EQUAL_RECORDS: usize = 600;

const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

impl Dialect {
    /// The dialect of the text that begins with `start`, which should have [`DETECT_BYTES`] or be whole.
    ///
    /// - The line end is LF if there is one outside of quotes, else CR if there is one, else LF.
    /// - The delimiter is the one of `,`, `;`, tab and `|` with which the most records have as many fields
    ///   as the first, at least two; among equals the one with the most fields, then the first of these
    ///   four. Without any it is `,`.
    /// - There is no header if some column of the records behind the first is of a type other than text,
    ///   and the first record's values fit the types of all such columns. An exception are names such as
    ///   `city,2019,2020`: they are a header if they are all distinct and not empty, one of them is text,
    ///   those of the typed columns are years from 1900 to 2100, and not all values below are. So are
    ///   names of all columns but the first, if the first one counts the rows from 0, as in `,city`.
    ///
    /// Null words, quotes other than `"`, comments and escapes are not detected.
    #[must_use]
    pub fn detect(start: &[u8]) -> Self {
        Self::detect_with(start, &TextOptions::default())
    }

    /// As [`Self::detect`], as far as the options leave it open.
    #[must_use]
    pub fn detect_with(start: &[u8], options: &TextOptions) -> Self {
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let text = start.get(..DETECT_BYTES).unwrap_or(start);
        let mut dialect = Self {
            delimiter: options.delimiter.unwrap_or(b','),
            quote: options.quote.unwrap_or(Some(b'"')),
            escape: options.escape,
            comment: options.comment,
            line_end: detect_line_end(text),
            has_header: true,
            decimal: options.decimal,
            thousands: options.thousands,
            dates: options.dates,
            readings: options.readings(),
            null_words: options.null_words.clone(),
        };
        let is_whole = start.len() < DETECT_BYTES;
        let mut best = (0, 1);
        let has_comma = options.decimal == Some(DecimalSign::Comma);
        let is_open =
            |delimiter: &u8| options.delimiter.is_none() && !(has_comma && *delimiter == b',');
        for delimiter in DELIMITERS.into_iter().filter(is_open) {
            let candidate = Self {
                delimiter,
                ..dialect.clone()
            };
            let rank = Records::read(&candidate, text, is_whole).rank();
            if rank > best {
                best = rank;
                dialect.delimiter = delimiter;
            }
        }
        dialect.has_header = options
            .has_header
            .unwrap_or_else(|| Records::read(&dialect, text, is_whole).has_header());
        dialect
    }
}

/// The delimiter of a text that begins with `start`, if it is a table of several columns: most of at least two records
/// have as many fields as the first, which is not one value and a delimiter, as in `Dear Anna,`.
#[must_use]
pub fn delimiter_of_table(start: &[u8]) -> Option<u8> {
    let dialect = Dialect::detect(start);
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let records = Records::read(&dialect, start, start.len() < DETECT_BYTES);
    let is_salutation = matches!(records.records.first().map(Vec::as_slice), Some([_, last])
        if records.value(*last).is_empty());
    let is_table =
        records.records.len() > 1 && records.rank().0 >= MIN_EQUAL_RECORDS && !is_salutation;
    is_table.then_some(dialect.delimiter)
}

fn detect_line_end(text: &[u8]) -> LineEnd {
    let mut is_quoted = false;
    let mut has_cr = false;
    for at in memchr::memchr3_iter(b'"', b'\n', b'\r', text) {
        match text.get(at) {
            Some(b'"') => is_quoted = !is_quoted,
            Some(b'\n') if !is_quoted => return LineEnd::Lf,
            Some(b'\r') => has_cr |= !is_quoted,
            _ => {}
        }
    }
    if has_cr { LineEnd::Cr } else { LineEnd::Lf }
}

/// The records at the start of a text.
struct Records<'a> {
    text: &'a [u8],
    syntax: Syntax,
    values: ValueSyntax,
    records: Vec<Vec<Span>>,
    /// Whether a wrong record follows.
    is_broken: bool,
}

impl<'a> Records<'a> {
    fn read(dialect: &Dialect, text: &'a [u8], is_whole: bool) -> Self {
        let mut records = Self {
            text,
            syntax: Syntax::new(dialect),
            values: ValueSyntax::new(dialect),
            records: Vec::new(),
            is_broken: false,
        };
        let bounds = Bounds {
            num_fields: None,
            skips_blank_lines: true,
            max_rows: 1,
            max_begin: usize::MAX,
            is_final: is_whole,
        };
        let mut begin = 0;
        loop {
            let mut spans = Vec::new();
            let rest = text.get(begin..).unwrap_or_default();
            let scan = scan(&records.syntax, rest, &bounds, &mut spans);
            if scan.num_rows == 0 {
                records.is_broken = matches!(scan.stop, Stop::Bad(_));
                return records;
            }
            let moved = spans.iter().map(|span| span.moved(begin));
            records.records.push(moved.collect());
            begin += scan.end;
        }
    }

    /// Records per thousand with as many fields as the first, and these fields; nothing if the first has
    /// one field.
    fn rank(&self) -> (usize, usize) {
        let num_fields = self.records.first().map_or(0, Vec::len);
        if num_fields < 2 {
            return (0, 1);
        }
        let is_equal = |record: &&Vec<Span>| record.len() == num_fields;
        let num_equal = self.records.iter().filter(is_equal).count();
        let num_records = self.records.len() + usize::from(self.is_broken);
        (num_equal * 1000 / num_records, num_fields)
    }

    fn has_header(&self) -> bool {
        let Some((first, rows)) = self.records.split_first() else {
            return true;
        };
        let mut columns = vec![Facts::default(); first.len()];
        for row in rows.iter().filter(|row| row.len() == first.len()) {
            for (facts, span) in columns.iter_mut().zip(row) {
                self.observe(facts, *span);
            }
        }
        let mut typed = columns
            .iter()
            .zip(first)
            .filter(|(facts, _)| facts.is_typed());
        let is_any_typed = columns.iter().any(Facts::is_typed);
        let fits = typed.all(|(facts, span)| {
            let mut facts = facts.clone();
            self.observe(&mut facts, *span);
            facts.is_typed()
        });
        !is_any_typed
            || !fits
            || self.has_year_names(first, rows, &columns)
            || self.has_index_names(first, rows)
    }

    fn has_year_names(&self, first: &[Span], rows: &[Vec<Span>], columns: &[Facts]) -> bool {
        let names: Vec<_> = first.iter().map(|span| self.value(*span)).collect();
        let distinct: HashSet<_> = names.iter().collect();
        if distinct.len() < names.len() || names.iter().any(Vec::is_empty) {
            return false;
        }
        let typed = |index: &usize| columns.get(*index).is_some_and(Facts::is_typed);
        let (typed, texts): (Vec<_>, Vec<_>) = (0..names.len()).partition(typed);
        let name = |index: &usize| names.get(*index).map_or(&[][..], Vec::as_slice);
        let is_year_below = |row: &Vec<Span>, index: &usize| {
            row.get(*index)
                .is_none_or(|span| is_year(&self.value(*span)))
        };
        texts.iter().any(|index| is_text(name(index)))
            && typed.iter().all(|index| is_year(name(index)))
            && !rows
                .iter()
                .all(|row| typed.iter().all(|index| is_year_below(row, index)))
    }

    /// Whether the first record names all columns but the first, which counts the rows from 0.
    fn has_index_names(&self, first: &[Span], rows: &[Vec<Span>]) -> bool {
        let names: Vec<_> = first.iter().map(|span| self.value(*span)).collect();
        let distinct: HashSet<_> = names.iter().collect();
        let num_empty = names.iter().filter(|name| name.is_empty()).count();
        let counts = |(index, row): (usize, &Vec<Span>)| {
            let number = row.first().map(|span| self.value(*span));
            number == Some(index.to_string().into_bytes())
        };
        names.len() > 1
            && distinct.len() == names.len()
            && num_empty == 1
            && names.first().is_some_and(Vec::is_empty)
            && rows.iter().enumerate().all(counts)
    }

    fn observe(&self, facts: &mut Facts, span: Span) {
        facts.observe_field(&self.value(span), span.is_quoted(), &self.values);
    }

    fn value(&self, span: Span) -> Vec<u8> {
        let mut value = Vec::new();
        if span.is_escaped() {
            self.syntax.unescape(span.bytes(self.text), &mut value);
        } else {
            value.extend_from_slice(span.bytes(self.text));
        }
        value
    }
}

fn is_text(value: &[u8]) -> bool {
    let mut facts = Facts::default();
    facts.observe_field(value, true, &ValueSyntax::new(&Dialect::default()));
    facts.is_text()
}

fn is_year(value: &[u8]) -> bool {
    let year = std::str::from_utf8(value)
        .ok()
        .and_then(|year| year.parse::<u32>().ok());
    value.len() == 4 && year.is_some_and(|year| (1900..=2100).contains(&year))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(text: &str) -> (char, LineEnd, bool) {
        let dialect = Dialect::detect(text.as_bytes());
        assert_eq!(dialect.quote, Some(b'"'));
        (
            dialect.delimiter.into(),
            dialect.line_end,
            dialect.has_header,
        )
    }

    #[test]
    fn the_delimiter_gives_equal_records() {
        assert_eq!(detected("a,b\n1,2\n").0, ',');
        assert_eq!(detected("a;b\n1,5;2,5\n").0, ';');
        assert_eq!(detected("a\tb\n1,5\t2,5\n").0, '\t');
        assert_eq!(detected("a|b\n1,5|2,5\n").0, '|');
        assert_eq!(detected("a,tags\nx,p;q\ny,r;s\n").0, ',');
        assert_eq!(detected("\"a;b\",c\n\"1;2\",3\n").0, ',');
        assert_eq!(detected("\"a\";\"b,c\"\n\"1\";\"2,3\"\n").0, ';');
        assert_eq!(detected("last, first|x|y\na, b|1|2\n").0, '|');
        assert_eq!(detected("a\nb\n").0, ',');
        assert_eq!(detected("").0, ',');
    }

    #[test]
    fn prose_is_no_table() {
        for (text, delimiter) in [
            ("a,b\n1,2\n", Some(b',')),
            ("\"a;b\";c\n\"1;\n2\";3\n", Some(b';')),
            ("a\nb\n", None),
            ("a,b\n", None),
            ("a,b\n1,2\n3,4,5\n", Some(b',')),
            ("Dear Anna,\n\nthe letter came, at last.\n", None),
            (
                "Dear Ms. Smith,\n\nthank you for your letter, which I have read.\nYours, John\n",
                None,
            ),
        ] {
            assert_eq!(delimiter_of_table(text.as_bytes()), delimiter, "{text:?}");
        }
    }

    #[test]
    fn the_line_end_is_outside_of_quotes() {
        assert_eq!(detected("a,b\r\n1,2\r\n").1, LineEnd::Lf);
        assert_eq!(detected("a,b\r1,2\r").1, LineEnd::Cr);
        assert_eq!(detected("a,b\r\"1\n\",2\r").1, LineEnd::Cr);
        assert_eq!(detected("a,\"\r\"\n1,2\n").1, LineEnd::Lf);
        assert_eq!(detected("a,b").1, LineEnd::Lf);
    }

    #[test]
    fn a_header_does_not_fit_the_columns() {
        for (text, has_header) in [
            ("a,b\n1,2\n", true),
            ("1,2\n3,4", false),
            ("\u{feff}1,2\n3,4", false),
            ("1\n2\n", false),
            ("a,b\nc,d\n", true),
            ("id,name\n1,x\n,y\n", true),
            ("age\n1\n\n3\n", true),
            ("alice,30\nbob,25\n", false),
            ("name,2019,2020\na,1,2\n", true),
            ("name,2019,2019\na,1,2\n", false),
            ("alice,1999\nbob,2001\n", false),
            ("2019,2020\n1,2\n", false),
            ("day,n\n2024-01-01,5\n", true),
            ("2024-01-01,5\n2024-01-02,6\n", false),
            (",\n1,2\n", false),
            (",city\n0,x\n1,y\n", true),
            (",city\n1,x\n2,y\n", false),
            (",\n0,2\n", false),
            (",x,x\n0,y,y\n", false),
            ("a,b\n", true),
            ("1,2\n", true),
            ("", true),
        ] {
            assert_eq!(detected(text).2, has_header, "{text:?}");
        }
    }

    #[test]
    fn the_last_record_of_a_long_text_may_be_cut() {
        let mut text = "day,n\n".to_string();
        while text.len() < DETECT_BYTES {
            text.push_str("2024-01-01,5\n");
        }
        assert_eq!(detected(&text), (',', LineEnd::Lf, true));
        let open = format!("a;\"b\"\n{}\"", "1;\"2\"\n".repeat(DETECT_BYTES));
        assert_eq!(detected(&open), (';', LineEnd::Lf, true));
    }
}
