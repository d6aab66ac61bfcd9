//! How a text holds its objects.

use crate::TextOptions;

/// Where the objects stand in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Layout {
    /// One object on each line.
    #[default]
    Lines,
    /// All objects in one array.
    Array,
}

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Options {
    /// Where the objects stand.
    pub layout: Layout,
    /// Whether the words `NaN`, `Infinity` and `-Infinity` are numbers. They are not in JSON.
    pub allows_nan: bool,
}

impl Options {
    /// Options for a text that begins with these bytes: an array if the first character is `[`.
    #[must_use]
    pub fn detect(start: &[u8]) -> Self {
        Self::detect_with(start, &TextOptions::default())
    }

    /// As [`Self::detect`], with what the options say.
    #[must_use]
    pub fn detect_with(start: &[u8], options: &TextOptions) -> Self {
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
        Self {
            layout: if first == Some(&b'[') {
                Layout::Array
            } else {
                Layout::Lines
            },
            allows_nan: options.allows_nan,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_character_tells_the_layout() {
        for start in ["[", " \r\n\t[{", "\u{feff}[", "\u{feff}\n[1"] {
            assert_eq!(
                Options::detect(start.as_bytes()).layout,
                Layout::Array,
                "{start:?}"
            );
        }
        for start in ["", "{", "{\"a\":[", "\u{feff}{", "x[", " "] {
            assert_eq!(
                Options::detect(start.as_bytes()).layout,
                Layout::Lines,
                "{start:?}"
            );
        }
    }
}
