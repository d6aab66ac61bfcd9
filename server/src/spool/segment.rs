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
        let offset = self.num_bytes();
        write_all_at(&self.file, &message.metadata, offset)?;
        write_all_at(
            &self.file,
            &message.body,
            offset + message.metadata.len() as u64,
        )?;
        let num_bytes = message.num_bytes() as u64;
        self.num_bytes.fetch_add(num_bytes, Ordering::Relaxed);
        self.disk.add(num_bytes);
        Ok(MessageLocation::Disk {
            segment: Arc::clone(self),
            offset,
            metadata_bytes: message.metadata.len(),
            body_bytes: message.body.len(),
        })
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
                let mut metadata = Bytes::from(read_vec_at(&segment.file, num_bytes, *offset)?);
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
