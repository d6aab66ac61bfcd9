//! Files that another process holds. That process opens them, and follows their changes.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::source::identity::Identity;

/// A file of a lent table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LentFile {
    /// The name of the file in messages.
    pub label: String,
    /// Its state.
    pub identity: Identity,
    /// Whether it is an object of a store, which has no descriptor.
    pub is_remote: bool,
}

/// Gives access to the files of one table that another process holds. All methods block.
pub trait FileLender: Debug + Send + Sync {
    /// A descriptor of file `index`, which is on disk.
    ///
    /// # Errors
    /// The file has changed or cannot be opened.
    fn open(&self, index: usize) -> io::Result<File>;

    /// Bytes of file `index`, which is an object of a store.
    ///
    /// # Errors
    /// The object has changed or cannot be read.
    fn read(&self, index: usize, ranges: Vec<Range<u64>>) -> io::Result<Vec<Bytes>>;
}
