//! A strict tokenizer of RFC 8259 over one record.

use super::fault::{Fault, Parsed};
use super::strings;
use crate::number::{Number, parse_non_finite};

/// The deepest nesting of objects and arrays.
const MAX_DEPTH: u32 = 64;

/// The most keys of an object that are compared one by one.
const FEW_KEYS: usize = 8;

/// The class of a value, which its first character tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Null,
    Bool,
    Number,
    String,
    Object,
    Array,
}

/// A number, or a word for one that is not finite.
#[derive(Debug, Clone, Copy)]
pub(super) enum Numeral<'a> {
    Finite(Number<'a>),
    NonFinite(&'a [u8], f64),
}

/// Memory that the cursors of all records share.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The string that was unescaped last.
    string: String,
    /// Positions of the keys of the objects that are being skipped.
    keys: Vec<(usize, usize)>,
}

/// A position to which a cursor can move back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bookmark {
    at: usize,
    depth: u32,
}

/// A position in the text of one record.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    allows_nan: bool,
    /// Whether there was whitespace between tokens.
    saw_blanks: bool,
    scratch: &'a mut Scratch,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, allows_nan: bool, scratch: &'a mut Scratch) -> Self {
        scratch.keys.clear();
        Self {
            text,
            at: 0,
            depth: 0,
            allows_nan,
            saw_blanks: false,
            scratch,
        }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The position in the record in bytes.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Goes back to a position that [`Cursor::position`] gave while the same containers were open.
    pub(super) fn rewind(&mut self, position: usize) {
        self.at = position;
    }

    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
            self.saw_blanks = true;
        }
    }

    #[cold]
    fn unexpected(&self, expected: &str) -> Fault {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found = match rest.chars().next() {
            Some(character) => format!("\"{}\"", character.escape_debug()),
            None => "the end of the record".to_owned(),
        };
        Fault::json(format!(
            "expected {expected}, found {found} at byte {} of the record",
            self.at
        ))
    }

    /// The class of the next value, which begins at the position afterwards.
    #[inline]
    pub(super) fn class(&mut self) -> Parsed<Class> {
        self.skip_blanks();
        match self.peek() {
            Some(b'"') => Ok(Class::String),
            Some(b'0'..=b'9' | b'-') => Ok(Class::Number),
            Some(b'{') => Ok(Class::Object),
            Some(b'[') => Ok(Class::Array),
            Some(b't' | b'f') => Ok(Class::Bool),
            Some(b'n') => Ok(Class::Null),
            Some(b'N' | b'I') if self.allows_nan => Ok(Class::Number),
            _ => Err(self.unexpected("a value")),
        }
    }

    /// Moves behind `word` if it is next.
    #[inline]
    pub(super) fn accept(&mut self, word: &[u8]) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    pub(super) fn null(&mut self) -> Parsed<()> {
        if self.accept(b"null") {
            Ok(())
        } else {
            Err(self.unexpected("\"null\""))
        }
    }

    pub(super) fn boolean(&mut self) -> Parsed<bool> {
        if self.accept(b"true") {
            Ok(true)
        } else if self.accept(b"false") {
            Ok(false)
        } else {
            Err(self.unexpected("\"true\" or \"false\""))
        }
    }

    #[inline]
    pub(super) fn number(&mut self) -> Parsed<Numeral<'a>> {
        match Number::parse_prefix(self.rest()) {
            Some(number) => {
                self.at += number.text.len();
                match self.peek() {
                    Some(b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n') | None => {
                        Ok(Numeral::Finite(number))
                    }
                    Some(_) => Err(self.unexpected("the end of a number")),
                }
            }
            None => self.non_finite(),
        }
    }

    #[cold]
    fn non_finite(&mut self) -> Parsed<Numeral<'a>> {
        let words: [&'static [u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
        let word = words
            .into_iter()
            .find(|word| self.allows_nan && self.accept(word));
        match word.and_then(|word| Some((word, parse_non_finite(word)?))) {
            Some((word, value)) => Ok(Numeral::NonFinite(word, value)),
            None => Err(self.unexpected("a number")),
        }
    }

    /// The next string between its quotes, and whether it has escapes, which are not checked.
    #[inline]
    fn raw_string(&mut self) -> Parsed<(&'a str, bool)> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a string"));
        }
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        let bytes = self.text.as_bytes();
        while let Some(special) = strings::find_special(bytes, at) {
            match bytes.get(special) {
                Some(b'"') => {
                    self.at = special + 1;
                    return Ok((self.text.get(start..special).unwrap_or_default(), escaped));
                }
                Some(b'\\') => {
                    escaped = true;
                    at = special + 2;
                }
                _ => {
                    self.at = special;
                    return Err(self.unexpected("an escape of the control character"));
                }
            }
        }
        self.at = self.text.len();
        Err(self.unexpected("the closing quote of a string"))
    }

    /// The next string, without quotes and escapes.
    #[inline]
    pub(super) fn string(&mut self) -> Parsed<&str> {
        let (raw, escaped) = self.raw_string()?;
        if !escaped {
            return Ok(raw);
        }
        let string = &mut self.scratch.string;
        string.clear();
        strings::unescape(raw, |part| string.push_str(part))?;
        Ok(string)
    }

    fn skip_string(&mut self) -> Parsed<()> {
        let (raw, escaped) = self.raw_string()?;
        if escaped {
            strings::unescape(raw, |_| ())?;
        }
        Ok(())
    }

    /// Moves into the object or array whose first character is next.
    pub(super) fn open(&mut self) -> Parsed<()> {
        if self.depth == MAX_DEPTH {
            return Err(Fault::json(format!(
                "expected at most {MAX_DEPTH} nested levels"
            )));
        }
        self.at += 1;
        self.depth += 1;
        Ok(())
    }

    /// Moves to the next key or item; moves out and returns false if `close` is next.
    #[inline]
    pub(super) fn next_member(&mut self, close: u8, is_first: bool) -> Parsed<bool> {
        self.skip_blanks();
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            Some(b',') if !is_first => {
                self.at += 1;
                self.skip_blanks();
                Ok(true)
            }
            Some(_) if is_first => Ok(true),
            _ => Err(self.unexpected(if close == b'}' {
                "\",\" or \"}\""
            } else {
                "\",\" or \"]\""
            })),
        }
    }

    /// The next key; moves behind its colon.
    pub(super) fn key(&mut self) -> Parsed<&str> {
        let start = self.at;
        self.skip_string()?;
        let end = self.at;
        self.colon()?;
        let raw = self.text.get(start + 1..end - 1).unwrap_or_default();
        if !raw.contains('\\') {
            return Ok(raw);
        }
        let string = &mut self.scratch.string;
        string.clear();
        strings::unescape(raw, |part| string.push_str(part))?;
        Ok(string)
    }

    fn colon(&mut self) -> Parsed<()> {
        self.skip_blanks();
        if self.accept(b":") {
            Ok(())
        } else {
            Err(self.unexpected("\":\""))
        }
    }

    /// Where the cursor is now, to move back there.
    pub(super) fn bookmark(&self) -> Bookmark {
        Bookmark {
            at: self.at,
            depth: self.depth,
        }
    }

    /// Moves back to where the cursor was.
    pub(super) fn move_to(&mut self, bookmark: Bookmark) {
        self.at = bookmark.at;
        self.depth = bookmark.depth;
    }

    /// Checks the next value and returns its text.
    pub(super) fn skip_value(&mut self) -> Parsed<&'a str> {
        let class = self.class()?;
        let start = self.at;
        match class {
            Class::Null => self.null()?,
            Class::Bool => self.boolean().map(|_| ())?,
            Class::Number => self.number().map(|_| ())?,
            Class::String => self.skip_string()?,
            Class::Object => self.skip_object()?,
            Class::Array => self.skip_array()?,
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    fn skip_array(&mut self) -> Parsed<()> {
        self.open()?;
        let mut is_first = true;
        while self.next_member(b']', is_first)? {
            self.skip_value()?;
            is_first = false;
        }
        Ok(())
    }

    fn skip_object(&mut self) -> Parsed<()> {
        self.open()?;
        let first_key = self.scratch.keys.len();
        while self.next_member(b'}', self.scratch.keys.len() == first_key)? {
            let start = self.at;
            self.skip_string()?;
            self.scratch.keys.push((start + 1, self.at - 1));
            self.colon()?;
            self.skip_value()?;
        }
        self.check_keys(first_key)?;
        self.scratch.keys.truncate(first_key);
        Ok(())
    }

    /// Checks that all keys from `first_key` on are different.
    fn check_keys(&self, first_key: usize) -> Parsed<()> {
        let keys = self.scratch.keys.get(first_key..).unwrap_or_default();
        let raw = |&(start, end): &(usize, usize)| self.text.get(start..end).unwrap_or_default();
        if keys.len() <= FEW_KEYS && !keys.iter().any(|key| raw(key).contains('\\')) {
            for (index, key) in keys.iter().enumerate() {
                if keys
                    .iter()
                    .skip(index + 1)
                    .any(|other| raw(other) == raw(key))
                {
                    return Err(duplicate_key(raw(key)));
                }
            }
            return Ok(());
        }
        let mut names = Vec::with_capacity(keys.len());
        for key in keys {
            let mut name = String::new();
            strings::unescape(raw(key), |part| name.push_str(part))?;
            names.push(name);
        }
        names.sort_unstable();
        match names.windows(2).find(|pair| pair.first() == pair.last()) {
            Some(pair) => Err(duplicate_key(pair.first().map_or("", String::as_str))),
            None => Ok(()),
        }
    }

    /// The text of the next value without whitespace between its tokens.
    pub(super) fn compact_value(&mut self) -> Parsed<&str> {
        self.skip_blanks();
        self.saw_blanks = false;
        let value = self.skip_value()?;
        if !self.saw_blanks {
            return Ok(value);
        }
        let compact = &mut self.scratch.string;
        compact.clear();
        write_compact(value, compact);
        Ok(compact)
    }

    /// Checks that nothing follows.
    pub(super) fn end(&mut self) -> Parsed<()> {
        self.skip_blanks();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the line")),
        }
    }
}

/// The error of a key that an object has twice.
#[cold]
pub(super) fn duplicate_key(name: &str) -> Fault {
    Fault::json(format!(
        "expected different keys in one object, found {name:?} twice"
    ))
}

/// Appends a valid JSON value without the whitespace between its tokens.
fn write_compact(value: &str, compact: &mut String) {
    let mut rest = value;
    while let Some(quote) = rest.find('"') {
        let (outside, string) = rest.split_at(quote);
        compact.extend(outside.split_ascii_whitespace());
        let length = string_length(string);
        compact.push_str(string.get(..length).unwrap_or(string));
        rest = string.get(length..).unwrap_or_default();
    }
    compact.extend(rest.split_ascii_whitespace());
}

/// The length of the string at the start of `text` with its quotes.
fn string_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(special) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        if bytes.get(at + special) == Some(&b'"') {
            return at + special + 1;
        }
        at += special + 2;
    }
    bytes.len()
}
