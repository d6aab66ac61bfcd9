//! Detects Parquet files with encrypted columns, which the library reads as if they were damaged.
//!
//! Only the field `encryption_algorithm` of the footer shows them. The library ignores it, so it is looked up here,
//! in the bytes that the library reads. Spec: Thrift's compact protocol, and `FileMetaData` in `parquet.thrift`.

use std::io::BufReader;
use std::sync::{Mutex, PoisonError};

use bytes::{Buf, Bytes};
use datafusion::parquet::errors::Result;
use datafusion::parquet::file::reader::{ChunkReader, Length};

use crate::source::cursor::Cursor;
use crate::source::page_walk::Chunks;

/// The id of `FileMetaData.encryption_algorithm`.
const ENCRYPTION_ALGORITHM: i64 = 8;

/// The deepest nesting of a footer.
const MAX_DEPTH: usize = 16;

/// A file that remembers the bytes that were read last, which are those of the footer.
pub(super) struct FooterReader {
    chunks: Chunks,
    footer: Mutex<Bytes>,
}

impl FooterReader {
    pub(super) fn new(chunks: Chunks) -> Self {
        Self {
            chunks,
            footer: Mutex::default(),
        }
    }

    /// Whether columns of the file are encrypted.
    pub(super) fn has_encrypted_columns(&self) -> bool {
        let mut footer = self
            .footer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut is_encrypted = false;
        let read = skip_struct(&mut footer, MAX_DEPTH, |field| {
            is_encrypted |= field == ENCRYPTION_ALGORITHM;
        });
        read.is_some() && is_encrypted
    }
}

impl Length for FooterReader {
    fn len(&self) -> u64 {
        self.chunks.len()
    }
}

impl ChunkReader for FooterReader {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.chunks.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let bytes = self.chunks.get_bytes(start, length)?;
        *self.footer.lock().unwrap_or_else(PoisonError::into_inner) = bytes.clone();
        Ok(bytes)
    }
}

/// Skips a struct, and calls `visit` with the id of each of its fields. `None` if the bytes are not Thrift.
fn skip_struct(bytes: &mut Bytes, depth: usize, mut visit: impl FnMut(i64)) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    let mut field = 0_i64;
    loop {
        let header = bytes.try_get_u8().ok()?;
        if header == 0 {
            return Some(());
        }
        field = match header >> 4 {
            0 => {
                let zigzag = varint(bytes)?;
                (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64)
            }
            delta => field.checked_add(i64::from(delta))?,
        };
        visit(field);
        match header & 0x0F {
            // The value of a boolean field is its type.
            1 | 2 => {}
            kind => skip_value(bytes, kind, depth)?,
        }
    }
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
        9 | 10 => {
            let header = bytes.try_get_u8().ok()?;
            let length = match header >> 4 {
                15 => varint(bytes)?,
                length => u64::from(length),
            };
            (0..length).try_for_each(|_| skip_value(bytes, header & 0x0F, depth))
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
        12 => skip_struct(bytes, depth, |_| {}),
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
