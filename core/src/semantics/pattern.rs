//! Case-insensitive text search by Unicode's simple case folding, which maps one character to one.

use std::ops::Range;

use memchr::memmem::Finder;

/// A representative of all characters that differ only in case.
fn fold(letter: char) -> char {
    if letter.is_ascii() {
        return letter.to_ascii_lowercase();
    }
    match letter {
        // The dotless i differs from the i. The other three have no single-character capital.
        'ı' => 'ı',
        '\u{1FD3}' => '\u{390}',
        '\u{1FE3}' => '\u{3B0}',
        '\u{FB05}' => '\u{FB06}',
        _ => {
            let upper = only(letter.to_uppercase()).unwrap_or(letter);
            only(upper.to_lowercase()).unwrap_or(upper)
        }
    }
}

fn only(mut letters: impl Iterator<Item = char>) -> Option<char> {
    let first = letters.next();
    first.filter(|_| letters.next().is_none())
}

/// A text to search for.
#[derive(Debug)]
pub struct Pattern {
    /// The text as given, or folded if case does not matter.
    text: String,
    /// The characters of `text`.
    letters: Vec<char>,
    /// Finds the unfolded `text`. It is made once because making it costs more than searching a cell.
    finder: Finder<'static>,
    match_case: bool,
}

impl Pattern {
    /// A pattern for `text`. With `match_case`, upper and lower case differ.
    #[must_use]
    pub fn new(text: &str, match_case: bool) -> Self {
        let letters: Vec<char> = if match_case {
            text.chars().collect()
        } else {
            text.chars().map(fold).collect()
        };
        let text: String = letters.iter().collect();
        Self {
            finder: Finder::new(&text).into_owned(),
            text,
            letters,
            match_case,
        }
    }

    /// The bytes in which [`find_from`](Self::find_from) finds the pattern as if in `texts`, which are
    /// UTF-8; `room` may hold them. `None` if each text must be compared by itself.
    pub fn searchable<'a>(&self, texts: &'a [u8], room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        if self.match_case {
            return Some(texts);
        }
        if !texts.is_ascii() {
            return None;
        }
        room.clear();
        room.extend(texts.iter().map(u8::to_ascii_lowercase));
        Some(room)
    }

    /// Where the pattern is first found in searchable bytes from `start` on, and where it ends.
    #[must_use]
    pub fn find_from(&self, searchable: &[u8], start: usize) -> Option<Range<usize>> {
        let found = start + self.finder.find(&searchable[start..])?;
        Some(found..found + self.text.len())
    }

    /// Whether `text` contains the pattern; `room` is overwritten.
    pub fn is_in(&self, text: &str, room: &mut Vec<char>) -> bool {
        if self.match_case {
            return self.finder.find(text.as_bytes()).is_some();
        }
        if text.is_ascii() {
            return self.text.is_ascii() && has_ascii(text.as_bytes(), self.text.as_bytes());
        }
        room.clear();
        room.extend(text.chars().map(fold));
        let mut runs = room.windows(self.letters.len().max(1));
        runs.any(|run| run == self.letters)
    }
}

/// Case-insensitive search; `lower` has no upper-case letters.
fn has_ascii(text: &[u8], lower: &[u8]) -> bool {
    let Some(&first) = lower.first() else {
        return true;
    };
    let Some(last_start) = text.len().checked_sub(lower.len()) else {
        return false;
    };
    let mut starts = memchr::memchr2_iter(first, first.to_ascii_uppercase(), &text[..=last_start]);
    starts.any(|start| text[start..start + lower.len()].eq_ignore_ascii_case(lower))
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

    #[test]
    fn every_character_folds_as_unicode_says() {
        let class_of = |letter| {
            let mut class = ClassUnicode::new([ClassUnicodeRange::new(letter, letter)]);
            class.case_fold_simple();
            class
        };
        let is_single = |class: &ClassUnicode| class.literal().is_some();
        for letter in '\0'..=char::MAX {
            let class = class_of(letter);
            for range in class.iter() {
                for equal in range.start()..=range.end() {
                    assert_eq!(fold(letter), fold(equal), "{letter:?} {equal:?}");
                }
            }
            // The folded character must be of the same class, so that no two classes become one.
            let folded = fold(letter);
            let is_in = class
                .iter()
                .any(|r| (r.start()..=r.end()).contains(&folded));
            // Or the pair is newer than the Unicode version of the regex library.
            let is_newer = is_single(&class) && is_single(&class_of(folded));
            assert!(is_in || is_newer, "{letter:?} {folded:?}");
        }
    }

    #[test]
    fn patterns_are_found_wherever_they_are() {
        let is_in =
            |pattern: &str, text: &str| Pattern::new(pattern, false).is_in(text, &mut Vec::new());
        assert!(is_in("BeAn", "pinto beans"));
        assert!(is_in("kelvin", "\u{212A}ELVIN"));
        assert!(is_in("ΣΑΣ", "ό σας"));
        assert!(!is_in("STRASSE", "Straße"));
        assert!(!is_in("abc", "ab"));
        assert!(!is_in("é", "e"));
        let exact = |text| Pattern::new("Bean", true).is_in(text, &mut Vec::new());
        assert!(exact("a Bean ü") && !exact("a bean ü"));
        assert!(Pattern::new("aß", true).is_in("Maß", &mut Vec::new()));
    }
}
