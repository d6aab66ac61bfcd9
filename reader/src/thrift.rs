//! The part of Thrift's compact protocol that page headers, offset indexes and outlines of footers need.
//!
//! Spec: <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 16;

/// A field of a struct: its id and the type of its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) id: i16,
    kind: u8,
}

impl Field {
    /// The value of a boolean field, which is its type.
    pub(crate) fn boolean(self) -> Option<bool> {
        match self.kind {
            1 => Some(true),
            2 => Some(false),
            _ => None,
        }
    }
}

/// Reads values from the start of bytes. `None` means that the bytes end early or are not Thrift.
pub(crate) struct Compact<'a> {
    bytes: &'a [u8],
    depth: usize,
    /// The numbers and texts that were skipped.
    num_skipped: u64,
}

impl<'a> Compact<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            depth: MAX_DEPTH,
            num_skipped: 0,
        }
    }

    /// The numbers and texts in a struct.
    pub(crate) fn num_values(bytes: &'a [u8]) -> Option<u64> {
        let mut value = Self::new(bytes);
        value.fields(Self::skip)?;
        Some(value.num_skipped)
    }

    /// The number of bytes that are left.
    pub(crate) fn num_left(&self) -> usize {
        self.bytes.len()
    }

    /// Reads a struct. `visit` reads the value of each field, or skips it.
    pub(crate) fn fields(
        &mut self,
        mut visit: impl FnMut(&mut Self, Field) -> Option<()>,
    ) -> Option<()> {
        self.depth = self.depth.checked_sub(1)?;
        let mut id = 0_i16;
        loop {
            let header = self.byte()?;
            if header == 0 {
                self.depth += 1;
                return Some(());
            }
            id = match header >> 4 {
                0 => i16::try_from(self.integer()?).ok()?,
                delta => id.checked_add(i16::from(delta))?,
            };
            let kind = header & 0x0F;
            visit(self, Field { id, kind })?;
        }
    }

    /// Reads a list of structs; `visit` is called for each.
    pub(crate) fn structs(&mut self, mut visit: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let (length, kind) = self.list()?;
        // Some writers state no type of an empty list.
        if length > 0 && kind != 12 {
            return None;
        }
        (0..length).try_for_each(|_| visit(self))
    }

    /// A number of any width.
    pub(crate) fn integer(&mut self) -> Option<i64> {
        let zigzag = self.varint()?;
        Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    /// A number of 32 bits.
    pub(crate) fn int32(&mut self) -> Option<i32> {
        i32::try_from(self.integer()?).ok()
    }

    /// Skips the value of a field.
    pub(crate) fn skip(&mut self, field: Field) -> Option<()> {
        match field.kind {
            1 | 2 => Some(()),
            kind => self.skip_value(kind),
        }
    }

    fn skip_value(&mut self, kind: u8) -> Option<()> {
        self.num_skipped += u64::from(kind <= 8);
        match kind {
            1..=3 => self.skip_bytes(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let length = self.varint()?;
                self.skip_bytes(length)
            }
            9 | 10 => {
                let (length, kind) = self.list()?;
                self.nested(|inner| (0..length).try_for_each(|_| inner.skip_value(kind)))
            }
            11 => {
                let length = self.varint()?;
                let kinds = if length > 0 { self.byte()? } else { 0 };
                self.nested(|inner| {
                    (0..length).try_for_each(|_| {
                        inner.skip_value(kinds >> 4)?;
                        inner.skip_value(kinds & 0x0F)
                    })
                })
            }
            12 => self.fields(Self::skip),
            _ => None,
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.depth = self.depth.checked_sub(1)?;
        read(self)?;
        self.depth += 1;
        Some(())
    }

    fn list(&mut self) -> Option<(u64, u8)> {
        let header = self.byte()?;
        let length = match header >> 4 {
            15 => self.varint()?,
            length => u64::from(length),
        };
        Some((length, header & 0x0F))
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    fn skip_bytes(&mut self, length: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(length).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Option<Vec<i16>> {
        let mut fields = Vec::new();
        Compact::new(bytes).fields(|value, field| {
            fields.push(field.id);
            value.skip(field)
        })?;
        Some(fields)
    }

    #[test]
    fn fields_of_a_struct() {
        // An i32, a list of two structs, a text, a true, and field 8 with a long id: an empty struct.
        let bytes = b"\x15\x02\x19\x2C\x15\x02\x00\x00\x18\x03abc\x11\x0C\x10\x00\x00";
        assert_eq!(fields(bytes), Some(vec![1, 2, 3, 4, 8]));
        assert_eq!(Compact::num_values(bytes), Some(3));
        for end in 0..bytes.len() {
            assert_eq!(fields(&bytes[..end]), None);
        }
        assert_eq!(fields(&[0x1C; 64]), None);
        assert_eq!(
            fields(b"\x19\xFC\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"),
            None
        );
    }
}
