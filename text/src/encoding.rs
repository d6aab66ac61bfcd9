//! Texts that are not UTF-8.

use std::fmt;

use encoding_rs::{DecoderResult, UTF_8, UTF_16BE, UTF_16LE};

use crate::{TextError, TextErrorKind};

/// The bytes that [`Encoding::of_start`] needs.
pub const START_BYTES: usize = 4;

/// How characters are encoded as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Encoding(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// ISO 8859-1: each byte is the character of its number. Browsers read windows-1252 by this name, in
    /// which 0x80 to 0x9f are other characters.
    Latin1,
    /// An encoding of <https://encoding.spec.whatwg.org>.
    Named(&'static encoding_rs::Encoding),
}

impl Encoding {
    /// UTF-8.
    pub const UTF_8: Self = Self(Kind::Named(UTF_8));

    /// The encoding of a label such as `utf-16le`, `latin-1`, `windows-1252` or `shift_jis`, in any case.
    #[must_use]
    pub fn parse(label: &str) -> Option<Self> {
        let label = label.trim().to_ascii_lowercase();
        if matches!(
            label.as_str(),
            "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1"
        ) {
            return Some(Self(Kind::Latin1));
        }
        let named = encoding_rs::Encoding::for_label_no_replacement(label.as_bytes())?;
        Some(Self(Kind::Named(named)))
    }

    /// The encoding that the first [`START_BYTES`] of a text show: that of its byte order mark, or UTF-16 if the
    /// text begins with two ASCII characters of two bytes each.
    #[must_use]
    pub fn of_start(start: &[u8]) -> Option<Self> {
        let is_ascii = |byte: u8| byte != 0 && byte.is_ascii();
        let named = match (encoding_rs::Encoding::for_bom(start), start) {
            (Some((named, _)), _) => named,
            (None, [a, 0, b, 0, ..]) if is_ascii(*a) && is_ascii(*b) => UTF_16LE,
            (None, [0, a, 0, b, ..]) if is_ascii(*a) && is_ascii(*b) => UTF_16BE,
            (None, _) => return None,
        };
        Some(Self(Kind::Named(named)))
    }

    /// A label that [`Self::parse`] knows.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self.0 {
            Kind::Latin1 => "latin-1",
            Kind::Named(named) => named.name(),
        }
    }
}

impl Default for Encoding {
    fn default() -> Self {
        Self::UTF_8
    }
}

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Encoding {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Encoding {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let label = String::deserialize(deserializer)?;
        Self::parse(&label).ok_or_else(|| serde::de::Error::custom("an unknown encoding"))
    }
}

/// Turns the bytes of a text into UTF-8. Bytes that are not of the encoding are an error, never replaced.
pub struct Transcoder {
    /// `None` for ISO 8859-1.
    decoder: Option<encoding_rs::Decoder>,
    num_text_bytes: u64,
    /// Whether invalid bytes were found.
    is_invalid: bool,
}

impl fmt::Debug for Transcoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoding = self.decoder.as_ref().map(encoding_rs::Decoder::encoding);
        f.debug_tuple("Transcoder").field(&encoding).finish()
    }
}

impl Transcoder {
    /// For a text of `encoding` from its start. A byte order mark is left out.
    #[must_use]
    pub fn new(encoding: Encoding) -> Self {
        Self {
            decoder: match encoding.0 {
                Kind::Latin1 => None,
                Kind::Named(named) => Some(named.new_decoder_with_bom_removal()),
            },
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
        let named = self.decoder.as_ref().map(encoding_rs::Decoder::encoding);
        let encoding = Encoding(named.map_or(Kind::Latin1, Kind::Named));
        TextError::new(TextErrorKind::Encoding(encoding), self.num_text_bytes)
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
        assert_eq!(Encoding::parse("utf-17"), None);
    }

    #[test]
    fn the_start_of_a_text_shows_its_encoding() {
        for (start, label) in [
            (b"\xff\xfea\0".as_slice(), Some("utf-16le")),
            (b"\xfe\xff\0a", Some("utf-16be")),
            (b"\xef\xbb\xbf", Some("utf-8")),
            (b"a\0,\0b", Some("utf-16le")),
            (b"\0a\0,", Some("utf-16be")),
            (b"a,b\n", None),
            (b"a\0,", None),
            (b"a\0\0\0", None),
            (b"\xe4\0,\0", None),
            (b"", None),
        ] {
            let expected = label.and_then(Encoding::parse);
            assert_eq!(Encoding::of_start(start), expected, "{start:?}");
        }
    }

    #[test]
    fn an_unknown_label_is_no_encoding() {
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
