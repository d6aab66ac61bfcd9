//! Finds the elements of an array that comes in pieces.

use super::fault::Fault;
use super::record_sink::RecordSink;
use crate::{Encoding, MAX_RECORD_BYTES, TextError, TextErrorKind};

const BYTE_ORDER_MARK: [u8; 3] = *b"\xef\xbb\xbf";

/// Splits one array of objects into its elements.
///
/// An element ends where its braces and brackets are closed; whether they match is not checked here.
#[derive(Debug, Default)]
pub(super) struct Elements {
    position: Position,
    /// Bytes of text before the next piece.
    offset: u64,
    /// Bytes of text before the element.
    element_offset: u64,
    /// The start of the element.
    pending: Vec<u8>,
    /// Open braces and brackets of the element.
    depth: usize,
    /// Bytes of a byte order mark that were read.
    mark_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Position {
    /// Before the array's bracket.
    #[default]
    Start,
    /// Behind the bracket.
    First,
    /// Behind a comma.
    Next,
    /// In an element, and not in a string.
    Element,
    String,
    /// Behind a backslash in a string.
    Escape,
    /// Behind an element.
    Behind,
    /// Behind the array.
    End,
}

impl Elements {
    pub(super) fn push(
        &mut self,
        piece: &[u8],
        sink: &mut impl RecordSink,
    ) -> Result<bool, TextError> {
        // The start of the element in the piece.
        let mut start = 0;
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            match self.position {
                Position::Element => {
                    at += 1;
                    if self.read_structure(byte) {
                        let end = piece.get(start..at).unwrap_or_default();
                        if self.read_element(end, sink)? {
                            return Ok(true);
                        }
                        start = at;
                    }
                }
                Position::String => at = self.read_string(piece, at),
                Position::Escape => {
                    self.position = Position::String;
                    at += 1;
                }
                _ => {
                    if byte == b'{' {
                        start = at;
                    }
                    self.read_between(byte, self.offset + at as u64)?;
                    at += 1;
                }
            }
        }
        self.offset += piece.len() as u64;
        if self.is_in_element() {
            self.pending
                .extend_from_slice(piece.get(start..).unwrap_or_default());
            self.check_length(self.pending.len())?;
        }
        Ok(false)
    }

    pub(super) fn finish(&mut self) -> Result<(), TextError> {
        let (expected, offset) = match self.position {
            Position::End => return Ok(()),
            Position::Start => ("\"[\"", self.offset),
            Position::First => ("an object or \"]\"", self.offset),
            Position::Next => ("an object", self.offset),
            Position::Behind => ("\",\" or \"]\"", self.offset),
            _ => ("the end of an object", self.element_offset),
        };
        Err(Fault::json(format!("expected {expected}, found the end of the text")).at(offset))
    }

    fn is_in_element(&self) -> bool {
        matches!(
            self.position,
            Position::Element | Position::String | Position::Escape
        )
    }

    /// Reads a byte outside of elements.
    fn read_between(&mut self, byte: u8, offset: u64) -> Result<(), TextError> {
        if self.position == Position::Start && self.accept_mark(byte, offset) {
            return Ok(());
        }
        if matches!(self.mark_bytes, 1 | 2) {
            return Err(TextError::new(TextErrorKind::Encoding(Encoding::UTF_8), 0));
        }
        let expected = match (self.position, byte) {
            (_, b' ' | b'\t' | b'\r' | b'\n') => return Ok(()),
            (Position::Start, b'[') => return self.move_to(Position::First),
            (Position::First | Position::Next, b'{') => {
                self.element_offset = offset;
                self.depth = 1;
                return self.move_to(Position::Element);
            }
            (Position::Behind, b',') => return self.move_to(Position::Next),
            (Position::First | Position::Behind, b']') => return self.move_to(Position::End),
            (Position::Start, _) => "\"[\"",
            (Position::First, _) => "an object or \"]\"",
            (Position::Next, _) => "an object",
            (Position::Behind, _) => "\",\" or \"]\"",
            _ => "the end of the text",
        };
        let found = byte.escape_ascii();
        Err(Fault::json(format!("expected {expected}, found \"{found}\"")).at(offset))
    }

    fn move_to(&mut self, position: Position) -> Result<(), TextError> {
        self.position = position;
        Ok(())
    }

    /// Whether a byte before the array is the next one of a byte order mark at the text's start.
    fn accept_mark(&mut self, byte: u8, offset: u64) -> bool {
        let is_next = BYTE_ORDER_MARK.get(self.mark_bytes) == Some(&byte);
        let is_mark = is_next && offset == self.mark_bytes as u64;
        self.mark_bytes += usize::from(is_mark);
        is_mark
    }

    /// Reads a byte of an element outside of strings; returns true if the element ends with it.
    #[inline]
    fn read_structure(&mut self, byte: u8) -> bool {
        match byte {
            b'"' => self.position = Position::String,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth -= 1;
                if self.depth == 0 {
                    self.position = Position::Behind;
                    return true;
                }
            }
            _ => {}
        }
        false
    }

    /// Reads the piece up to the next quote or backslash of a string; returns the position behind it.
    fn read_string(&mut self, piece: &[u8], at: usize) -> usize {
        let rest = piece.get(at..).unwrap_or_default();
        match memchr::memchr2(b'"', b'\\', rest) {
            Some(found) => {
                let is_quote = rest.get(found) == Some(&b'"');
                self.position = if is_quote {
                    Position::Element
                } else {
                    Position::Escape
                };
                at + found + 1
            }
            None => piece.len(),
        }
    }

    /// Reads the element that `end` completes.
    fn read_element(&mut self, end: &[u8], sink: &mut impl RecordSink) -> Result<bool, TextError> {
        if self.pending.is_empty() {
            return self.give(end, sink);
        }
        self.pending.extend_from_slice(end);
        let mut element = std::mem::take(&mut self.pending);
        let result = self.give(&element, sink);
        element.clear();
        self.pending = element;
        result
    }

    fn give(&self, element: &[u8], sink: &mut impl RecordSink) -> Result<bool, TextError> {
        self.check_length(element.len())?;
        let text = simdutf8::compat::from_utf8(element).map_err(|error| {
            let offset = self.element_offset + error.valid_up_to() as u64;
            TextError::new(TextErrorKind::Encoding(Encoding::UTF_8), offset)
        })?;
        sink.record(text)
            .map_err(|fault| fault.at(self.element_offset))
    }

    fn check_length(&self, length: usize) -> Result<(), TextError> {
        if length > MAX_RECORD_BYTES {
            return Err(TextError::new(TextErrorKind::TooLong, self.element_offset));
        }
        Ok(())
    }
}
