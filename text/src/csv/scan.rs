//! Finds the fields of records in text that is in memory.

use crate::csv::dialect::Syntax;
use crate::{MAX_COLUMNS, MAX_RECORD_BYTES, TextErrorKind};

const QUOTED: u32 = 1 << 31;
const ESCAPED: u32 = 1 << 30;

/// Where a field stands in the text, without its quotes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    start: u32,
    /// The end, and two flags in its highest bits.
    end: u32,
}

impl Span {
    #[inline]
    fn plain(start: usize, end: usize) -> Self {
        Self {
            start: start as u32,
            end: end as u32,
        }
    }

    #[inline]
    fn quoted(start: usize, end: usize, is_escaped: bool) -> Self {
        let flags = if is_escaped { QUOTED | ESCAPED } else { QUOTED };
        Self {
            start: start as u32,
            end: end as u32 | flags,
        }
    }

    /// Whether the field was in quotes.
    #[inline]
    pub(crate) fn is_quoted(self) -> bool {
        self.end & QUOTED != 0
    }

    /// Whether the field contains escapes or doubled quotes.
    #[inline]
    pub(crate) fn is_escaped(self) -> bool {
        self.end & ESCAPED != 0
    }

    #[inline]
    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    #[inline]
    pub(crate) fn end(self) -> usize {
        (self.end & !(QUOTED | ESCAPED)) as usize
    }

    /// The span in a text that has `num_bytes` more at its start.
    pub(crate) fn moved(self, num_bytes: usize) -> Self {
        Self {
            start: self.start + num_bytes as u32,
            end: self.end + num_bytes as u32,
        }
    }

    #[inline]
    pub(crate) fn bytes(self, text: &[u8]) -> &[u8] {
        text.get(self.start()..self.end()).unwrap_or_default()
    }
}

/// What bounds a scan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Fields of every record; `None`: any number.
    pub(crate) num_fields: Option<usize>,
    /// Whether an empty line is no record, instead of one with an empty field.
    pub(crate) skips_blank_lines: bool,
    pub(crate) max_rows: usize,
    /// Lines that begin here or later are not read.
    pub(crate) max_begin: usize,
    /// Whether nothing follows the text.
    pub(crate) is_final: bool,
}

/// Why a scan stopped.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// After the most rows.
    Full,
    /// The text ended, perhaps within a record.
    TextEnd,
    /// The next line begins where the scan ends.
    MaxBegin,
    /// The next record is wrong.
    Bad(TextErrorKind),
}

/// The result of a scan.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) num_rows: usize,
    /// The end of the records that were read, and of lines skipped behind them.
    pub(crate) end: usize,
    pub(crate) stop: Stop,
}

/// Appends the spans of the records at the start of `text`, which is shorter than 1 GiB.
pub(crate) fn scan(syntax: &Syntax, text: &[u8], bounds: &Bounds, spans: &mut Vec<Span>) -> Scan {
    let mut scanner = Scanner::new(syntax, text, bounds.is_final);
    let mut num_rows = 0;
    let mut end = 0;
    let stop = loop {
        if num_rows == bounds.max_rows {
            break Stop::Full;
        }
        if end >= bounds.max_begin {
            break Stop::MaxBegin;
        }
        let Some(&first) = text.get(end) else {
            break Stop::TextEnd;
        };
        let skipped = scanner.skipped_line(end, first, bounds.skips_blank_lines);
        if let Some(next) = skipped {
            end = next;
            continue;
        }
        let first_span = spans.len();
        let next = scanner.record(end, spans);
        let checked =
            next.and_then(|next| check_record(next, end, spans.len() - first_span, bounds));
        match checked {
            Ok(next) => {
                num_rows += 1;
                end = next;
            }
            Err(bad) => {
                spans.truncate(first_span);
                break incomplete_or_bad(bad, text.len() - end);
            }
        }
    };
    Scan {
        num_rows,
        end,
        stop,
    }
}

/// Why a record cannot be read.
enum NoRecord {
    /// Its end is not in the text.
    Incomplete,
    Bad(TextErrorKind),
}

fn check_record(
    next: usize,
    begin: usize,
    found: usize,
    bounds: &Bounds,
) -> Result<usize, NoRecord> {
    if next - begin > MAX_RECORD_BYTES {
        return Err(NoRecord::Bad(TextErrorKind::TooLong));
    }
    match bounds.num_fields {
        Some(expected) if expected != found => {
            Err(NoRecord::Bad(TextErrorKind::FieldCount { found, expected }))
        }
        _ => Ok(next),
    }
}

fn incomplete_or_bad(error: NoRecord, num_bytes: usize) -> Stop {
    match error {
        NoRecord::Bad(kind) => Stop::Bad(kind),
        NoRecord::Incomplete if num_bytes > MAX_RECORD_BYTES => Stop::Bad(TextErrorKind::TooLong),
        NoRecord::Incomplete => Stop::TextEnd,
    }
}

struct Scanner<'a> {
    syntax: &'a Syntax,
    text: &'a [u8],
    /// Ends of fields without quotes.
    ends: Ends<'a>,
    is_final: bool,
    has_cr_lf: bool,
}

impl<'a> Scanner<'a> {
    fn new(syntax: &'a Syntax, text: &'a [u8], is_final: bool) -> Self {
        Self {
            syntax,
            text,
            ends: Ends::new(text, syntax.delimiter, syntax.line_end),
            is_final,
            has_cr_lf: syntax.line_end == b'\n',
        }
    }

    /// The end of the line at `begin`, if it is a comment, or blank and skipped.
    #[inline]
    fn skipped_line(&mut self, begin: usize, first: u8, skips_blank: bool) -> Option<usize> {
        let end = if self.syntax.comment == Some(first) {
            let line = self.text.get(begin..)?;
            match memchr::memchr(self.syntax.line_end, line) {
                Some(at) => begin + at + 1,
                None if self.is_final => self.text.len(),
                None => return None,
            }
        } else if skips_blank && first == self.syntax.line_end {
            begin + 1
        } else if skips_blank && first == b'\r' && self.is_cr_lf(begin) {
            begin + 2
        } else {
            return None;
        };
        self.ends.seek(end);
        Some(end)
    }

    #[inline]
    fn is_cr_lf(&self, at: usize) -> bool {
        self.has_cr_lf && self.text.get(at..at + 2) == Some(b"\r\n")
    }

    /// Appends the spans of the record at `begin`; returns the begin of the next line.
    #[inline]
    fn record(&mut self, begin: usize, spans: &mut Vec<Span>) -> Result<usize, NoRecord> {
        if !self.is_final
            && self.syntax.comment.is_some()
            && self.syntax.comment == self.text.get(begin).copied()
        {
            return Err(NoRecord::Incomplete);
        }
        let mut start = begin;
        let max_spans = spans.len() + MAX_COLUMNS;
        loop {
            if spans.len() == max_spans {
                return Err(NoRecord::Bad(TextErrorKind::TooManyColumns));
            }
            if self.syntax.quote.is_some() && self.text.get(start).copied() == self.syntax.quote {
                match self.quoted_field(start, spans)? {
                    Next::Field(next) => start = next,
                    Next::Line(next) => return Ok(next),
                }
                continue;
            }
            let end = self.ends.next();
            let Some(&byte) = self.text.get(end) else {
                if !self.is_final {
                    return Err(NoRecord::Incomplete);
                }
                spans.push(Span::plain(start, end));
                return Ok(end);
            };
            if byte == self.syntax.line_end {
                spans.push(Span::plain(start, self.without_cr(start, end)));
                return Ok(end + 1);
            }
            spans.push(Span::plain(start, end));
            start = end + 1;
        }
    }

    #[inline]
    fn without_cr(&self, start: usize, end: usize) -> usize {
        let has_cr = self.has_cr_lf && end > start && self.text.get(end - 1) == Some(&b'\r');
        end - usize::from(has_cr)
    }

    /// Appends the span of the field whose opening quote is at `start`.
    fn quoted_field(&mut self, start: usize, spans: &mut Vec<Span>) -> Result<Next, NoRecord> {
        let (end, is_escaped) = self.closing_quote(start + 1)?;
        spans.push(Span::quoted(start + 1, end, is_escaped));
        let behind = end + 1;
        let next = match self.text.get(behind) {
            None if self.is_final => Next::Line(behind),
            None => return Err(NoRecord::Incomplete),
            Some(&byte) if byte == self.syntax.line_end => Next::Line(behind + 1),
            Some(&byte) if byte == self.syntax.delimiter => Next::Field(behind + 1),
            Some(b'\r') if self.is_cr_lf(behind) => Next::Line(behind + 2),
            Some(b'\r') if self.has_cr_lf && !self.is_final && behind + 1 == self.text.len() => {
                return Err(NoRecord::Incomplete);
            }
            Some(_) => return Err(NoRecord::Bad(TextErrorKind::AfterQuote)),
        };
        let (Next::Field(position) | Next::Line(position)) = next;
        self.ends.seek(position);
        Ok(next)
    }

    /// The closing quote of a field whose value begins at `start`, and whether the value has escapes.
    fn closing_quote(&self, start: usize) -> Result<(usize, bool), NoRecord> {
        let quote = self.syntax.quote.unwrap_or_default();
        let escape = self.syntax.escape.unwrap_or(quote);
        let mut position = start;
        let mut is_escaped = false;
        loop {
            let rest = self.text.get(position..).unwrap_or_default();
            let Some(at) = memchr::memchr2(quote, escape, rest) else {
                return Err(self.unclosed());
            };
            let at = position + at;
            let next = self.text.get(at + 1).copied();
            let is_quote = self.text.get(at) == Some(&quote);
            if is_quote && (escape != quote || next != Some(quote)) {
                let may_be_doubled = escape == quote && next.is_none() && !self.is_final;
                return if may_be_doubled {
                    Err(NoRecord::Incomplete)
                } else {
                    Ok((at, is_escaped))
                };
            }
            let is_pair = next == Some(quote) || next == Some(escape);
            is_escaped |= is_pair;
            position = at + 1 + usize::from(is_pair);
        }
    }

    fn unclosed(&self) -> NoRecord {
        if self.is_final {
            NoRecord::Bad(TextErrorKind::UnclosedQuote)
        } else {
            NoRecord::Incomplete
        }
    }
}

/// What follows a field.
enum Next {
    Field(usize),
    Line(usize),
}

/// The positions of two bytes in a text, in ascending order.
struct Ends<'a> {
    text: &'a [u8],
    delimiter: u8,
    line_end: u8,
    /// Where the chunk of [`MASK_BYTES`] begins that `mask` is about.
    base: usize,
    /// A bit for each position in the chunk that was not returned yet.
    mask: u64,
}

const MASK_BYTES: usize = 64;

impl<'a> Ends<'a> {
    fn new(text: &'a [u8], delimiter: u8, line_end: u8) -> Self {
        let mut ends = Self {
            text,
            delimiter,
            line_end,
            base: 0,
            mask: 0,
        };
        ends.load();
        ends
    }

    /// The next position; the text's length behind the last.
    #[inline]
    fn next(&mut self) -> usize {
        while self.mask == 0 {
            if self.base + MASK_BYTES >= self.text.len() {
                return self.text.len();
            }
            self.base += MASK_BYTES;
            self.load();
        }
        let position = self.base + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        position
    }

    /// Goes on from `position`, which is not before the last one returned.
    #[inline]
    fn seek(&mut self, position: usize) {
        if position - self.base >= MASK_BYTES {
            self.base = position & !(MASK_BYTES - 1);
            self.load();
        }
        self.mask &= u64::MAX << (position - self.base);
    }

    #[inline]
    fn load(&mut self) {
        let rest = self.text.get(self.base..).unwrap_or_default();
        self.mask = match rest.first_chunk() {
            Some(chunk) => mask_of(chunk, self.delimiter, self.line_end),
            None => {
                let mut chunk = [0; MASK_BYTES];
                for (to, from) in chunk.iter_mut().zip(rest) {
                    *to = *from;
                }
                mask_of(&chunk, self.delimiter, self.line_end) & !(u64::MAX << rest.len())
            }
        };
    }
}

/// A bit for each byte of `chunk` that is `a` or `b`.
#[inline]
fn mask_of(chunk: &[u8; MASK_BYTES], a: u8, b: u8) -> u64 {
    let (a, b) = (repeated(a), repeated(b));
    let (words, _) = chunk.as_chunks::<8>();
    let mut mask = 0;
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let equal = high_bits_of_zeros(word ^ a) | high_bits_of_zeros(word ^ b);
        // Moves the eight bits, one in each byte, next to each other.
        let bits = (equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= bits << (index * 8);
    }
    mask
}

#[inline]
fn repeated(byte: u8) -> u64 {
    u64::from(byte) * 0x0101_0101_0101_0101
}

/// The high bit of each byte of `word` that is zero.
#[inline]
fn high_bits_of_zeros(word: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    !(((word & LOW) + LOW) | word | LOW)
}
