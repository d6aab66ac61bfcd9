//! A file of a spool.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::byte_pool::BytePool;
use crate::message::{IpcMessage, MessageKind};
use crate::read_at::{read_vec_at, write_all_at};

/// A file without a name. Its disk space is freed when the last handle is closed, however the server
/// ends.
#[derive(Debug)]
pub struct Segment {
    file: File,
    num_bytes: AtomicU64,
    disk: Arc<BytePool>,
}

/// The location of a message.
#[derive(Debug, Clone)]
pub enum MessageLocation {
    /// In memory.
    Memory(IpcMessage),
    /// In a file: metadata, then body.
    Disk {
        /// The file.
        segment: Arc<Segment>,
        /// Offset of the metadata in bytes.
        offset: u64,
        /// Length of the metadata.
        metadata_bytes: usize,
        /// Length of the body, which follows the metadata.
        body_bytes: usize,
    },
}

impl Segment {
    /// An empty segment.
    ///
    /// # Errors
    /// The folder is not writable.
    pub(super) fn create(folder: &Path, disk: &Arc<BytePool>) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            file: tempfile::tempfile_in(folder)?,
            num_bytes: AtomicU64::new(0),
            disk: Arc::clone(disk),
        }))
    }

    /// The number of bytes that were written.
    pub(super) fn num_bytes(&self) -> u64 {
        self.num_bytes.load(Ordering::Relaxed)
    }

    /// Appends a message; there must be only one writer. Blocks.
    ///
    /// # Errors
    /// The disk is full, or writing fails.
    pub(super) fn append(self: &Arc<Self>, message: &IpcMessage) -> io::Result<MessageLocation> {
        Ok(MessageLocation::Disk {
            segment: Arc::clone(self),
            offset: self.write(&[&message.metadata, &message.body])?,
            metadata_bytes: message.metadata.len(),
            body_bytes: message.body.len(),
        })
    }

    /// Appends bytes, and returns the offset of the first. There must be only one writer. Blocks.
    ///
    /// # Errors
    /// The disk is full, or writing fails.
    pub(super) fn write(&self, parts: &[&[u8]]) -> io::Result<u64> {
        let offset = self.num_bytes();
        let mut end = offset;
        for part in parts {
            write_all_at(&self.file, part, end)?;
            end += part.len() as u64;
        }
        self.num_bytes.store(end, Ordering::Relaxed);
        self.disk.add(end - offset);
        Ok(offset)
    }

    /// Bytes that were written. Blocks.
    ///
    /// # Errors
    /// Reading fails.
    pub(super) fn read(&self, offset: u64, num_bytes: usize) -> io::Result<Vec<u8>> {
        read_vec_at(&self.file, num_bytes, offset)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.disk.remove(self.num_bytes());
    }
}

impl MessageLocation {
    /// The message. Blocks if it is on disk.
    ///
    /// # Errors
    /// Reading from disk fails.
    pub(super) fn read(&self, kind: MessageKind, num_rows: u64) -> io::Result<IpcMessage> {
        match self {
            Self::Memory(message) => Ok(message.clone()),
            Self::Disk {
                segment,
                offset,
                metadata_bytes,
                body_bytes,
            } => {
                let num_bytes = metadata_bytes + body_bytes;
                let mut metadata = Bytes::from(segment.read(*offset, num_bytes)?);
                let body = metadata.split_off(*metadata_bytes);
                Ok(IpcMessage {
                    kind,
                    metadata,
                    body,
                    num_rows,
                })
            }
        }
    }
}
