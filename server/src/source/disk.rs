//! A file on disk: the open descriptor, and a check whether the path still leads to it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::source::identity::{Identity, ReadError};
use crate::source::lender::FileLender;

/// The number of descriptors that the process keeps open for its tables. Further files are opened for
/// each read. Some systems permit only 256 descriptors, and connections need some of them.
const MAX_KEPT: usize = 128;

static NUM_KEPT: AtomicUsize = AtomicUsize::new(0);

/// A file on disk. Clones share one descriptor, which is closed with the last clone.
#[derive(Debug, Clone)]
pub(super) struct DiskFile {
    origin: FileOrigin,
    kept: Arc<OnceLock<KeptFile>>,
}

/// Where the file is opened again.
#[derive(Debug, Clone)]
enum FileOrigin {
    Path {
        /// The absolute path of the file, as it was given.
        path: PathBuf,
        /// The directory (with links resolved) that must contain the file.
        root: Option<PathBuf>,
    },
    /// Another process opens it, and compares the path with the state of the file.
    Lent(Arc<dyn FileLender>, usize),
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
        let origin = FileOrigin::Path {
            path,
            root: root.map(Path::to_owned),
        };
        let opened = Self {
            origin,
            kept: Arc::default(),
        };
        if let Ok(kept) = KeptFile::keep(file) {
            let _ = opened.kept.set(kept);
        }
        Ok((opened, identity(&metadata)))
    }

    /// The file that [`DiskFile::open`] could not open, in the state that it has.
    pub(super) fn closed(path: &Path, root: Option<&Path>) -> (Self, Identity) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let identity = identity_at(&path).unwrap_or_default();
        let origin = FileOrigin::Path {
            path,
            root: root.map(Path::to_owned),
        };
        let kept = Arc::default();
        (Self { origin, kept }, identity)
    }

    /// File `index` of a lender.
    pub(super) fn lent(lender: Arc<dyn FileLender>, index: usize) -> Self {
        Self {
            origin: FileOrigin::Lent(lender, index),
            kept: Arc::default(),
        }
    }

    /// The path of the file and the directory that must contain it; `None` if another process holds it.
    pub(super) fn path(&self) -> Option<(&Path, Option<&Path>)> {
        match &self.origin {
            FileOrigin::Path { path, root } => Some((path, root.as_deref())),
            FileOrigin::Lent(..) => None,
        }
    }

    /// Whether the path leads to the expected state of the file.
    pub(super) fn is_at_path(&self, expected: &Identity) -> bool {
        match &self.origin {
            FileOrigin::Path { path, .. } => identity_at(path).unwrap_or_default() == *expected,
            FileOrigin::Lent(..) => true,
        }
    }

    /// A new descriptor of the file in the expected state, which shares no flags with others.
    ///
    /// # Errors
    /// The file cannot be opened, or is in another state.
    pub(super) fn descriptor(&self, expected: &Identity) -> Result<File, ReadError> {
        let FileOrigin::Path { path, .. } = &self.origin else {
            return Err(io::Error::from(io::ErrorKind::Unsupported).into());
        };
        check_regular(&fs::metadata(path)?)?;
        let file = File::open(path)?;
        if is_of(&file, expected) {
            Ok(file)
        } else {
            Err(ReadError::Changed)
        }
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
        if let Some(kept) = self.kept.get() {
            return Ok(read(&kept.file)?);
        }
        let opened = match &self.origin {
            FileOrigin::Path { path, .. } => {
                check_regular(&fs::metadata(path)?)?;
                File::open(path)?
            }
            FileOrigin::Lent(lender, index) => match KeptFile::keep(lender.open(*index)?) {
                Ok(kept) => return Ok(read(&self.kept.get_or_init(|| kept).file)?),
                Err(opened) => opened,
            },
        };
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
        let is_same = match self.kept.get() {
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

/// The state of the file at `path`; `None` if there is none.
pub(super) fn identity_at(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|metadata| identity(&metadata))
}

fn identity(metadata: &fs::Metadata) -> Identity {
    let (device, inode, changed) = numbers(metadata);
    Identity {
        device,
        inode,
        size_bytes: metadata.len(),
        modified: metadata.modified().ok(),
        changed,
        e_tag: None,
    }
}

/// An open descriptor that is counted in `NUM_KEPT`.
#[derive(Debug)]
struct KeptFile {
    file: File,
}

impl KeptFile {
    /// Returns the file itself if too many are kept.
    fn keep(file: File) -> Result<Self, File> {
        if NUM_KEPT.fetch_add(1, Ordering::Relaxed) < MAX_KEPT {
            return Ok(Self { file });
        }
        NUM_KEPT.fetch_sub(1, Ordering::Relaxed);
        Err(file)
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

/// The device, the inode, and the time of the last change.
#[cfg(unix)]
fn numbers(metadata: &fs::Metadata) -> (u64, u64, (i64, i64)) {
    use std::os::unix::fs::MetadataExt;
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    (metadata.dev(), metadata.ino(), changed)
}

#[cfg(not(unix))]
fn numbers(_: &fs::Metadata) -> (u64, u64, (i64, i64)) {
    (0, 0, (0, 0))
}
