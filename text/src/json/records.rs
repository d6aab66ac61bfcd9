//! Finds the records in a text that comes in pieces.

use std::ops::Range;

use super::array::Elements;
use super::options::Layout;
use super::record_sink::RecordSink;
use crate::{Encoding, MAX_RECORD_BYTES, TextError, TextErrorKind};

/// Splits pieces of a text into records.
#[derive(Debug)]
pub(super) struct Records {
    splitter: Splitter,
    is_done: bool,
    error: Option<TextError>,
}

#[derive(Debug)]
enum Splitter {
    Lines(Lines),
    Elements(Elements),
}

impl Records {
    /// Records that begin in a range of the text; see [`Lines::new`]. An array has only one range.
    pub(super) fn new(layout: Layout, range: Range<u64>) -> Self {
        Self {
            splitter: match layout {
                Layout::Lines => Splitter::Lines(Lines::new(range)),
                Layout::Array => Splitter::Elements(Elements::default()),
            },
            is_done: false,
            error: None,
        }
    }

    /// Reads the next bytes; returns true if no more are needed.
    pub(super) fn push(
        &mut self,
        piece: &[u8],
        sink: &mut impl RecordSink,
    ) -> Result<bool, TextError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        if self.is_done {
            return Ok(true);
        }
        let result = match &mut self.splitter {
            Splitter::Lines(lines) => lines.push(piece, sink),
            Splitter::Elements(elements) => elements.push(piece, sink),
        };
        self.keep(result)
    }

    /// Reads the record that the end of the text completes.
    pub(super) fn finish(&mut self, sink: &mut impl RecordSink) -> Result<(), TextError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        if self.is_done {
            return Ok(());
        }
        let result = match &mut self.splitter {
            Splitter::Lines(lines) => lines.finish(sink),
            Splitter::Elements(elements) => elements.finish(),
        };
        self.keep(result.map(|()| true)).map(|_| ())
    }

    fn keep(&mut self, result: Result<bool, TextError>) -> Result<bool, TextError> {
        match &result {
            Ok(is_done) => self.is_done = *is_done,
            Err(error) => self.error = Some(error.clone()),
        }
        result
    }
}

/// Splits a text into lines.
#[derive(Debug)]
struct Lines {
    /// The first line begins behind the next line feed.
    skips_line: bool,
    /// Lines that begin here or later are not read.
    end: u64,
    /// Bytes of text before the next line.
    offset: u64,
    /// The start of the next line.
    pending: Vec<u8>,
}

impl Lines {
    /// Lines that begin in a range of the text. The text is pushed from its start on, or from one byte
    /// before the range's start.
    fn new(range: Range<u64>) -> Self {
        Self {
            skips_line: range.start > 0,
            end: range.end,
            offset: range.start.saturating_sub(1),
            pending: Vec::new(),
        }
    }

    fn push(&mut self, piece: &[u8], sink: &mut impl RecordSink) -> Result<bool, TextError> {
        let mut rest = piece;
        if self.skips_line {
            let skipped = memchr::memchr(b'\n', rest);
            let length = skipped.map_or(rest.len(), |line_feed| line_feed + 1);
            self.offset += length as u64;
            rest = rest.get(length..).unwrap_or_default();
            self.skips_line = skipped.is_none();
            if self.skips_line {
                return Ok(false);
            }
        }
        if self.offset >= self.end {
            return Ok(true);
        }
        if !self.pending.is_empty() {
            let Some(line_feed) = memchr::memchr(b'\n', rest) else {
                return self.keep(rest);
            };
            self.keep(rest.get(..line_feed).unwrap_or_default())?;
            if self.read_pending(sink)? {
                return Ok(true);
            }
            rest = rest.get(line_feed + 1..).unwrap_or_default();
        }
        if let Some(line_feed) = memchr::memrchr(b'\n', rest) {
            if self.read_lines(rest.get(..line_feed).unwrap_or_default(), sink)? {
                return Ok(true);
            }
            rest = rest.get(line_feed + 1..).unwrap_or_default();
        }
        self.keep(rest)
    }

    fn finish(&mut self, sink: &mut impl RecordSink) -> Result<(), TextError> {
        if self.skips_line || self.pending.is_empty() || self.offset >= self.end {
            return Ok(());
        }
        self.read_pending(sink).map(|_| ())
    }

    /// Keeps the start of a line; returns true if it begins behind the range.
    fn keep(&mut self, start: &[u8]) -> Result<bool, TextError> {
        if self.offset >= self.end {
            return Ok(true);
        }
        self.pending.extend_from_slice(start);
        self.check_length(self.pending.len())?;
        Ok(false)
    }

    fn check_length(&self, length: usize) -> Result<(), TextError> {
        if length > MAX_RECORD_BYTES {
            return Err(TextError::new(TextErrorKind::TooLong, self.offset));
        }
        Ok(())
    }

    fn read_pending(&mut self, sink: &mut impl RecordSink) -> Result<bool, TextError> {
        let mut line = std::mem::take(&mut self.pending);
        let result = self.read_lines(&line, sink);
        line.clear();
        self.pending = line;
        result
    }

    /// Reads whole lines, the last without its line feed; returns true if no more are needed.
    fn read_lines(&mut self, lines: &[u8], sink: &mut impl RecordSink) -> Result<bool, TextError> {
        match simdutf8::compat::from_utf8(lines) {
            Ok(lines) => self.read_text(lines, sink),
            Err(error) => self.read_until(lines, error.valid_up_to(), sink),
        }
    }

    fn read_text(&mut self, lines: &str, sink: &mut impl RecordSink) -> Result<bool, TextError> {
        let bytes = lines.as_bytes();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
            if self.read_line(lines.get(start..end).unwrap_or_default(), sink)? {
                return Ok(true);
            }
            start = end + 1;
        }
        Ok(false)
    }

    fn read_line(&mut self, line: &str, sink: &mut impl RecordSink) -> Result<bool, TextError> {
        if self.offset >= self.end {
            return Ok(true);
        }
        self.check_length(line.len())?;
        let text = if self.offset == 0 {
            line.strip_prefix('\u{feff}').unwrap_or(line)
        } else {
            line
        };
        let is_blank = text
            .bytes()
            .all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        let is_done = !is_blank && sink.record(text).map_err(|fault| fault.at(self.offset))?;
        self.offset += line.len() as u64 + 1;
        Ok(is_done)
    }

    /// Reads the lines before the one that has an invalid byte.
    fn read_until(
        &mut self,
        lines: &[u8],
        invalid: usize,
        sink: &mut impl RecordSink,
    ) -> Result<bool, TextError> {
        let base = self.offset;
        let (valid, rest) = lines.split_at_checked(invalid).unwrap_or((lines, &[]));
        let mut line_start = 0;
        if let Some(line_feed) = memchr::memrchr(b'\n', valid) {
            line_start = line_feed + 1;
            if self.read_lines(valid.get(..line_feed).unwrap_or_default(), sink)? {
                return Ok(true);
            }
        }
        if self.offset >= self.end {
            return Ok(true);
        }
        let line_end = memchr::memchr(b'\n', rest).map_or(lines.len(), |end| invalid + end);
        self.check_length(line_end - line_start)?;
        Err(TextError::new(
            TextErrorKind::Encoding(Encoding::UTF_8),
            base + invalid as u64,
        ))
    }
}
