//! What someone says about a text, so that it is not detected.

use arrow_schema::{DataType, Field, Schema};

use crate::encoding::Encoding;
use crate::json_field::json_field;
use crate::notation::{DateNotation, DecimalSign, READING_WORDS, Reading, Thousands};
use crate::type_word::{TYPE_WORDS, parse_type_word};

/// The keys of [`TextOptions::set`].
pub const OPTION_KEYS: [&str; 12] = [
    "delimiter",
    "quote",
    "escape",
    "comment",
    "header",
    "decimal",
    "thousands",
    "dates",
    "null",
    "nan",
    "encoding",
    "types",
];

/// How a text is written, and the types of its columns, as far as someone said so. What is `None` is
/// detected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextOptions {
    pub(crate) delimiter: Option<u8>,
    /// `Some(None)`: no quotes.
    pub(crate) quote: Option<Option<u8>>,
    pub(crate) escape: Option<u8>,
    pub(crate) comment: Option<u8>,
    pub(crate) has_header: Option<bool>,
    pub(crate) decimal: Option<DecimalSign>,
    pub(crate) thousands: Thousands,
    pub(crate) dates: Option<DateNotation>,
    pub(crate) null_words: Vec<String>,
    pub(crate) allows_nan: bool,
    encoding: Option<Encoding>,
    types: Vec<(String, ColumnType)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ColumnType {
    Plain(DataType),
    /// As its values show, if they are read so.
    Read(Reading),
    /// The JSON text of each value.
    Json,
}

impl TextOptions {
    /// Sets one option by its key and its text, as in `delimiter=;`.
    ///
    /// # Errors
    /// One line: which option is wrong, and what would be right.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let wrong = |right: &str| format!("{key}={value:?} is not valid: write {right}");
        let character = || parse_byte(value).ok_or_else(|| wrong("one ASCII character, or tab"));
        let truth = || match value {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(wrong("true or false")),
        };
        match key {
            "delimiter" => self.delimiter = Some(character()?),
            "quote" if value.is_empty() => self.quote = Some(None),
            "quote" => self.quote = Some(Some(character()?)),
            "escape" => self.escape = Some(character()?),
            "comment" => self.comment = Some(character()?),
            "header" => self.has_header = Some(truth()?),
            "decimal" => {
                self.decimal = Some(match value {
                    "," => DecimalSign::Comma,
                    "." => DecimalSign::Point,
                    _ => return Err(wrong("a comma or a point")),
                });
            }
            "thousands" => {
                self.thousands = match value {
                    "." => Thousands::Point,
                    "," => Thousands::Comma,
                    " " | "space" => Thousands::Space,
                    "'" | "\u{2019}" => Thousands::Apostrophe,
                    "" | "none" => Thousands::None,
                    _ => return Err(wrong("a point, a comma, ', space or none")),
                };
            }
            "dates" => {
                let notation = DateNotation::parse(value);
                self.dates = Some(notation.ok_or_else(|| {
                    wrong("day, month and year, such as DD.MM.YYYY, MM/DD/YYYY or dmy")
                })?);
            }
            "null" => self.null_words.extend(value.split(',').map(str::to_owned)),
            "nan" => self.allows_nan = truth()?,
            "encoding" => {
                let encoding = Encoding::parse(value);
                let known = "an encoding such as utf-16le, latin-1 or windows-1252";
                self.encoding = Some(encoding.ok_or_else(|| wrong(known))?);
            }
            "types" => {
                for item in split_types(value) {
                    let (column, word) = split_type(item)
                        .ok_or_else(|| wrong("columns and types, such as types=a:text,b:date"))?;
                    self.set_type(column, word)?;
                }
            }
            _ => {
                let known = OPTION_KEYS.join(", ");
                return Err(format!(
                    "{key:?} is not an option of text files: write {known}"
                ));
            }
        }
        self.check()
    }

    /// Sets the type of a column by its word.
    ///
    /// # Errors
    /// One line: the word is not known, or the column has a type already.
    pub fn set_type(&mut self, column: &str, word: &str) -> Result<(), String> {
        let column_type = match parse_type_word(word) {
            _ if word.trim() == "json" => ColumnType::Json,
            Some(data_type) => ColumnType::Plain(data_type),
            None => ColumnType::Read(Reading::parse(word).ok_or_else(|| {
                format!(
                    "the type {word:?} of column {column:?} is not known: write {TYPE_WORDS}, or {READING_WORDS}"
                )
            })?),
        };
        if self.types.iter().any(|(name, _)| name == column) {
            return Err(format!("column {column:?} has two types: write one"));
        }
        self.types.push((column.to_owned(), column_type));
        Ok(())
    }

    /// The same; what is left open is as in `others`.
    #[must_use]
    pub fn over(mut self, others: &Self) -> Self {
        for column in &others.types {
            if !self.types.iter().any(|(name, _)| *name == column.0) {
                self.types.push(column.clone());
            }
        }
        Self {
            delimiter: self.delimiter.or(others.delimiter),
            quote: self.quote.or(others.quote),
            escape: self.escape.or(others.escape),
            comment: self.comment.or(others.comment),
            has_header: self.has_header.or(others.has_header),
            decimal: self.decimal.or(others.decimal),
            thousands: match self.thousands {
                Thousands::Any => others.thousands,
                said => said,
            },
            dates: self.dates.or(others.dates),
            null_words: [self.null_words, others.null_words.clone()].concat(),
            allows_nan: self.allows_nan || others.allows_nan,
            encoding: self.encoding.or(others.encoding),
            types: self.types,
        }
    }

    /// The same, with tabs between fields unless another delimiter was said.
    #[must_use]
    pub fn tabbed(mut self) -> Self {
        self.delimiter = self.delimiter.or(Some(b'\t'));
        self
    }

    /// How the characters are encoded.
    #[must_use]
    pub fn encoding(&self) -> Option<Encoding> {
        self.encoding
    }

    /// The schema in which columns have the types that were said.
    ///
    /// # Errors
    /// One line: there is no column of that name.
    pub fn typed(&self, schema: &Schema) -> Result<Schema, String> {
        let mut fields: Vec<Field> = schema.fields().iter().map(|f| f.as_ref().clone()).collect();
        for (column, column_type) in &self.types {
            let Some(field) = fields.iter_mut().find(|field| field.name() == column) else {
                let names: Vec<_> = fields.iter().take(20).map(Field::name).collect();
                return Err(format!(
                    "types names the column {column:?}, which does not exist: write one of {names:?}"
                ));
            };
            *field = match column_type {
                ColumnType::Plain(data_type) => retyped(field, data_type),
                ColumnType::Json => json_field(column),
                ColumnType::Read(_) => continue,
            };
        }
        Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }

    /// The columns that are read in a certain way.
    pub(crate) fn readings(&self) -> Vec<(String, Reading)> {
        let reading = |(column, column_type): &(String, ColumnType)| match column_type {
            ColumnType::Read(reading) => Some((column.clone(), *reading)),
            ColumnType::Plain(_) | ColumnType::Json => None,
        };
        self.types.iter().filter_map(reading).collect()
    }

    /// The columns whose types were said.
    pub fn typed_columns(&self) -> impl Iterator<Item = &str> {
        self.types.iter().map(|(column, _)| column.as_str())
    }

    /// Special characters must differ, so that each has one meaning.
    fn check(&self) -> Result<(), String> {
        let quote = self.quote.unwrap_or(Some(b'"'));
        let others = [self.delimiter, quote, self.comment];
        let others: Vec<u8> = others.into_iter().flatten().collect();
        let repeats =
            |(index, byte): (usize, &u8)| others.iter().skip(index + 1).any(|b| b == byte);
        let is_repeated = others.iter().enumerate().any(repeats);
        let decimal = match self.thousands {
            Thousands::Point => Some(DecimalSign::Comma),
            Thousands::Comma => Some(DecimalSign::Point),
            _ => self.decimal,
        };
        if self.decimal.is_some() && decimal != self.decimal {
            return Err("decimal and thousands must be different signs".to_owned());
        }
        if is_repeated || self.escape.is_some() && self.escape == self.delimiter {
            return Err("delimiter, quote and comment must be different characters".to_owned());
        }
        Ok(())
    }
}

/// A field of another type, whose values are written as before.
fn retyped(field: &Field, data_type: &DataType) -> Field {
    let is_same_kind = match Reading::of_field(field) {
        Some(Reading::Number(_)) => data_type.is_numeric(),
        Some(Reading::Date(_)) => data_type.is_temporal(),
        None => false,
    };
    let retyped = Field::new(field.name(), data_type.clone(), true);
    if is_same_kind {
        retyped.with_metadata(field.metadata().clone())
    } else {
        retyped
    }
}

/// One ASCII character that does not end lines; `tab` and `\t` are the tab.
fn parse_byte(text: &str) -> Option<u8> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Some(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | 0) => Some(*byte),
        _ => None,
    }
}

/// Splits at commas outside of parentheses.
fn split_types(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |character| {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
}

/// A column's name and the word behind the last colon before parentheses.
fn split_type(item: &str) -> Option<(&str, &str)> {
    let is_open = |character| matches!(character, '(' | '[');
    let word_end = if item.ends_with([')', ']']) {
        item.rfind(is_open)?
    } else {
        item.len()
    };
    let colon = item.get(..word_end)?.rfind(':')?;
    let (column, word) = item.split_at(colon);
    Some((column, word.get(1..)?))
}

#[cfg(test)]
mod tests {
    use arrow_schema::TimeUnit;

    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Result<TextOptions, String> {
        let mut options = TextOptions::default();
        for (key, value) in pairs {
            options.set(key, value)?;
        }
        Ok(options)
    }

    #[test]
    fn types_name_columns_and_words() {
        let set = options(&[(
            "types",
            "a:text,b:c:decimal(12,2),t:timestamp(us, +02:00),u:json",
        )]);
        let field = |name: &str| Field::new(name, DataType::Int64, true);
        let schema = Schema::new(["a", "b:c", "t", "u", "v"].map(field).to_vec());
        let typed = set.unwrap().typed(&schema).unwrap();
        let types: Vec<_> = typed
            .fields()
            .iter()
            .map(|f| f.data_type().clone())
            .collect();
        let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("+02:00".into()));
        let decimal = DataType::Decimal128(12, 2);
        assert_eq!(
            types,
            [
                DataType::Utf8,
                decimal,
                zoned,
                DataType::Utf8,
                DataType::Int64
            ]
        );
        assert!(
            typed
                .field(3)
                .metadata()
                .contains_key("ARROW:extension:name")
        );
        let unknown = options(&[("types", "x:text")]).unwrap().typed(&schema);
        assert!(unknown.unwrap_err().contains("\"x\""));
    }

    #[test]
    fn wrong_options_say_what_is_right() {
        for (key, value, part) in [
            ("delimiter", ";;", "one ASCII character"),
            ("delimiter", "\n", "one ASCII character"),
            ("delimiter", "\"", "different characters"),
            ("header", "yes", "true or false"),
            ("decimal", ";", "a comma or a point"),
            ("encoding", "utf-17", "utf-16le"),
            ("types", "a", "a:text"),
            ("types", "a:number", "int64"),
            ("types", "a:text,a:date", "two types"),
            ("separator", ";", "delimiter"),
        ] {
            let error = options(&[(key, value)]).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(options(&[("quote", "'"), ("escape", "\\"), ("delimiter", "tab")]).is_ok());
    }
}
