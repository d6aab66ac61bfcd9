//! Walks over Thrift's compact protocol without the structs' definitions.
//!
//! Each function returns `None` if the bytes are not Thrift, or end too early.

use bytes::{Buf, Bytes};

/// The type of a 32-bit integer.
pub(super) const I32: u8 = 5;
/// The type of a list.
pub(super) const LIST: u8 = 9;
/// The type of a struct.
pub(super) const STRUCT: u8 = 12;

/// The deepest nesting of a footer.
pub(super) const MAX_DEPTH: usize = 16;

/// The header of a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldHeader {
    pub(super) id: i64,
    pub(super) kind: u8,
}

impl FieldHeader {
    /// Reads the header of the field behind field `previous_id`; the inner `None` is the end of the struct.
    pub(super) fn read(bytes: &mut Bytes, previous_id: i64) -> Option<Option<Self>> {
        let header = bytes.try_get_u8().ok()?;
        if header == 0 {
            return Some(None);
        }
        let id = match header >> 4 {
            0 => {
                let zigzag = varint(bytes)?;
                (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64)
            }
            delta => previous_id.checked_add(i64::from(delta))?,
        };
        let kind = header & 0x0F;
        Some(Some(Self { id, kind }))
    }

    /// Skips the field's value.
    pub(super) fn skip_value(self, bytes: &mut Bytes, depth: usize) -> Option<()> {
        match self.kind {
            // The value of a boolean field is its type.
            1 | 2 => Some(()),
            kind => skip_value(bytes, kind, depth),
        }
    }
}

/// Skips a struct, and calls `visit` with the id of each of its fields.
pub(super) fn skip_struct(
    bytes: &mut Bytes,
    depth: usize,
    mut visit: impl FnMut(i64),
) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    let mut id = 0;
    while let Some(field) = FieldHeader::read(bytes, id)? {
        id = field.id;
        visit(id);
        field.skip_value(bytes, depth)?;
    }
    Some(())
}

/// Reads the header of a list: the number of its values, and their type.
pub(super) fn list_header(bytes: &mut Bytes) -> Option<(u64, u8)> {
    let header = bytes.try_get_u8().ok()?;
    let length = match header >> 4 {
        15 => varint(bytes)?,
        length => u64::from(length),
    };
    Some((length, header & 0x0F))
}

fn skip_value(bytes: &mut Bytes, kind: u8, depth: usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match kind {
        1..=3 => skip_bytes(bytes, 1),
        4..=6 => varint(bytes).map(drop),
        7 => skip_bytes(bytes, 8),
        8 => {
            let length = varint(bytes)?;
            skip_bytes(bytes, length)
        }
        LIST | 10 => {
            let (length, kind) = list_header(bytes)?;
            (0..length).try_for_each(|_| skip_value(bytes, kind, depth))
        }
        11 => {
            let length = varint(bytes)?;
            let kinds = if length > 0 {
                bytes.try_get_u8().ok()?
            } else {
                0
            };
            (0..length).try_for_each(|_| {
                skip_value(bytes, kinds >> 4, depth)?;
                skip_value(bytes, kinds & 0x0F, depth)
            })
        }
        STRUCT => skip_struct(bytes, depth, |_| {}),
        _ => None,
    }
}

fn skip_bytes(bytes: &mut Bytes, length: u64) -> Option<()> {
    let length = usize::try_from(length).ok()?;
    (length <= bytes.len()).then(|| bytes.advance(length))
}

fn varint(bytes: &mut Bytes) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes.try_get_u8().ok()?;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &'static [u8]) -> Option<Vec<i64>> {
        let mut fields = Vec::new();
        let mut bytes = Bytes::from_static(bytes);
        skip_struct(&mut bytes, MAX_DEPTH, |field| fields.push(field))?;
        Some(fields)
    }

    #[test]
    fn fields_of_a_struct() {
        // An i32, a list of two structs, a text, a true, and field 8 with a long id: an empty struct.
        let bytes = b"\x15\x02\x19\x2C\x15\x02\x00\x00\x18\x03abc\x11\x0C\x10\x00\x00";
        assert_eq!(fields(bytes), Some(vec![1, 2, 3, 4, 8]));
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
