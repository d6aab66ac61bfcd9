//! Draws values, and the CSV texts that hold them.

use std::fmt::Write;

use colonnade_text::csv::{Dialect, LineEnd};

/// Splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn one_in(&mut self, limit: usize) -> bool {
        self.below(limit) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }

    fn digits(&mut self, length: usize) -> String {
        (0..length)
            .map(|_| (b'0' + self.below(10) as u8) as char)
            .collect()
    }

    fn integer(&mut self, max_digits: usize) -> String {
        let length = 1 + self.below(max_digits);
        let digits = self.digits(length);
        match digits.trim_start_matches('0') {
            "" => "0".into(),
            digits => digits.into(),
        }
    }

    fn date(&mut self) -> String {
        let year = *self.pick(&[1, 1600, 1969, 1970, 2024, 2261, 9999]);
        format!(
            "{year:04}-{:02}-{:02}",
            1 + self.below(12),
            1 + self.below(28)
        )
    }

    fn time(&mut self) -> String {
        let mut time = format!("{:02}:{:02}", self.below(24), self.below(60));
        if !self.one_in(4) {
            write!(time, ":{:02}", self.below(60)).unwrap();
            if self.one_in(2) {
                let length = 1 + self.below(9);
                write!(time, ".{}", self.digits(length)).unwrap();
            }
        }
        time
    }
}

/// A value that was drawn; `None` is null.
pub(crate) type Value = Option<String>;

const NUM_KINDS: usize = 14;

fn draw_value(random: &mut Random, kind: usize) -> Value {
    if random.one_in(8) {
        return None;
    }
    let sign = if random.one_in(3) { "-" } else { "" };
    Some(match kind {
        0 => format!("{sign}{}", random.integer(6)),
        1 => format!("{sign}{}", random.integer(21)),
        2 => format!("{sign}{}.{}", random.integer(4), random.integer(3)),
        3 => format!("{sign}{}.{}", random.integer(12), random.integer(12)),
        4 => format!(
            "{}e{}{}",
            random.integer(3),
            random.pick(&["", "+", "-"]),
            random.below(330)
        ),
        5 => random
            .pick(&["true", "True", "TRUE", "false", "False", "FALSE"])
            .to_string(),
        6 => random.date(),
        7 => random.time(),
        8 => format!("{}T{}", random.date(), random.time()),
        9 => format!("{} {}Z", random.date(), random.time()),
        10 => {
            let zone = random.pick(&["+02:00", "+0200", "+02"]).to_string();
            format!("{}T{}{zone}", random.date(), random.time())
        }
        11 => random
            .pick(&[
                "NaN", "inf", "-inf", "Infinity", "1.5", "-0", "01", "+1", ".5",
            ])
            .to_string(),
        12 => random
            .pick(&[
                "2024-02-30",
                "23:59:60",
                "12:00",
                "tRue",
                "1 ",
                " 1",
                "1,5",
                "null",
            ])
            .to_string(),
        _ => {
            let length = random.below(9);
            let letters = [
                "a", "b", "é", "🦀", "\"", ",", ";", "\t", "|", "\n", "\r", "\r\n", " ", "1", "#",
            ];
            (0..length).map(|_| *random.pick(&letters)).collect()
        }
    })
}

pub(crate) struct Drawn {
    pub(crate) dialect: Dialect,
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
    pub(crate) text: String,
    /// The end of the header's line.
    pub(crate) header_bytes: usize,
}

pub(crate) fn draw(random: &mut Random) -> Drawn {
    let line_end = *random.pick(&["\n", "\r\n", "\r"]);
    let dialect = Dialect {
        delimiter: *random.pick(b",;\t|"),
        line_end: if line_end == "\r" {
            LineEnd::Cr
        } else {
            LineEnd::Lf
        },
        has_header: !random.one_in(4),
        ..Dialect::default()
    };
    let num_columns = 1 + random.below(6);
    let num_rows = random.below(60);
    let mut kinds: Vec<_> = (0..num_columns).map(|_| random.below(NUM_KINDS)).collect();
    // Most columns keep their kind of values; some get others from a drawn row on.
    let change_rate = *random.pick(&[1000, 1000, 30, 5]);
    let mut rows = Vec::new();
    for _ in 0..num_rows {
        if random.one_in(change_rate) {
            let column = random.below(num_columns);
            kinds[column] = random.below(NUM_KINDS);
        }
        rows.push(
            kinds
                .iter()
                .map(|kind| draw_value(random, *kind))
                .collect::<Vec<_>>(),
        );
    }
    let names: Vec<_> = (0..num_columns)
        .map(|column| match (dialect.has_header, column) {
            (true, 0) => "the \"first\",;\t|name".to_string(),
            (true, _) => format!("n{column}"),
            (false, _) => format!("column_{}", column + 1),
        })
        .collect();
    let mut text = String::new();
    if random.one_in(4) {
        text.push('\u{feff}');
    }
    let writer = Writer {
        dialect: &dialect,
        line_end,
        quote_rate: *random.pick(&[2, 20, usize::MAX]),
        blank_rate: if num_columns > 1 {
            *random.pick(&[3, usize::MAX])
        } else {
            usize::MAX
        },
    };
    if dialect.has_header {
        let names: Vec<_> = names.iter().cloned().map(Some).collect();
        writer.write(random, &mut text, &names);
    }
    let header_bytes = text.len();
    for row in &rows {
        writer.write(random, &mut text, row);
    }
    // The last line end may be missing, unless a blank line is then no row.
    let is_last_null = rows
        .last()
        .is_none_or(|row| row.len() == 1 && row[0].is_none());
    if random.one_in(3) && text.len() > header_bytes && !is_last_null && text.ends_with(line_end) {
        text.truncate(text.len() - line_end.len());
    }
    Drawn {
        dialect,
        names,
        rows,
        text,
        header_bytes,
    }
}

struct Writer<'a> {
    dialect: &'a Dialect,
    line_end: &'a str,
    quote_rate: usize,
    blank_rate: usize,
}

impl Writer<'_> {
    fn write(&self, random: &mut Random, text: &mut String, row: &[Value]) {
        for (column, value) in row.iter().enumerate() {
            if column > 0 {
                text.push(self.dialect.delimiter.into());
            }
            let Some(value) = value else { continue };
            let delimiter = char::from(self.dialect.delimiter);
            let must_quote = value.is_empty()
                || value.starts_with('"')
                || value.contains([delimiter, '\n', '\r']);
            if must_quote || random.one_in(self.quote_rate) {
                write!(text, "\"{}\"", value.replace('"', "\"\"")).unwrap();
            } else {
                text.push_str(value);
            }
        }
        text.push_str(self.line_end);
        while random.one_in(self.blank_rate) {
            text.push_str(self.line_end);
        }
    }
}
