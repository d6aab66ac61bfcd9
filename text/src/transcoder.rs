//! Turns texts of any encoding into UTF-8.

use std::fmt;

use encoding_rs::DecoderResult;

use crate::{Encoding, TextError, TextErrorKind};

/// Turns the bytes of a text into UTF-8. Bytes that are not of the encoding are an error, never replaced.
pub struct Transcoder {
    encoding: Encoding,
    /// `None` for ISO 8859-1.
    decoder: Option<encoding_rs::Decoder>,
    num_text_bytes: u64,
    /// Whether invalid bytes were found.
    is_invalid: bool,
}

impl fmt::Debug for Transcoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Transcoder").field(&self.encoding).finish()
    }
}

impl Transcoder {
    /// For a text of `encoding` from its start. A byte order mark is left out.
    #[must_use]
    pub fn new(encoding: Encoding) -> Self {
        Self {
            encoding,
            decoder: encoding.new_decoder(),
            num_text_bytes: 0,
            is_invalid: false,
        }
    }

    /// The UTF-8 of the next piece.
    ///
    /// # Errors
    /// [`TextErrorKind::Encoding`] at the call after the one that returned the text before the invalid bytes.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<u8>, TextError> {
        self.transcode(piece, false)
    }

    /// The rest of the text.
    ///
    /// # Errors
    /// As [`Self::push`]; also if the text ends inside a character.
    pub fn finish(&mut self) -> Result<Vec<u8>, TextError> {
        let rest = self.transcode(&[], true)?;
        if self.is_invalid {
            return Err(self.invalid());
        }
        Ok(rest)
    }

    fn transcode(&mut self, piece: &[u8], is_last: bool) -> Result<Vec<u8>, TextError> {
        if self.is_invalid {
            return Err(self.invalid());
        }
        let text = match &mut self.decoder {
            None => piece
                .iter()
                .copied()
                .map(char::from)
                .collect::<String>()
                .into_bytes(),
            Some(decoder) => {
                let max_bytes = decoder.max_utf8_buffer_length_without_replacement(piece.len());
                let mut text = vec![0; max_bytes.unwrap_or_default()];
                let (result, _, num_bytes) =
                    decoder.decode_to_utf8_without_replacement(piece, &mut text, is_last);
                self.is_invalid = result != DecoderResult::InputEmpty;
                text.truncate(num_bytes);
                text
            }
        };
        self.num_text_bytes += text.len() as u64;
        Ok(text)
    }

    fn invalid(&self) -> TextError {
        TextError::new(TextErrorKind::Encoding(self.encoding), self.num_text_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcoded(label: &str, bytes: &[u8], piece_bytes: usize) -> Result<String, TextError> {
        let mut transcoder = Transcoder::new(Encoding::parse(label).unwrap());
        let mut text = Vec::new();
        for piece in bytes.chunks(piece_bytes) {
            text.extend(transcoder.push(piece)?);
        }
        text.extend(transcoder.finish()?);
        Ok(String::from_utf8(text).unwrap())
    }

    #[test]
    fn texts_become_utf_8_whatever_the_pieces() {
        let text = "größe,€\n😀,x\n";
        let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked = [b"\xff\xfe", utf_16.as_slice()].concat();
        for piece_bytes in 1..8 {
            assert_eq!(transcoded("utf-16le", &utf_16, piece_bytes).unwrap(), text);
            assert_eq!(transcoded("UTF-16LE", &marked, piece_bytes).unwrap(), text);
        }
        assert_eq!(transcoded("latin-1", b"\x80\xfc", 1).unwrap(), "\u{80}ü");
        assert_eq!(transcoded("windows-1252", b"\x80\xfc", 1).unwrap(), "€ü");
        assert_eq!(Encoding::of_mark(&marked), Encoding::parse("utf-16le"));
        assert_eq!(Encoding::of_mark(b"a,b"), None);
        assert_eq!(Encoding::parse("utf-17"), None);
    }

    #[test]
    fn invalid_bytes_are_an_error_behind_the_text_before_them() {
        for piece_bytes in 1..8 {
            let mut transcoder = Transcoder::new(Encoding::parse("shift_jis").unwrap());
            let mut text = Vec::new();
            let error = b"ab\n\xfc\xff\n"
                .chunks(piece_bytes)
                .find_map(|piece| transcoder.push(piece).map(|piece| text.extend(piece)).err());
            let error = error.or_else(|| transcoder.finish().err()).unwrap();
            assert_eq!((text.as_slice(), error.offset_bytes), (&b"ab\n"[..], 3));
        }
        let cut = transcoded("utf-16le", b"a\0\0", 3).unwrap_err();
        assert_eq!(cut.to_string(), "the text is not UTF-16LE");
    }
}
