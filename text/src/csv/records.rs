//! Splits text that arrives in pieces into blocks of records.

use std::ops::Range;

use crate::csv::dialect::{Dialect, Syntax};
use crate::csv::scan::{Bounds, Scan, Span, Stop, scan};
use crate::{Encoding, MAX_RECORD_BYTES, TextError, TextErrorKind};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Records that follow each other. Their fields are spans of one text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<'a> {
    /// The header's values; empty without one.
    pub(crate) header: &'a [String],
    pub(crate) text: &'a [u8],
    /// Fields of the first record, of the second, and so on.
    spans: &'a [Span],
    pub(crate) num_fields: usize,
    pub(crate) num_rows: usize,
    /// Bytes before `text`.
    offset_bytes: u64,
}

impl<'a> Block<'a> {
    /// The spans of one field of all records.
    #[inline]
    pub(crate) fn column(&self, index: usize) -> ColumnSpans<'a> {
        ColumnSpans {
            spans: self.spans,
            next: index,
            step: self.num_fields.max(1),
        }
    }

    /// The spans of all fields of a record.
    pub(crate) fn row(&self, row: usize) -> &'a [Span] {
        let start = row * self.num_fields;
        let spans = self.spans.get(start..start + self.num_fields);
        spans.unwrap_or_default()
    }

    /// Bytes before a record.
    pub(crate) fn row_offset(&self, row: usize) -> u64 {
        let first = self.row(row).first();
        let begin = first.map_or(0, |span| span.start() - usize::from(span.is_quoted()));
        self.offset_bytes + begin as u64
    }

    /// The values of a record.
    pub(crate) fn row_values(&self, row: usize, syntax: &Syntax) -> Vec<String> {
        let spans = self.row(row).iter();
        spans
            .map(|span| {
                let bytes = span.bytes(self.text);
                let mut value = Vec::new();
                if span.is_escaped() {
                    syntax.unescape(bytes, &mut value);
                } else {
                    value.extend_from_slice(bytes);
                }
                String::from_utf8_lossy(&value).into_owned()
            })
            .collect()
    }

    /// Where the first bytes are that are not UTF-8, among the first `num_bytes`.
    fn invalid_at(&self, num_bytes: usize, is_ascii_syntax: bool) -> Option<usize> {
        let text = self.text.get(..num_bytes).unwrap_or_default();
        if is_ascii_syntax {
            let is_valid = simdutf8::basic::from_utf8(text).is_ok();
            return if is_valid { None } else { valid_up_to(text) };
        }
        let mut spans = self.spans.iter();
        spans.find_map(|span| Some(span.start() + valid_up_to(span.bytes(text))?))
    }
}

/// The spans of one field of all records of a block.
#[derive(Debug)]
pub(crate) struct ColumnSpans<'a> {
    spans: &'a [Span],
    next: usize,
    step: usize,
}

impl Iterator for ColumnSpans<'_> {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        let span = self.spans.get(self.next)?;
        self.next += self.step;
        Some(*span)
    }
}

fn valid_up_to(bytes: &[u8]) -> Option<usize> {
    let error = std::str::from_utf8(bytes).err()?;
    Some(error.valid_up_to())
}

/// What the splitter reads next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The rest of a line that another range of the text holds.
    RestOfLine,
    /// The byte order mark.
    Start,
    /// The header, or the first record if the number of fields is not known.
    First,
    Rows,
}

/// Splits text into records.
#[derive(Debug)]
pub(crate) struct Splitter {
    pub(crate) syntax: Syntax,
    has_header: bool,
    num_fields: Option<usize>,
    header: Option<Vec<String>>,
    phase: Phase,
    buffer: Vec<u8>,
    /// The begin of the line to read next in `buffer`.
    begin: usize,
    /// Bytes of text before `buffer`.
    offset_bytes: u64,
    /// Lines that begin here or later are not read.
    end: u64,
    /// A record is not read again before this many of its bytes are there. Doubling it keeps the time
    /// linear in the bytes for pieces of any size.
    retry_bytes: usize,
    is_final: bool,
    is_done: bool,
    error: Option<TextError>,
    spans: Vec<Span>,
}

impl Splitter {
    /// Reads the records that begin in `range`. `num_fields`: fields of every record; `None`: as many
    /// as the first has.
    pub(crate) fn new(dialect: &Dialect, num_fields: Option<usize>, range: Range<u64>) -> Self {
        let phase = if range.start > 0 {
            Phase::RestOfLine
        } else {
            Phase::Start
        };
        Self {
            syntax: Syntax::new(dialect),
            has_header: dialect.has_header,
            num_fields,
            header: None,
            phase,
            buffer: Vec::new(),
            begin: 0,
            offset_bytes: range.start.saturating_sub(1),
            end: range.end,
            retry_bytes: 0,
            is_final: false,
            is_done: range.is_empty(),
            error: None,
            spans: Vec::new(),
        }
    }

    /// The header's values, once it was read.
    pub(crate) fn header(&self) -> Option<&[String]> {
        self.header.as_deref()
    }

    /// Fields of every record, once they are known.
    pub(crate) fn num_fields(&self) -> Option<usize> {
        self.num_fields
    }

    /// Whether no more text is wanted.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Reads nothing more.
    pub(crate) fn stop(&mut self) {
        self.is_done = true;
        self.error = None;
        self.buffer = Vec::new();
        self.begin = 0;
    }

    /// Adds the next piece of the text. All blocks of the pieces before it must have been taken.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        self.offset_bytes += self.begin as u64;
        self.buffer.drain(..self.begin);
        self.begin = 0;
        self.buffer.extend_from_slice(piece);
    }

    /// Says that nothing follows the text.
    pub(crate) fn finish(&mut self) {
        self.is_final = true;
    }

    /// The next records, at most `max_rows`; `None` if that takes more text.
    ///
    /// # Errors
    /// The first wrong record, after the blocks of all records before it.
    pub(crate) fn next_block(&mut self, max_rows: usize) -> Result<Option<Block<'_>>, TextError> {
        if let Some(error) = self.error.take() {
            self.is_done = true;
            return Err(error);
        }
        if self.is_done || !self.is_worth_reading() || !self.read_prelude()? {
            return Ok(None);
        }
        let max_begin = self
            .end
            .saturating_sub(self.offset_bytes + self.begin as u64);
        let bounds = Bounds {
            num_fields: self.num_fields,
            skips_blank_lines: self.num_fields != Some(1),
            max_rows,
            max_begin: usize::try_from(max_begin).unwrap_or(usize::MAX),
            is_final: self.is_final,
        };
        let (begin, scan) = self.scan(&bounds);
        let num_rows = self.check(begin, scan)?;
        Ok((num_rows > 0).then(|| self.block(begin, num_rows)))
    }

    fn is_worth_reading(&self) -> bool {
        let num_bytes = self.buffer.len() - self.begin;
        self.is_final || num_bytes >= self.retry_bytes.min(MAX_RECORD_BYTES + 1)
    }

    /// Reads what stands before the rows. Returns false if that takes more text.
    fn read_prelude(&mut self) -> Result<bool, TextError> {
        if self.phase == Phase::RestOfLine {
            self.skip_rest_of_line();
        }
        if self.phase == Phase::Start {
            self.skip_byte_order_mark();
        }
        if self.phase == Phase::First {
            self.read_first()?;
        }
        Ok(self.phase == Phase::Rows)
    }

    fn skip_rest_of_line(&mut self) {
        let text = self.buffer.get(self.begin..).unwrap_or_default();
        match memchr::memchr(self.syntax.line_end, text) {
            Some(at) => {
                self.begin += at + 1;
                self.phase = Phase::Rows;
            }
            None => self.begin = self.buffer.len(),
        }
    }

    fn skip_byte_order_mark(&mut self) {
        if self.buffer.starts_with(BYTE_ORDER_MARK) {
            self.begin = BYTE_ORDER_MARK.len();
            // The first line begins at 0, so that the range of the first bytes has it.
            self.end = self.end.max(self.begin as u64 + 1);
        } else if BYTE_ORDER_MARK.starts_with(&self.buffer) && !self.is_final {
            return;
        }
        let is_header_next = self.has_header || self.num_fields.is_none();
        self.phase = if is_header_next {
            Phase::First
        } else {
            Phase::Rows
        };
    }

    /// Reads the header; without one, counts the fields of the first record.
    fn read_first(&mut self) -> Result<(), TextError> {
        let bounds = Bounds {
            num_fields: self.num_fields,
            skips_blank_lines: true,
            max_rows: 1,
            max_begin: usize::MAX,
            is_final: self.is_final,
        };
        let (begin, scan) = self.scan(&bounds);
        if self.check(begin, scan)? == 0 {
            if self.is_final {
                return Err(self.fail(TextError::new(TextErrorKind::Empty, 0)));
            }
            if !self.has_header {
                // Blank lines before the first record are rows if it has one field.
                self.begin = begin;
                self.retry_bytes = 2 * (self.buffer.len() - begin);
            }
            return Ok(());
        }
        let block = self.block(begin, 1);
        let (num_fields, header) = (block.num_fields, block.row_values(0, &self.syntax));
        self.num_fields = Some(num_fields);
        if self.has_header {
            self.header = Some(header);
        } else {
            self.begin = begin;
        }
        self.phase = Phase::Rows;
        Ok(())
    }

    fn scan(&mut self, bounds: &Bounds) -> (usize, Scan) {
        self.spans.clear();
        let text = self.buffer.get(self.begin..).unwrap_or_default();
        (
            self.begin,
            scan(&self.syntax, text, bounds, &mut self.spans),
        )
    }

    /// Moves behind the records that were read and are UTF-8; returns their number. Keeps the error
    /// behind them for the next call, or returns it if there are none.
    fn check(&mut self, begin: usize, scan: Scan) -> Result<usize, TextError> {
        self.begin = begin + scan.end;
        self.retry_bytes = 0;
        let offset_bytes = self.offset_bytes + self.begin as u64;
        match scan.stop {
            Stop::Full => {}
            Stop::TextEnd if self.is_final => self.is_done = true,
            Stop::TextEnd => self.retry_bytes = 2 * (self.buffer.len() - self.begin),
            Stop::MaxBegin => self.is_done = true,
            Stop::Bad(kind) => self.error = Some(TextError::new(kind, offset_bytes)),
        }
        let block = self.block(begin, scan.num_rows);
        let invalid = block.invalid_at(scan.end, self.syntax.is_ascii());
        let mut num_rows = scan.num_rows;
        if let Some(at) = invalid {
            let (valid_rows, error) = encoding_error(&block, at);
            num_rows = valid_rows;
            self.is_done = false;
            self.error = Some(error);
        }
        match self.error.take_if(|_| num_rows == 0) {
            Some(error) => Err(self.fail(error)),
            None => Ok(num_rows),
        }
    }

    fn fail(&mut self, error: TextError) -> TextError {
        self.is_done = true;
        error
    }

    fn block(&self, begin: usize, num_rows: usize) -> Block<'_> {
        let num_fields = match self.num_fields {
            Some(num_fields) => num_fields,
            None => self.spans.len(),
        };
        Block {
            header: self.header.as_deref().unwrap_or_default(),
            text: self.buffer.get(begin..).unwrap_or_default(),
            spans: self.spans.get(..num_rows * num_fields).unwrap_or_default(),
            num_fields,
            num_rows,
            offset_bytes: self.offset_bytes + begin as u64,
        }
    }
}

/// The number of records before the invalid bytes at `at`, and the error: at the record with those
/// bytes, or at the bytes if they are in no record.
fn encoding_error(block: &Block<'_>, at: usize) -> (usize, TextError) {
    let is_before = |row: usize| block.row(row).last().is_none_or(|span| span.end() <= at);
    let num_rows = (0..block.num_rows)
        .take_while(|row| is_before(*row))
        .count();
    let invalid = block.offset_bytes + at as u64;
    let record = block.row_offset(num_rows);
    let offset_bytes = if num_rows < block.num_rows {
        record.min(invalid)
    } else {
        invalid
    };
    (
        num_rows,
        TextError::new(TextErrorKind::Encoding(Encoding::UTF_8), offset_bytes),
    )
}

#[cfg(test)]
mod tests;
