//! The identity of one state of a file.

use std::io;
use std::time::SystemTime;

/// Differs between two states of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The disk, where there is such a number.
    pub device: u64,
    /// The file's number on that disk.
    pub inode: u64,
    /// Its size.
    pub size_bytes: u64,
    /// When it was last written, as exactly as the disk or the object store says.
    pub modified: Option<SystemTime>,
    /// The object store's ETag.
    pub e_tag: Option<String>,
}

/// Why bytes of a certain state of a file cannot be had.
#[derive(Debug)]
pub(super) enum ReadError {
    /// It is in another state.
    Changed,
    /// The disk or the object store fails.
    Failed(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}
