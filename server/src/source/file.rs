//! One file of a table, and how to tell that it has changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file as it was when it was last looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Where it is.
    pub path: PathBuf,
    /// How messages name it: relative to the source that was given.
    pub label: String,
    /// Its size.
    pub size_bytes: u64,
    /// When it was last written.
    pub modified: Option<SystemTime>,
    /// The file's number on its disk, where there is such a thing.
    pub inode: u64,
}

impl SourceFile {
    /// Looks at a file.
    ///
    /// # Errors
    /// It is not there or may not be looked at.
    pub fn stat(path: &Path, label: &str) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            path: path.to_owned(),
            label: label.to_owned(),
            size_bytes: metadata.len(),
            modified: metadata.modified().ok(),
            inode: inode(&metadata),
        })
    }

    /// Whether the file on disk is no longer that one.
    pub fn has_changed(&self) -> bool {
        Self::stat(&self.path, &self.label).map_or(true, |now| now != *self)
    }
}

#[cfg(unix)]
fn inode(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> u64 {
    0
}
