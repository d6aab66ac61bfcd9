//! The file format: a stream between two magics, with a footer that lists the positions of its
//! messages.
//!
//! File: `ARROW1`, two bytes of padding, stream with its end-of-stream marker, footer, i32 length of
//! the footer, `ARROW1`. Spec: `format/File.fbs`.

use std::ops::Range;
use std::sync::Arc;

use super::{DecodeError, DecodeErrorKind, Limits, Message, StreamSchema};
use crate::check::flatbuffer::{Table, Vector};
use crate::check::limits::within;
use crate::check::schema::read_schema;

type Result<T> = std::result::Result<T, DecodeError>;

/// The bytes at the beginning and the end of a file.
pub(super) const MAGIC: &[u8; 6] = b"ARROW1";

/// Bytes after the footer: its length and the magic.
pub(super) const TAIL_BYTES: usize = 10;

/// The contents of a file's footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footer {
    /// The schema.
    pub schema: Arc<StreamSchema>,
    /// Bytes `[start, end)` of each dictionary batch, including its prefix, in reading order.
    pub dictionaries: Vec<Range<u64>>,
    /// Bytes `[start, end)` of each record batch, in row order.
    pub batches: Vec<Range<u64>>,
}

impl Footer {
    /// Reads the FlatBuffers bytes of a footer that begins at byte `start` of its file.
    ///
    /// # Errors
    /// `InvalidHeader`, `OverLimit` or `Unsupported`.
    pub fn read(footer: &[u8], start: u64, limits: &Limits) -> Result<Self> {
        within(footer.len() as i64, limits.max_metadata_bytes, "footer")?;
        let root = Table::root(footer)?;
        let schema = root
            .table(1)?
            .ok_or_else(|| DecodeError::header("the footer has no schema"))?;
        // Otherwise a small footer could list one message a million times.
        let mut left_bytes = start;
        let mut blocks = |slot| -> Result<Vec<_>> {
            let vector = root.vector(slot, 24)?;
            (0..vector.len())
                .map(|index| {
                    let block = block(vector, index, start)?;
                    left_bytes = left_bytes
                        .checked_sub(block.end - block.start)
                        .ok_or_else(|| DecodeError::header("the footer's blocks overlap"))?;
                    Ok(block)
                })
                .collect()
        };
        Ok(Self {
            schema: Arc::new(read_schema(&schema, limits)?),
            dictionaries: blocks(2)?,
            batches: blocks(3)?,
        })
    }

    /// The byte ranges to read, in reading order. Adjacent ranges are joined.
    #[must_use]
    pub fn ranges(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for block in self.dictionaries.iter().chain(&self.batches) {
            match ranges.last_mut() {
                Some(last) if last.end == block.start => last.end = block.end,
                _ => ranges.push(block.clone()),
            }
        }
        ranges
    }
}

/// `Block { offset: i64, metaDataLength: i32, padding: i32, bodyLength: i64 }`
fn block(vector: Vector, index: usize, limit: u64) -> Result<Range<u64>> {
    let (start, lengths) = vector.pair(index)?;
    let start = within(start, limit, "block offset")?;
    let metadata_bytes = i64::from(lengths as i32);
    let metadata_bytes = within(metadata_bytes, limit - start, "block's metadata length")?;
    let body_start = start + metadata_bytes;
    let body_bytes = within(
        vector.third(index)?,
        limit - body_start,
        "block's body length",
    )?;
    Ok(start..body_start + body_bytes)
}

/// A file that is read in byte order, and compared with its footer at the end.
#[derive(Debug, Default)]
pub(super) struct FileInOrder {
    schema: Option<Arc<StreamSchema>>,
    /// The positions at which the messages began.
    dictionaries: Vec<u64>,
    batches: Vec<u64>,
    /// The bytes after the end-of-stream marker.
    tail: Vec<u8>,
    tail_filled: usize,
}

impl FileInOrder {
    /// Notes a message that began at `byte`.
    pub(super) fn note(&mut self, message: &Message, byte: u64) {
        match message {
            Message::Schema(schema) => self.schema = Some(schema.clone()),
            Message::Dictionary(_) => self.dictionaries.push(byte),
            Message::Batch(_) => self.batches.push(byte),
        }
    }

    /// The buffer for the next bytes after the end-of-stream marker.
    pub(super) fn space(&mut self) -> &mut [u8] {
        if self.tail_filled == self.tail.len() {
            self.tail.resize(2 * self.tail.len() + 1024, 0);
        }
        &mut self.tail[self.tail_filled..]
    }

    /// Takes the first `num_bytes` of [`space`](Self::space).
    pub(super) fn advance(&mut self, num_bytes: usize, limits: &Limits) -> Result<()> {
        self.tail_filled += num_bytes;
        let most_bytes = limits.max_metadata_bytes + TAIL_BYTES as u64;
        within(self.tail_filled as i64, most_bytes, "footer").map(drop)
    }

    /// Checks the file, which ended at byte `end`: its footer must list exactly the messages that were
    /// read.
    pub(super) fn check(&self, end: u64, limits: &Limits) -> Result<()> {
        let tail = &self.tail[..self.tail_filled];
        let footer = tail.strip_suffix(MAGIC).and_then(|rest| {
            let (rest, length) = rest.split_last_chunk::<4>()?;
            let length = usize::try_from(i32::from_le_bytes(*length)).ok()?;
            rest.get(rest.len().checked_sub(length)?..)
        });
        let Some(footer) = footer else {
            return Err(cut_short());
        };
        let start = end - (footer.len() + TAIL_BYTES) as u64;
        let footer = Footer::read(footer, start, limits)?;
        if self.schema.as_ref() != Some(&footer.schema) {
            return Err(DecodeError::header(
                "the schema in the file's footer differs from the one at its beginning",
            ));
        }
        let starts = |blocks: &[Range<u64>]| blocks.iter().map(|block| block.start).collect();
        let mut dictionaries: Vec<u64> = starts(&footer.dictionaries);
        dictionaries.sort_unstable();
        let batches: Vec<u64> = starts(&footer.batches);
        if dictionaries != self.dictionaries || batches != self.batches {
            return Err(DecodeError::header(
                "the file's footer lists other messages than the file has, or in another order; open it as a File or ArrayBuffer, to read it by its footer",
            ));
        }
        Ok(())
    }
}

/// The error for a file that ends before its footer does.
pub(super) fn cut_short() -> DecodeError {
    DecodeError::new(
        DecodeErrorKind::MissingEndOfStream,
        "the file ended without its footer, so rows may be missing",
    )
}

/// The format of bytes with this start, if it is known and not Arrow.
pub(super) fn foreign(start: [u8; 4]) -> Option<&'static str> {
    // An Arrow stream is never text: the length at the start of an old stream has a zero byte.
    let is_text = start
        .iter()
        .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    Some(match &start {
        b"ARRO" => return None,
        b"PAR1" | b"PARE" => "a Parquet file",
        b"FEA1" => "a Feather file of version 1",
        b"PK\x03\x04" => "a ZIP archive",
        b"Obj\x01" => "an Avro file",
        [0x1f, 0x8b, ..] => "compressed with gzip",
        [0x28, 0xb5, 0x2f, 0xfd] => "compressed with Zstandard",
        [0x04, 0x22, 0x4d, 0x18] => "compressed with LZ4",
        [0xef, 0xbb, 0xbf, _] => "text, such as CSV",
        [b'O', b'R', b'C', _] => "an ORC file",
        [b'<', ..] if is_text => "HTML or XML",
        [b'{' | b'[', ..] if is_text => "JSON",
        _ if is_text => "text, such as CSV",
        _ => return None,
    })
}
