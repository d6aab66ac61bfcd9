//! Encodings of a text.

use std::fmt;

use encoding_rs::UTF_8;

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

    /// The encoding of the byte order mark at the start of a text.
    #[must_use]
    pub fn of_mark(start: &[u8]) -> Option<Self> {
        let (named, _) = encoding_rs::Encoding::for_bom(start)?;
        Some(Self(Kind::Named(named)))
    }

    /// A decoder of a text from its start, which leaves out a byte order mark; `None` for ISO 8859-1.
    pub(crate) fn new_decoder(self) -> Option<encoding_rs::Decoder> {
        match self.0 {
            Kind::Latin1 => None,
            Kind::Named(named) => Some(named.new_decoder_with_bom_removal()),
        }
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
