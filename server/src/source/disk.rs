//! A file on disk: the open descriptor, and a check whether the path still leads to it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::source::identity::{Identity, ReadError};

/// The number of descriptors that the process keeps open for its tables. Further files are opened for
/// each read. Some systems permit only 256 descriptors, and connections need some of them.
const MAX_KEPT: usize = 128;

static NUM_KEPT: AtomicUsize = AtomicUsize::new(0);

/// A file on disk. Clones share one descriptor, which is closed with the last clone.
#[derive(Debug, Clone)]
pub(super) struct DiskFile {
    /// The absolute path of the file, as it was given.
    pub(super) path: PathBuf,
    /// The directory (with links resolved) that must contain the file.
    pub(super) root: Option<PathBuf>,
    kept: Option<Arc<KeptFile>>,
}

impl DiskFile {
    /// Opens a file. Only regular files are opened; everything else is refused without opening it. So
    /// is a link that leads outside `root`.
    ///
    /// # Errors
    /// The file does not exist, is not readable or is not a regular file.
    pub(super) fn open(path: &Path, root: Option<&Path>) -> io::Result<(Self, Identity)> {
        let path = std::path::absolute(path)?;
        let canonical = fs::canonicalize(&path)?;
        if root.is_some_and(|root| !canonical.starts_with(root)) {
            return Err(io::Error::other(
                "it is a link to a place outside the directory",
            ));
        }
        check_regular(&fs::metadata(&canonical)?)?;
        let file = File::open(&canonical)?;
        let metadata = file.metadata()?;
        check_regular(&metadata)?;
        let opened = Self {
            path,
            root: root.map(Path::to_owned),
            kept: KeptFile::keep(file),
        };
        Ok((opened, identity(&metadata)))
    }

    /// Whether the path leads to the expected state of the file.
    pub(super) fn is_at_path(&self, expected: &Identity) -> bool {
        fs::metadata(&self.path).is_ok_and(|now| identity(&now) == *expected)
    }

    /// Calls `read` with the open file, then compares path and descriptor with the `expected` state.
    ///
    /// # Errors
    /// The file has changed, or reading from disk fails.
    pub(super) fn read<T>(
        &self,
        expected: &Identity,
        read: impl FnOnce(&File) -> io::Result<T>,
    ) -> Result<T, ReadError> {
        let done = self.read_unconfirmed(expected, read);
        self.confirm(expected)?;
        done
    }

    /// Calls `read` with the open file. The result may only be used after [`DiskFile::confirm`] has
    /// succeeded.
    ///
    /// # Errors
    /// Reading from disk fails, or the file had to be reopened and has changed.
    pub(super) fn read_unconfirmed<T>(
        &self,
        expected: &Identity,
        read: impl FnOnce(&File) -> io::Result<T>,
    ) -> Result<T, ReadError> {
        if let Some(kept) = &self.kept {
            return Ok(read(&kept.file)?);
        }
        check_regular(&fs::metadata(&self.path)?)?;
        let opened = File::open(&self.path)?;
        let done = read(&opened);
        if !is_of(&opened, expected) {
            return Err(ReadError::Changed);
        }
        Ok(done?)
    }

    /// Compares path and descriptor with the `expected` state.
    ///
    /// # Errors
    /// The file has changed.
    pub(super) fn confirm(&self, expected: &Identity) -> Result<(), ReadError> {
        let is_same = match &self.kept {
            Some(kept) => is_of(&kept.file, expected),
            None => true,
        };
        if is_same && self.is_at_path(expected) {
            Ok(())
        } else {
            Err(ReadError::Changed)
        }
    }
}

fn is_of(file: &File, expected: &Identity) -> bool {
    file.metadata().is_ok_and(|now| identity(&now) == *expected)
}

fn identity(metadata: &fs::Metadata) -> Identity {
    let (device, inode) = numbers(metadata);
    Identity {
        device,
        inode,
        size_bytes: metadata.len(),
        modified: metadata.modified().ok(),
        e_tag: None,
    }
}

/// An open descriptor that is counted in `NUM_KEPT`.
#[derive(Debug)]
struct KeptFile {
    file: File,
}

impl KeptFile {
    fn keep(file: File) -> Option<Arc<Self>> {
        let is_room = NUM_KEPT.fetch_add(1, Ordering::Relaxed) < MAX_KEPT;
        // Dropping this decrements the count again if the limit is reached.
        let kept = Self { file };
        is_room.then(|| Arc::new(kept))
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        NUM_KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

fn check_regular(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is not a regular file",
    ))
}

#[cfg(unix)]
fn numbers(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn numbers(_: &fs::Metadata) -> (u64, u64) {
    (0, 0)
}
