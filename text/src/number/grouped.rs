//! Numbers with groups of digits and other decimal signs, rewritten as [`Number`](super::Number) reads them.

use std::net::Ipv4Addr;

use crate::notation::{DecimalSign, Thousands};

/// The most bytes of a rewritten number. Longer ones have more digits than any type holds.
const MAX_BYTES: usize = 64;

const SPACES: [&[u8]; 4] = [
    b" ",
    "\u{a0}".as_bytes(),
    "\u{202f}".as_bytes(),
    "\u{2009}".as_bytes(),
];
const APOSTROPHES: [&[u8]; 2] = [b"'", "\u{2019}".as_bytes()];
const MINUS: &[u8] = "\u{2212}".as_bytes();

/// A number with a minus, digits and a point.
#[derive(Debug)]
pub(crate) struct PlainNumber {
    bytes: [u8; MAX_BYTES],
    len: usize,
}

impl PlainNumber {
    /// Rewrites `1.234,5`, `1 234`, `1'234.50`, `1,23,456` or `−5`, for example. `None` if `value` is not written so;
    /// the result need not be a number.
    ///
    /// Groups have three digits each; with commas, all but the last one can have two, as in India. Groups that are an
    /// IPv4 address are no number.
    pub(crate) fn parse(value: &[u8], decimal: DecimalSign, thousands: Thousands) -> Option<Self> {
        let mut plain = Self {
            bytes: [0; MAX_BYTES],
            len: 0,
        };
        let mut rest = value;
        if let Some(behind) = strip_any(value, &[b"-", MINUS]) {
            plain.push(b"-")?;
            rest = behind;
        }
        let mut groups = Groups::default();
        let mut separator: Option<&[u8]> = None;
        loop {
            let num_digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (digits, behind) = rest.split_at_checked(num_digits)?;
            plain.push(digits)?;
            groups.push(num_digits)?;
            let Some(found) = separator_at(behind, decimal, thousands) else {
                rest = behind;
                break;
            };
            if *separator.get_or_insert(found) != found {
                return None;
            }
            rest = behind.get(found.len()..)?;
        }
        if separator.is_some() {
            let is_address = groups.count == 4
                && separator == Some(b".")
                && std::str::from_utf8(value).is_ok_and(|text| text.parse::<Ipv4Addr>().is_ok());
            if !groups.are_thousands(separator == Some(b","))
                || is_address
                || matches!(rest, [b'e' | b'E', ..])
            {
                return None;
            }
        }
        match (rest, decimal) {
            ([], _) => return Some(plain),
            ([b'.', ..], DecimalSign::Point) | ([b',', ..], DecimalSign::Comma) => {
                plain.push(b".")?;
                rest = rest.get(1..)?;
            }
            ([b'e' | b'E', ..], _) => {}
            _ => return None,
        }
        plain.push(rest)?;
        Some(plain)
    }

    pub(crate) fn text(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.len.checked_add(bytes.len())?;
        self.bytes.get_mut(self.len..end)?.copy_from_slice(bytes);
        self.len = end;
        Some(())
    }
}

/// The lengths of groups of digits.
#[derive(Debug, Default)]
struct Groups {
    count: usize,
    first: usize,
    last: usize,
    /// Whether all groups but the first and the last have three digits, or two.
    are_threes: bool,
    are_twos: bool,
}

impl Groups {
    fn push(&mut self, num_digits: usize) -> Option<()> {
        match self.count {
            0 => {
                *self = Self {
                    first: num_digits,
                    are_threes: true,
                    are_twos: true,
                    ..Self::default()
                }
            }
            1 => {}
            _ => {
                self.are_threes &= self.last == 3;
                self.are_twos &= self.last == 2;
            }
        }
        self.count += 1;
        self.last = num_digits;
        (num_digits > 0).then_some(())
    }

    fn are_thousands(&self, may_be_indian: bool) -> bool {
        let is_western = self.are_threes && self.first <= 3;
        let is_indian = may_be_indian && self.are_twos && self.first <= 2;
        self.count > 1 && self.last == 3 && (is_western || is_indian)
    }
}

fn strip_any<'a>(text: &'a [u8], prefixes: &[&[u8]]) -> Option<&'a [u8]> {
    prefixes
        .iter()
        .find_map(|prefix| text.strip_prefix(*prefix))
}

/// The separator of groups with which `text` begins, if a digit follows.
fn separator_at(text: &[u8], decimal: DecimalSign, thousands: Thousands) -> Option<&[u8]> {
    let first = text.first()?;
    let is_any = thousands == Thousands::Any;
    let signs: &[&[u8]] = match first {
        b'.' if decimal == DecimalSign::Comma && (is_any || thousands == Thousands::Point) => {
            &[b"."]
        }
        b',' if decimal == DecimalSign::Point && (is_any || thousands == Thousands::Comma) => {
            &[b","]
        }
        b' ' | 0xc2 | 0xe2
            if is_any || thousands == Thousands::Space || thousands == Thousands::Apostrophe =>
        {
            match thousands {
                Thousands::Apostrophe => &APOSTROPHES,
                _ if is_any && strip_any(text, &APOSTROPHES).is_some() => &APOSTROPHES,
                _ => &SPACES,
            }
        }
        b'\'' if is_any || thousands == Thousands::Apostrophe => &APOSTROPHES,
        _ => return None,
    };
    let sign = signs.iter().find(|sign| text.starts_with(sign))?;
    let digit = text.get(sign.len())?;
    digit
        .is_ascii_digit()
        .then(|| text.get(..sign.len()))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, decimal: DecimalSign) -> Option<String> {
        let plain = PlainNumber::parse(text.as_bytes(), decimal, Thousands::Any)?;
        Some(String::from_utf8_lossy(plain.text()).into_owned())
    }

    #[test]
    fn groups_and_signs_are_removed() {
        use DecimalSign::{Comma, None, Point};
        for (text, decimal, expected) in [
            ("2.535,04", Comma, "2535.04"),
            ("1 234,5", Comma, "1234.5"),
            ("1\u{202f}234\u{202f}567,5", Comma, "1234567.5"),
            ("1'234.50", Point, "1234.50"),
            ("1\u{2019}234.50", Point, "1234.50"),
            ("1,23,456.78", Point, "123456.78"),
            ("12,34,56,789", Point, "123456789"),
            ("\u{2212}5,5", Comma, "-5.5"),
            ("-1.234.567", Comma, "-1234567"),
            ("-1.123.100.200", Comma, "-1123100200"),
            ("1,5E+3", Comma, "1.5E+3"),
            ("1234", None, "1234"),
            ("1 234", None, "1234"),
        ] {
            assert_eq!(plain(text, decimal).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_groups_are_no_numbers() {
        use DecimalSign::{Comma, None, Point};
        for (text, decimal) in [
            ("1.23", Comma),
            ("1.2345", Comma),
            ("1234.567", Comma),
            ("1.234 567", Comma),
            ("1 234.567", Comma),
            ("1,234,56", Point),
            ("123,45,678", Point),
            ("1.234e5", Comma),
            ("192.168.100.200", Comma),
            ("1  234", Point),
            ("1 ", Point),
            (" 1", Point),
            (",5", Comma),
            ("1.5", None),
            ("1,234", None),
            ("", Point),
            ("-", Point),
        ] {
            assert_eq!(plain(text, decimal), Option::None, "{text}");
        }
    }

    #[test]
    fn only_the_separator_that_was_said_counts() {
        let parse = |text: &str, thousands| {
            PlainNumber::parse(text.as_bytes(), DecimalSign::Comma, thousands).is_some()
        };
        assert!(parse("1.234,5", Thousands::Point) && !parse("1 234,5", Thousands::Point));
        assert!(parse("1 234,5", Thousands::Space) && !parse("1\u{2019}234,5", Thousands::Space));
        assert!(
            parse("1\u{2019}234,5", Thousands::Apostrophe)
                && !parse("1\u{a0}234", Thousands::Apostrophe)
        );
        assert!(parse("1234,5", Thousands::None) && !parse("1.234,5", Thousands::None));
    }
}
