//! Draws texts and the values that they hold.

/// The generator splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// A string and how the text writes it, without quotes.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) content: String,
    pub(crate) raw: String,
}

/// A value, with numbers and strings as the text writes them.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    String(Text),
    Array(Vec<Value>),
    Object(Vec<(Text, Value)>),
}

impl Value {
    /// The value without whitespace.
    pub(crate) fn compact(&self) -> String {
        let mut out = String::new();
        write_value(self, &mut out, &mut |_| ());
        out
    }
}

fn write_value(value: &Value, out: &mut String, blank: &mut impl FnMut(&mut String)) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(literal) => out.push_str(literal),
        Value::String(text) => out.extend(["\"", &text.raw, "\""]),
        Value::Array(items) => {
            out.push('[');
            blank(out);
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                    blank(out);
                }
                write_value(item, out, blank);
                blank(out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            blank(out);
            for (index, (key, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                    blank(out);
                }
                out.extend(["\"", &key.raw, "\""]);
                blank(out);
                out.push(':');
                blank(out);
                write_value(value, out, blank);
                blank(out);
            }
            out.push('}');
        }
    }
}

/// What the values of a field look like.
#[derive(Debug, Clone)]
enum Kind {
    Null,
    Bool,
    Number(NumberKind),
    String,
    Array(Box<Kind>),
    Object(Vec<FieldPlan>),
    Mixed,
}

#[derive(Debug, Clone, Copy)]
enum NumberKind {
    Small,
    Signed,
    Unsigned,
    Huge,
    Short,
    Long,
    Exponent,
    Special,
}

const NUMBER_KINDS: [NumberKind; 8] = [
    NumberKind::Small,
    NumberKind::Signed,
    NumberKind::Unsigned,
    NumberKind::Huge,
    NumberKind::Short,
    NumberKind::Long,
    NumberKind::Exponent,
    NumberKind::Special,
];

/// A field that begins at a row and changes its kind at another.
#[derive(Debug, Clone)]
struct FieldPlan {
    name: Text,
    first_row: usize,
    change_row: usize,
    before: Kind,
    after: Kind,
    /// The field is missing once in this many rows.
    missing: usize,
}

/// A drawn text and what is in it.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub(crate) is_array: bool,
    pub(crate) text: Vec<u8>,
    pub(crate) rows: Vec<Vec<(Text, Value)>>,
    /// Where each row's record begins.
    pub(crate) offsets: Vec<u64>,
}

impl Drawn {
    pub(crate) fn new(random: &mut Random) -> Self {
        let num_rows = 1 + random.below(40);
        let plans = draw_plans(random, num_rows, 0);
        let mut rows = Vec::new();
        for row in 0..num_rows {
            rows.push(draw_fields(random, &plans, row));
        }
        let mut drawn = Self {
            is_array: random.once_in(3),
            text: Vec::new(),
            rows,
            offsets: Vec::new(),
        };
        drawn.write(random);
        drawn
    }

    fn write(&mut self, random: &mut Random) {
        let mut out = String::new();
        if random.once_in(4) {
            out.push('\u{feff}');
        }
        let blanks = random.once_in(2);
        let line_end = if random.once_in(3) { "\r\n" } else { "\n" };
        let is_array = self.is_array;
        let blank_text = |random: &mut Random| -> &str {
            match (blanks && random.once_in(3), is_array) {
                (false, _) => "",
                (true, false) => random.pick(&[" ", "\t", "  \r "]),
                (true, true) => random.pick(&[" ", "\n", "\r\n\t"]),
            }
        };
        if is_array {
            out.push_str(blank_text(random));
            out.push('[');
        }
        let num_rows = self.rows.len();
        for (index, row) in self.rows.iter().enumerate() {
            if !is_array && random.once_in(9) {
                out.extend([random.pick(&["", " ", "\t "]), line_end]);
            }
            let is_first_line = out == "\u{feff}";
            self.offsets
                .push(if is_first_line { 0 } else { out.len() as u64 });
            out.push_str(blank_text(random));
            if is_array {
                *self.offsets.last_mut().unwrap() = out.len() as u64;
            }
            let object = Value::Object(row.clone());
            write_value(&object, &mut out, &mut |out| {
                out.push_str(blank_text(random));
            });
            out.push_str(blank_text(random));
            if !is_array && (index + 1 < num_rows || random.once_in(2)) {
                out.push_str(line_end);
            } else if is_array && index + 1 < num_rows {
                out.push(',');
            }
        }
        if is_array {
            out.push_str(blank_text(random));
            out.push(']');
            out.push_str(blank_text(random));
        }
        self.text = out.into_bytes();
    }
}

fn draw_plans(random: &mut Random, num_rows: usize, depth: usize) -> Vec<FieldPlan> {
    let names = [
        "a",
        "b",
        "c",
        "id",
        "name \u{e9}",
        "q\"uote",
        "back\\slash",
        "",
        "\u{1f600}",
        "x.y",
        "null",
    ];
    let mut plans: Vec<FieldPlan> = Vec::new();
    for _ in 0..random.below(if depth == 0 { 8 } else { 4 }) {
        let name = random.pick(&names);
        if plans.iter().any(|plan| plan.name.content == name) {
            continue;
        }
        let before = draw_kind(random, num_rows, depth);
        let changes = random.once_in(5);
        plans.push(FieldPlan {
            name: draw_raw(random, name.to_owned()),
            first_row: if random.once_in(4) {
                random.below(num_rows)
            } else {
                0
            },
            change_row: if changes {
                random.below(num_rows)
            } else {
                num_rows
            },
            after: if changes {
                draw_kind(random, num_rows, depth)
            } else {
                before.clone()
            },
            before,
            missing: random.pick(&[3, 10, 1_000]),
        });
    }
    plans
}

fn draw_kind(random: &mut Random, num_rows: usize, depth: usize) -> Kind {
    match random.below(if depth < 3 { 14 } else { 9 }) {
        0 => Kind::Null,
        1 => Kind::Bool,
        2..=5 => Kind::Number(random.pick(&NUMBER_KINDS)),
        6..=7 => Kind::String,
        8 => Kind::Mixed,
        9..=11 => Kind::Array(Box::new(draw_kind(random, num_rows, depth + 1))),
        _ => Kind::Object(draw_plans(random, num_rows, depth + 1)),
    }
}

fn draw_fields(random: &mut Random, plans: &[FieldPlan], row: usize) -> Vec<(Text, Value)> {
    let mut fields = Vec::new();
    for plan in plans {
        if row < plan.first_row || random.once_in(plan.missing) {
            continue;
        }
        let kind = if row < plan.change_row {
            &plan.before
        } else {
            &plan.after
        };
        let name = if random.once_in(20) {
            draw_raw(random, plan.name.content.clone())
        } else {
            plan.name.clone()
        };
        fields.push((name, draw_value(random, kind, row)));
    }
    if random.once_in(10) && fields.len() > 1 {
        let (one, other) = (random.below(fields.len()), random.below(fields.len()));
        fields.swap(one, other);
    }
    fields
}

fn draw_value(random: &mut Random, kind: &Kind, row: usize) -> Value {
    if random.once_in(12) {
        return Value::Null;
    }
    match kind {
        Kind::Null => Value::Null,
        Kind::Bool => Value::Bool(random.once_in(2)),
        Kind::Number(kind) => Value::Number(draw_number(random, *kind)),
        Kind::String => {
            let content = draw_string(random);
            Value::String(draw_raw(random, content))
        }
        Kind::Array(item) => {
            let num_items = random.below(4);
            Value::Array(
                (0..num_items)
                    .map(|_| draw_value(random, item, row))
                    .collect(),
            )
        }
        Kind::Object(plans) => Value::Object(draw_fields(random, plans, row)),
        Kind::Mixed => {
            let kind = match random.below(5) {
                0 => Kind::Bool,
                1 => Kind::Number(random.pick(&NUMBER_KINDS)),
                2 => Kind::Array(Box::new(Kind::Mixed)),
                _ => Kind::String,
            };
            draw_value(random, &kind, row)
        }
    }
}

fn draw_number(random: &mut Random, kind: NumberKind) -> String {
    let sign = if random.once_in(4) { "-" } else { "" };
    match kind {
        NumberKind::Small => (random.below(2_001) as i64 - 1_000).to_string(),
        NumberKind::Signed => match random.below(6) {
            0 => i64::MAX.to_string(),
            1 => i64::MIN.to_string(),
            _ => (random.next() as i64).to_string(),
        },
        NumberKind::Unsigned => match random.below(6) {
            0 => u64::MAX.to_string(),
            1 => (i64::MAX as u64 + 1).to_string(),
            _ => random.next().to_string(),
        },
        NumberKind::Huge => format!("{sign}{}", draw_integer(random, 45)),
        NumberKind::Short => format!("{sign}{}.{:02}", random.below(100_000), random.below(100)),
        NumberKind::Long => {
            let integer = draw_integer(random, 20);
            let fraction = draw_digits(random, 25);
            format!("{sign}{integer}.{fraction}")
        }
        NumberKind::Exponent => {
            let mut literal = format!("{sign}{}", draw_integer(random, 10));
            if random.once_in(2) {
                literal = format!("{literal}.{}", draw_digits(random, 10));
            }
            let exponent_sign = random.pick(&["", "+", "-"]);
            let exponent = random.pick(&[2, 5, 25, 45, 330]);
            format!(
                "{literal}{}{exponent_sign}{}",
                random.pick(&["e", "E"]),
                random.below(exponent)
            )
        }
        NumberKind::Special => random
            .pick(&[
                "0",
                "-0",
                "0.0",
                "-0.0",
                "0e0",
                "-0e5",
                "1e308",
                "1e309",
                "-1e400",
                "5e-324",
                "1e-330",
                "9007199254740993",
                "1.10",
                "100000000000000000000000",
                "0.1",
                "12345678901234567.0",
                "123456789012345678.0",
                "0e999999999999999999999",
                "1e0",
                "12e-1",
                "1.0E+2",
            ])
            .to_owned(),
    }
}

fn draw_digits(random: &mut Random, max_digits: usize) -> String {
    let num_digits = 1 + random.below(max_digits);
    (0..num_digits)
        .map(|_| random.pick(&['0', '1', '5', '9', '3', '0']))
        .collect()
}

fn draw_integer(random: &mut Random, max_digits: usize) -> String {
    let digits = draw_digits(random, max_digits);
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        "0".to_owned()
    } else {
        digits.to_owned()
    }
}

fn draw_string(random: &mut Random) -> String {
    let characters = [
        'a',
        'b',
        'Z',
        '0',
        ' ',
        '"',
        '\\',
        '/',
        '\n',
        '\t',
        '\r',
        '\0',
        '\u{1f}',
        '\u{7f}',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '\u{e9}',
        '\u{20ac}',
        '\u{1f600}',
        '\u{feff}',
        '\u{2028}',
        '\u{ffff}',
    ];
    let plain = random.once_in(2);
    let num_characters = random.below(30);
    let limit = if plain { 5 } else { characters.len() };
    (0..num_characters)
        .map(|_| characters[random.below(limit)])
        .collect()
}

/// Draws how a string is written.
fn draw_raw(random: &mut Random, content: String) -> Text {
    let escapes = random.pick(&[2, 1_000]);
    let mut raw = String::new();
    for character in content.chars() {
        let short = match character {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            _ => "",
        };
        let must_escape = character < ' ' || character == '"' || character == '\\';
        if !short.is_empty() && !random.once_in(escapes) {
            raw.push_str(short);
        } else if must_escape || random.once_in(escapes) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let escape = format!("\\u{unit:04x}");
                raw.push_str(&if random.once_in(2) {
                    escape.to_uppercase().replace("\\U", "\\u")
                } else {
                    escape
                });
            }
        } else if character == '/' && random.once_in(2) {
            raw.push_str("\\/");
        } else {
            raw.push(character);
        }
    }
    Text { content, raw }
}
