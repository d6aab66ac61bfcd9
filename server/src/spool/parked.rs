//! Bytes that wait on disk for a client who reads nothing.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::spool::{Segment, SpoolStorage};

/// Bytes in a file of their own. Dropping them frees their disk space.
#[derive(Debug)]
pub struct ParkedBytes {
    segment: Arc<Segment>,
    next: u64,
}

impl SpoolStorage {
    /// Writes bytes to disk. Blocks.
    ///
    /// # Errors
    /// The disk budget is used up, or writing fails.
    pub fn park(&self, bytes: &[u8]) -> io::Result<ParkedBytes> {
        if !self.has_room(bytes.len() as u64) {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let segment = Segment::create(&self.folder, &self.disk)?;
        segment.write(&[bytes])?;
        Ok(ParkedBytes { segment, next: 0 })
    }
}

impl ParkedBytes {
    /// The number of bytes that are left.
    pub fn num_bytes(&self) -> u64 {
        self.segment.num_bytes() - self.next
    }

    /// The next bytes, at most `max_bytes`. Blocks.
    ///
    /// # Errors
    /// Reading fails.
    pub fn take(&mut self, max_bytes: u64) -> io::Result<Bytes> {
        let num_bytes = self.num_bytes().min(max_bytes);
        let bytes = self.segment.read(self.next, num_bytes as usize)?;
        self.next += num_bytes;
        Ok(bytes.into())
    }
}
