//! The identity of one state of a file.

use std::io;
use std::time::SystemTime;

/// The identity of a file in one state; two states of a file have different identities.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The number of the disk; 0 if there is none.
    pub device: u64,
    /// The number of the file on that disk.
    pub inode: u64,
    /// The size of the file.
    pub size_bytes: u64,
    /// The time of the last write, as exactly as the disk or the object store provides it.
    pub modified: Option<SystemTime>,
    /// The ETag in the object store.
    pub e_tag: Option<String>,
}

/// Why bytes of an expected state of a file cannot be read.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The file is in another state.
    Changed,
    /// The disk or the object store returned an error.
    Failed(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}
