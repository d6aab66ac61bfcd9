//! Which state of a file was looked at.

use std::io;
use std::time::SystemTime;

/// What tells one state of a file from another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The disk, where there is such a number.
    pub device: u64,
    /// The file's number on that disk.
    pub inode: u64,
    /// Its size.
    pub size_bytes: u64,
    /// When it was last written, as exactly as its place knows.
    pub modified: Option<SystemTime>,
    /// What a store says of the state of an object.
    pub e_tag: Option<String>,
}

/// Why bytes of a certain state of a file cannot be had.
#[derive(Debug)]
pub(super) enum ReadError {
    /// It is in another state.
    Changed,
    /// The disk or the store fails.
    Failed(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}
