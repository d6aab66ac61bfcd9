//! Whether a CSV text can be read in byte ranges.

use crate::csv::dialect::{Dialect, Syntax};

/// Tells whether any line end of a text stands in quotes. If none does, every line end ends a record,
/// so that a [`Decoder`](crate::csv::Decoder) can begin behind any of them.
#[derive(Debug)]
pub struct QuoteScan {
    syntax: Syntax,
    state: State,
    /// The last byte of the pieces before; a line end before the first piece.
    last: u8,
    num_bytes: u64,
    has_quoted_line_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Outside,
    /// In a comment line.
    Comment,
    Inside,
    /// Behind a quote inside quotes that closes them, unless another follows.
    AfterQuote,
    /// Inside quotes behind the escape byte.
    AfterEscape,
}

impl QuoteScan {
    /// Scans a text from its start.
    #[must_use]
    pub fn new(dialect: &Dialect) -> Self {
        let syntax = Syntax::new(dialect);
        Self {
            last: syntax.line_end,
            syntax,
            state: State::Outside,
            num_bytes: 0,
            has_quoted_line_end: false,
        }
    }

    /// Whether a line end stands in quotes in the pieces so far. Once it does, more text changes nothing.
    #[must_use]
    pub fn has_quoted_line_end(&self) -> bool {
        self.has_quoted_line_end
    }

    /// Scans the next piece of the text.
    pub fn push(&mut self, piece: &[u8]) {
        let Some(quote) = self.syntax.quote else {
            return;
        };
        let mut rest = self.without_byte_order_mark(piece);
        while !rest.is_empty() && !self.has_quoted_line_end {
            rest = match self.state {
                State::Outside => self.outside(rest, quote),
                State::Comment => self.comment(rest),
                State::Inside => self.inside(rest, quote),
                State::AfterQuote => self.after_quote(rest, quote),
                State::AfterEscape => self.after_escape(rest, quote),
            };
        }
    }

    /// Skips those bytes of the piece that are of the mark. A part of a mark that is not complete has no
    /// special bytes of any dialect in ASCII.
    fn without_byte_order_mark<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        let mut rest = piece;
        while let Some((first, behind)) = rest.split_first() {
            let expected = usize::try_from(self.num_bytes)
                .ok()
                .and_then(|at| MARK.get(at));
            if expected != Some(first) {
                self.num_bytes = u64::MAX;
                break;
            }
            self.num_bytes += 1;
            rest = behind;
        }
        rest
    }

    fn advance<'a>(&mut self, text: &'a [u8], num_bytes: usize) -> &'a [u8] {
        if let Some(last) = num_bytes.checked_sub(1).and_then(|at| text.get(at)) {
            self.last = *last;
        }
        text.get(num_bytes..).unwrap_or_default()
    }

    fn outside<'a>(&mut self, text: &'a [u8], quote: u8) -> &'a [u8] {
        let found = match self.syntax.comment {
            None => memchr::memchr(quote, text),
            Some(comment) => {
                if self.last == self.syntax.line_end && text.first() == Some(&comment) {
                    self.state = State::Comment;
                    return self.advance(text, 1);
                }
                memchr::memchr2(quote, self.syntax.line_end, text)
            }
        };
        let Some(at) = found else {
            return self.advance(text, text.len());
        };
        self.advance(text, at);
        let starts_field = self.last == self.syntax.delimiter || self.last == self.syntax.line_end;
        if text.get(at) == Some(&quote) && starts_field {
            self.state = State::Inside;
        }
        self.advance(text, at + 1)
    }

    fn comment<'a>(&mut self, text: &'a [u8]) -> &'a [u8] {
        match memchr::memchr(self.syntax.line_end, text) {
            None => self.advance(text, text.len()),
            Some(at) => {
                self.state = State::Outside;
                self.advance(text, at + 1)
            }
        }
    }

    fn inside<'a>(&mut self, text: &'a [u8], quote: u8) -> &'a [u8] {
        let escape = self.syntax.escape.unwrap_or(quote);
        let Some(at) = memchr::memchr3(quote, escape, self.syntax.line_end, text) else {
            return self.advance(text, text.len());
        };
        match text.get(at) {
            Some(&byte) if byte == quote => self.state = State::AfterQuote,
            Some(&byte) if byte == escape => self.state = State::AfterEscape,
            _ => self.has_quoted_line_end = true,
        }
        self.advance(text, at + 1)
    }

    fn after_quote<'a>(&mut self, text: &'a [u8], quote: u8) -> &'a [u8] {
        if self.syntax.escape.is_none() && text.first() == Some(&quote) {
            self.state = State::Inside;
            return self.advance(text, 1);
        }
        self.state = State::Outside;
        text
    }

    fn after_escape<'a>(&mut self, text: &'a [u8], quote: u8) -> &'a [u8] {
        self.state = State::Inside;
        let next = text.first().copied();
        let is_pair = next == Some(quote) || next == self.syntax.escape;
        self.advance(text, usize::from(is_pair))
    }
}

#[cfg(test)]
mod tests;
