use std::io::{self, BufReader, Read, Seek, SeekFrom};

use crate::source::SourceFile;

/// Bytes that a reader of a whole file reads at once, on disk and in an object store.
const DISK_BYTES: usize = 64 << 10;
const STORE_BYTES: usize = 4 << 20;

/// Reads a file from any position.
pub(super) struct Cursor {
    file: SourceFile,
    position: u64,
}

impl Cursor {
    pub(super) fn new(file: &SourceFile, position: u64) -> Self {
        Self {
            file: file.clone(),
            position,
        }
    }

    /// A buffered reader of a file from its start.
    pub(super) fn buffered(file: &SourceFile) -> BufReader<Self> {
        let buffer_bytes = if file.is_remote() {
            STORE_BYTES
        } else {
            DISK_BYTES
        };
        BufReader::with_capacity(buffer_bytes, Self::new(file, 0))
    }
}

impl Read for Cursor {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.file.size_bytes().saturating_sub(self.position);
        let num_bytes = bytes.len().min(left.min(1 << 30) as usize);
        self.file
            .read_into(self.position, &mut bytes[..num_bytes])?;
        self.position += num_bytes as u64;
        Ok(num_bytes)
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(distance) => self.file.size_bytes().checked_add_signed(distance),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
