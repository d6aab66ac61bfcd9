//! Reads untrusted FlatBuffers: every access is checked against the buffer.
//!
//! Layout: a table starts with an i32. Subtracted from the table's position, it gives the position of
//! the vtable. The vtable holds u16s: its size, the table's size, then for each field its offset in the
//! table (0 = absent, the default applies). Strings, vectors and tables are reached by u32 offsets,
//! relative to the position of the offset. <https://flatbuffers.dev/internals/>

use super::DecodeError;

type Result<T> = std::result::Result<T, DecodeError>;

fn outside() -> DecodeError {
    DecodeError::header(
        "the message's metadata points outside itself; expected a FlatBuffers table",
    )
}

fn bytes_at<const N: usize>(buffer: &[u8], position: usize) -> Result<[u8; N]> {
    position
        .checked_add(N)
        .and_then(|end| buffer.get(position..end))
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(outside)
}

fn u16_at(buffer: &[u8], position: usize) -> Result<u16> {
    bytes_at(buffer, position).map(u16::from_le_bytes)
}

fn u32_at(buffer: &[u8], position: usize) -> Result<u32> {
    bytes_at(buffer, position).map(u32::from_le_bytes)
}

/// Follows the offset at `position`.
fn follow(buffer: &[u8], position: usize) -> Result<usize> {
    position
        .checked_add(u32_at(buffer, position)? as usize)
        .ok_or_else(outside)
}

/// One table of the buffer. Field slots are numbered from 0 in the order of the `.fbs` file.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    buffer: &'a [u8],
    position: usize,
    vtable: usize,
    vtable_bytes: usize,
}

impl<'a> Table<'a> {
    /// The root table of `buffer`.
    pub(crate) fn root(buffer: &'a [u8]) -> Result<Self> {
        Self::at(buffer, follow(buffer, 0)?)
    }

    /// The buffer that holds the table.
    pub(crate) fn buffer(&self) -> &'a [u8] {
        self.buffer
    }

    fn at(buffer: &'a [u8], position: usize) -> Result<Self> {
        let back = i64::from(u32_at(buffer, position)?.cast_signed());
        let vtable = usize::try_from(position as i64 - back).map_err(|_| outside())?;
        let vtable_bytes = usize::from(u16_at(buffer, vtable)?);
        Ok(Self {
            buffer,
            position,
            vtable,
            vtable_bytes,
        })
    }

    fn field(&self, slot: usize) -> Result<Option<usize>> {
        let entry = 4 + slot * 2;
        if entry + 2 > self.vtable_bytes {
            return Ok(None);
        }
        match u16_at(self.buffer, self.vtable + entry)? {
            0 => Ok(None),
            offset => Ok(Some(self.position + usize::from(offset))),
        }
    }

    fn scalar<const N: usize>(&self, slot: usize) -> Result<Option<[u8; N]>> {
        self.field(slot)?
            .map(|position| bytes_at(self.buffer, position))
            .transpose()
    }

    pub(crate) fn u8(&self, slot: usize, default: u8) -> Result<u8> {
        Ok(self.scalar(slot)?.map_or(default, u8::from_le_bytes))
    }

    pub(crate) fn bool(&self, slot: usize) -> Result<bool> {
        Ok(self.u8(slot, 0)? != 0)
    }

    pub(crate) fn i16(&self, slot: usize, default: i16) -> Result<i16> {
        Ok(self.scalar(slot)?.map_or(default, i16::from_le_bytes))
    }

    pub(crate) fn i32(&self, slot: usize, default: i32) -> Result<i32> {
        Ok(self.scalar(slot)?.map_or(default, i32::from_le_bytes))
    }

    pub(crate) fn i64(&self, slot: usize, default: i64) -> Result<i64> {
        Ok(self.scalar(slot)?.map_or(default, i64::from_le_bytes))
    }

    pub(crate) fn table(&self, slot: usize) -> Result<Option<Table<'a>>> {
        self.field(slot)?
            .map(|position| Table::at(self.buffer, follow(self.buffer, position)?))
            .transpose()
    }

    /// The position of the table in the buffer.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// The bytes of a string; they may be invalid UTF-8.
    pub(crate) fn string_bytes(&self, slot: usize) -> Result<Option<&'a [u8]>> {
        let Some(position) = self.field(slot)? else {
            return Ok(None);
        };
        let start = follow(self.buffer, position)?;
        let length = u32_at(self.buffer, start)? as usize;
        start
            .checked_add(4)
            .and_then(|from| self.buffer.get(from..from.checked_add(length)?))
            .map(Some)
            .ok_or_else(outside)
    }

    pub(crate) fn string(&self, slot: usize) -> Result<Option<&'a str>> {
        self.string_bytes(slot)?
            .map(std::str::from_utf8)
            .transpose()
            .map_err(|_| DecodeError::header("a name in the schema is not UTF-8"))
    }

    /// The vector in `slot`, with `element_bytes` bytes per element; empty if it is absent.
    pub(crate) fn vector(&self, slot: usize, element_bytes: usize) -> Result<Vector<'a>> {
        let Some(position) = self.field(slot)? else {
            return Ok(Vector {
                buffer: self.buffer,
                start: 0,
                len: 0,
                element_bytes,
            });
        };
        let at = follow(self.buffer, position)?;
        let len = u32_at(self.buffer, at)? as usize;
        let start = at.checked_add(4).ok_or_else(outside)?;
        let end = len
            .checked_mul(element_bytes)
            .and_then(|bytes| start.checked_add(bytes))
            .ok_or_else(outside)?;
        if end > self.buffer.len() {
            return Err(outside());
        }
        Ok(Vector {
            buffer: self.buffer,
            start,
            len,
            element_bytes,
        })
    }
}

/// A vector whose extent has been checked.
#[derive(Clone, Copy)]
pub(crate) struct Vector<'a> {
    buffer: &'a [u8],
    start: usize,
    len: usize,
    element_bytes: usize,
}

impl<'a> Vector<'a> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn position(&self, index: usize) -> usize {
        self.start + index * self.element_bytes
    }

    pub(crate) fn table(&self, index: usize) -> Result<Table<'a>> {
        Table::at(self.buffer, follow(self.buffer, self.position(index))?)
    }

    pub(crate) fn i32(&self, index: usize) -> Result<i32> {
        bytes_at(self.buffer, self.position(index)).map(i32::from_le_bytes)
    }

    /// An i64, or the first field of a struct that begins with one.
    pub(crate) fn i64(&self, index: usize) -> Result<i64> {
        bytes_at(self.buffer, self.position(index)).map(i64::from_le_bytes)
    }

    /// The first two fields of a struct that begins with two i64s.
    pub(crate) fn pair(&self, index: usize) -> Result<(i64, i64)> {
        let at = self.position(index);
        Ok((
            bytes_at(self.buffer, at).map(i64::from_le_bytes)?,
            bytes_at(self.buffer, at + 8).map(i64::from_le_bytes)?,
        ))
    }

    /// All structs of two i64s, such as FieldNode and Buffer; `element_bytes` is 16.
    pub(crate) fn pairs(&self) -> impl ExactSizeIterator<Item = (i64, i64)> + 'a {
        let elements = self.buffer.get(self.start..).unwrap_or_default();
        let (words, _) = elements.as_chunks::<8>();
        let (pairs, _) = words.as_chunks::<2>();
        pairs
            .iter()
            .take(self.len)
            .map(|[first, second]| (i64::from_le_bytes(*first), i64::from_le_bytes(*second)))
    }

    /// The third field of a struct of three i64s.
    pub(crate) fn third(&self, index: usize) -> Result<i64> {
        bytes_at(self.buffer, self.position(index) + 16).map(i64::from_le_bytes)
    }
}
