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

/// A file without a name: its space is free again when the last handle is gone, however the server
/// ends.
#[derive(Debug)]
pub struct Segment {
    file: File,
    num_bytes: AtomicU64,
    disk: Arc<BytePool>,
}

/// Where a message is.
#[derive(Debug, Clone)]
pub enum MessageLocation {
    /// In memory.
    Memory(IpcMessage),
    /// In a file, metadata before body.
    Disk {
        /// The file.
        segment: Arc<Segment>,
        /// Where the metadata begins.
        offset: u64,
        /// Its length.
        metadata_bytes: usize,
        /// The length of the body behind it.
        body_bytes: usize,
    },
}

impl Segment {
    /// An empty segment.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(super) fn create(folder: &Path, disk: &Arc<BytePool>) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            file: tempfile::tempfile_in(folder)?,
            num_bytes: AtomicU64::new(0),
            disk: Arc::clone(disk),
        }))
    }

    /// Bytes that were written.
    pub(super) fn num_bytes(&self) -> u64 {
        self.num_bytes.load(Ordering::Relaxed)
    }

    /// Writes a message at the end; only one writer may. Blocks.
    ///
    /// # Errors
    /// The disk is full or fails.
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
    /// The message; blocks where it is on disk.
    ///
    /// # Errors
    /// The disk fails.
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
