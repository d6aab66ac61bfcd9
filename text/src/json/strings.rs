//! The inside of JSON strings: where they end, and what their escapes stand for.

use super::fault::{Fault, Parsed};

/// The first position from `start` on of a quote, a backslash or a control character.
#[inline]
pub(super) fn find_special(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let special = special_bytes(u64::from_le_bytes(*chunk));
        if special != 0 {
            return Some(at + (special.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    let rest = bytes.get(at..)?;
    let found = rest
        .iter()
        .position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20);
    found.map(|index| at + index)
}

/// A word whose lowest set bit is in the first byte of `word` that is special.
#[inline]
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word;
    let quotes = zero_bytes(word ^ (ONES * b'"' as u64));
    let backslashes = zero_bytes(word ^ (ONES * b'\\' as u64));
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (quotes | backslashes | controls) & HIGHS
}

/// Gives the text of a string between its quotes to `write`, with its escapes replaced.
pub(super) fn unescape(raw: &str, mut write: impl FnMut(&str)) -> Parsed<()> {
    let mut rest = raw;
    while let Some((plain, escape)) = rest.split_once('\\') {
        write(plain);
        let (character, after) = read_escape(escape)?;
        write(character.encode_utf8(&mut [0; 4]));
        rest = after;
    }
    write(rest);
    Ok(())
}

/// The character of the escape whose backslash was read, and the text behind it.
fn read_escape(text: &str) -> Parsed<(char, &str)> {
    let mut characters = text.chars();
    let character = match characters.next() {
        Some('"') => '"',
        Some('\\') => '\\',
        Some('/') => '/',
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('u') => return read_unicode_escape(characters.as_str()),
        Some(other) => {
            return Err(Fault::json(format!(
                "expected an escape, found \"\\{}\"",
                other.escape_debug()
            )));
        }
        None => {
            return Err(Fault::json(
                "expected an escape, found the end of the string",
            ));
        }
    };
    Ok((character, characters.as_str()))
}

/// The character of one or two escapes, of which `\u` was read, and the text behind it.
fn read_unicode_escape(text: &str) -> Parsed<(char, &str)> {
    let (unit, rest) = read_hex_digits(text)?;
    if let Some(character) = char::from_u32(unit) {
        return Ok((character, rest));
    }
    let unpaired = || {
        Fault::json(format!(
            "expected a pair of surrogates, found \"\\u{unit:04x}\" alone"
        ))
    };
    let (low, rest) = read_hex_digits(rest.strip_prefix("\\u").ok_or_else(unpaired)?)?;
    if !(0xd800..0xdc00).contains(&unit) || !(0xdc00..0xe000).contains(&low) {
        return Err(unpaired());
    }
    let scalar = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    Ok((char::from_u32(scalar).ok_or_else(unpaired)?, rest))
}

fn read_hex_digits(text: &str) -> Parsed<(u32, &str)> {
    let wrong = || Fault::json("expected four hexadecimal digits behind \"\\u\"");
    let (digits, rest) = text.split_at_checked(4).ok_or_else(wrong)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    let unit = u32::from_str_radix(digits, 16).map_err(|_| wrong())?;
    Ok((unit, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unescaped(raw: &str) -> Option<String> {
        let mut text = String::new();
        unescape(raw, |part| text.push_str(part))
            .ok()
            .map(|()| text)
    }

    #[test]
    fn special_bytes_are_found_at_every_position() {
        for special in [b'"', b'\\', 0, 0x1f, b'\n'] {
            for length in 0..40 {
                for at in 0..length {
                    for filler in [b' ', b'a', 0x21, 0x23, 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
                        let mut bytes = vec![filler; length];
                        assert_eq!(find_special(&bytes, 0), None, "{filler}");
                        bytes[at] = special;
                        bytes[length - 1] = special;
                        assert_eq!(
                            find_special(&bytes, 0),
                            Some(at),
                            "{filler} {special} {length}"
                        );
                        assert_eq!(find_special(&bytes, at), Some(at));
                    }
                }
            }
        }
        assert_eq!(find_special(b"abc", 7), None);
    }

    #[test]
    fn escapes_stand_for_their_characters() {
        assert_eq!(
            unescaped(r#"a\"\\\/\b\f\n\r\tz"#).unwrap(),
            "a\"\\/\u{8}\u{c}\n\r\tz"
        );
        assert_eq!(unescaped(r"\u0041\u00e9\u20AC\u0000").unwrap(), "Aé€\0");
        assert_eq!(unescaped(r"\ud83d\ude00!").unwrap(), "😀!");
        assert_eq!(unescaped("é€").unwrap(), "é€");
    }

    #[test]
    fn broken_escapes_and_unpaired_surrogates_are_errors() {
        for raw in [
            r"\x",
            r"\",
            r"\u",
            r"\u12",
            r"\u12g4",
            r"\u+123",
            r"\ud83d",
            r"\ud83d\n",
            r"\ud83dx",
            r"\ude00",
            r"\ude00\ud83d",
            r"\ud83d\ud83d",
            r"\ud83d\u0041",
            r"\u12é",
            r"\é",
        ] {
            assert!(unescaped(raw).is_none(), "{raw}");
        }
    }
}
