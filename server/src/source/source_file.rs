//! A file of a table, which is only read while it is in the identified state.

use std::fs::File;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use datafusion::physical_plan::metrics::Count;

use crate::read_at::{read_exact_at, read_vec_at};
use crate::source::disk::DiskFile;
use crate::source::identity::{Identity, ReadError};
use crate::source::lender::{FileLender, LentFile};
use crate::source::object::Object;

static SCANNED_BYTES: AtomicU64 = AtomicU64::new(0);

/// Bytes that this process has read from sources.
pub(crate) fn scanned_bytes() -> u64 {
    SCANNED_BYTES.load(Ordering::Relaxed)
}

/// A file on disk or in an object store, in the state in which it was opened.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// The name of the file in messages: its path relative to the source.
    pub label: String,
    /// The state in which it was opened.
    pub identity: Identity,
    storage: Storage,
    changed: Arc<AtomicBool>,
    /// Counts the bytes that are read, for the scan that this copy was made for.
    scan_bytes: Option<Count>,
}

#[derive(Debug, Clone)]
enum Storage {
    Disk(DiskFile),
    ObjectStore(Arc<Object>),
    /// An object that another process reads.
    Lent(Arc<dyn FileLender>, usize),
}

impl SourceFile {
    /// Opens a file on disk. Only regular files are opened; everything else is refused without opening
    /// it. So is a link that leads outside `root`.
    ///
    /// # Errors
    /// The file does not exist, is not readable or is not a regular file.
    pub fn open(path: &Path, label: &str, root: Option<&Path>) -> io::Result<Self> {
        let (file, error) = Self::opened(path, label, root);
        error.map_or(Ok(file), Err)
    }

    /// As [`SourceFile::open`]. With an error, the file is the closed one.
    pub(super) fn opened(
        path: &Path,
        label: &str,
        root: Option<&Path>,
    ) -> (Self, Option<io::Error>) {
        let ((file, identity), error) = match DiskFile::open(path, root) {
            Ok(opened) => (opened, None),
            Err(error) => (DiskFile::closed(path, root), Some(error)),
        };
        (Self::of(label, identity, Storage::Disk(file)), error)
    }

    /// Opens an object of an object store by reading its identity. Blocks.
    ///
    /// # Errors
    /// The object does not exist, is not readable, or the object store does not answer.
    pub(super) fn open_object(object: Arc<Object>, label: &str) -> io::Result<Self> {
        let (file, error) = Self::opened_object(object, label);
        error.map_or(Ok(file), Err)
    }

    /// As [`SourceFile::open_object`]. With an error, the file is the closed one. Blocks.
    pub(super) fn opened_object(object: Arc<Object>, label: &str) -> (Self, Option<io::Error>) {
        let (identity, error) = match object.read_identity() {
            Ok(identity) => (identity, None),
            Err(error) => (Identity::default(), Some(error)),
        };
        (
            Self::of(label, identity, Storage::ObjectStore(object)),
            error,
        )
    }

    fn of(label: &str, identity: Identity, storage: Storage) -> Self {
        Self {
            label: label.to_owned(),
            identity,
            storage,
            changed: Arc::default(),
            scan_bytes: None,
        }
    }

    /// The same file, whose reads `scan_bytes` counts.
    pub(super) fn counted(&self, scan_bytes: &Count) -> Self {
        Self {
            scan_bytes: Some(scan_bytes.clone()),
            ..self.clone()
        }
    }

    fn note_read(&self, num_bytes: usize) {
        SCANNED_BYTES.fetch_add(num_bytes as u64, Ordering::Relaxed);
        if let Some(scan_bytes) = &self.scan_bytes {
            scan_bytes.add(num_bytes);
        }
    }

    /// File `index` of a lender.
    pub(super) fn lent(lender: &Arc<dyn FileLender>, index: usize, file: LentFile) -> Self {
        let lender = Arc::clone(lender);
        Self {
            label: file.label,
            identity: file.identity,
            storage: if file.is_remote {
                Storage::Lent(lender, index)
            } else {
                Storage::Disk(DiskFile::lent(lender, index))
            },
            changed: Arc::default(),
            scan_bytes: None,
        }
    }

    /// The file as another process needs to know it.
    pub(super) fn lend(&self) -> LentFile {
        LentFile {
            label: self.label.clone(),
            identity: self.identity.clone(),
            is_remote: self.is_remote(),
        }
    }

    /// A descriptor of the file on disk. Blocks.
    ///
    /// # Errors
    /// The file has changed, cannot be opened, or is an object.
    pub fn descriptor(&self) -> io::Result<File> {
        match &self.storage {
            Storage::Disk(file) => self.checked(file.descriptor(&self.identity)),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Opens the file at the same path or address again. With an error, the file is the closed one. Blocks.
    pub(super) fn opened_again(&self) -> (Self, Option<io::Error>) {
        let path = match &self.storage {
            Storage::ObjectStore(object) => {
                return Self::opened_object(Arc::clone(object), &self.label);
            }
            Storage::Disk(file) => file.path(),
            Storage::Lent(..) => None,
        };
        match path {
            Some((path, root)) => Self::opened(path, &self.label, root),
            None => (self.clone(), Some(io::ErrorKind::Unsupported.into())),
        }
    }

    /// Its path relative to the source, by which the files of a table are ordered.
    pub(super) fn path(&self) -> &Path {
        Path::new(&self.label)
    }

    /// The size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.identity.size_bytes
    }

    /// The folder of a file on disk.
    pub(super) fn folder(&self) -> Option<&Path> {
        match &self.storage {
            Storage::Disk(file) => file.path().and_then(|(path, _)| path.parent()),
            Storage::ObjectStore(_) | Storage::Lent(..) => None,
        }
    }

    /// Whether each read is a request over the network.
    pub(super) fn is_remote(&self) -> bool {
        !matches!(self.storage, Storage::Disk(_))
    }

    /// Whether a read or a look has seen the file in another state. If it `looks`, it looks first; an object is checked
    /// in the background, because its store may be slow, and a later call returns the result.
    pub fn has_changed(&self, looks: bool) -> bool {
        if !looks || self.changed.load(Ordering::Relaxed) {
            return self.changed.load(Ordering::Relaxed);
        }
        match &self.storage {
            Storage::Disk(file) => {
                let is_same = file.is_at_path(&self.identity);
                if !is_same {
                    self.changed.store(true, Ordering::Relaxed);
                }
                !is_same
            }
            Storage::ObjectStore(object) => {
                object.check_in_background(&self.identity, &self.changed);
                false
            }
            Storage::Lent(..) => false,
        }
    }

    /// The bytes of `range`. Blocks. After reading, checks that the file is in the state in which it
    /// was opened.
    ///
    /// # Errors
    /// The file has changed, `range` is not inside it, or the disk or the object store fails.
    pub fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let num_bytes = checked_len(&range, self.size_bytes())?;
        if num_bytes == 0 {
            return Ok(Bytes::new());
        }
        self.note_read(num_bytes);
        match &self.storage {
            Storage::Disk(file) => {
                let read = |file: &File| read_vec_at(file, num_bytes, range.start);
                Ok(self.checked(file.read(&self.identity, read))?.into())
            }
            Storage::ObjectStore(object) => {
                self.checked(object.read_blocking(range, &self.identity))
            }
            Storage::Lent(lender, index) => {
                let mut read = lender.read(*index, vec![range])?;
                Ok(read.pop().unwrap_or_default())
            }
        }
    }

    /// Like [`SourceFile::read`], but reads into `bytes`, beginning at `offset`.
    ///
    /// # Errors
    /// As [`SourceFile::read`].
    pub fn read_into(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        match &self.storage {
            Storage::Disk(file) => {
                self.note_read(bytes.len());
                let read = |file: &File| read_exact_at(file, bytes, offset);
                self.checked(file.read(&self.identity, read))
            }
            Storage::ObjectStore(_) | Storage::Lent(..) => {
                let end = offset.saturating_add(bytes.len() as u64);
                bytes.copy_from_slice(&self.read(offset..end)?);
                Ok(())
            }
        }
    }

    /// Like [`SourceFile::read`], but without the check if that takes a system call of its own. The
    /// bytes may only be used after [`SourceFile::confirm`].
    ///
    /// # Errors
    /// As [`SourceFile::read`].
    pub(super) fn read_unconfirmed(&self, range: Range<u64>) -> io::Result<Bytes> {
        let Storage::Disk(file) = &self.storage else {
            return self.read(range);
        };
        let num_bytes = checked_len(&range, self.size_bytes())?;
        self.note_read(num_bytes);
        let read = |file: &File| read_vec_at(file, num_bytes, range.start);
        Ok(self
            .checked(file.read_unconfirmed(&self.identity, read))?
            .into())
    }

    /// Like [`SourceFile::read_unconfirmed`], but reads into `bytes`, beginning at `offset`.
    ///
    /// # Errors
    /// As [`SourceFile::read`].
    pub(super) fn read_into_unconfirmed(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let Storage::Disk(file) = &self.storage else {
            return self.read_into(offset, bytes);
        };
        self.note_read(bytes.len());
        let read = |file: &File| read_exact_at(file, bytes, offset);
        self.checked(file.read_unconfirmed(&self.identity, read))
    }

    /// Checks that the file is in the state in which it was opened. Blocks.
    ///
    /// # Errors
    /// The file has changed.
    pub(super) fn confirm(&self) -> io::Result<()> {
        match &self.storage {
            Storage::Disk(file) => self.checked(file.confirm(&self.identity)),
            Storage::ObjectStore(_) | Storage::Lent(..) => Ok(()),
        }
    }

    /// The bytes of several ranges, without blocking.
    ///
    /// # Errors
    /// As [`SourceFile::read`].
    pub fn read_ranges(
        &self,
        ranges: Vec<Range<u64>>,
    ) -> impl Future<Output = io::Result<Vec<Bytes>>> + Send + use<> {
        let file = self.clone();
        async move {
            if let Storage::ObjectStore(object) = &file.storage {
                for range in &ranges {
                    file.note_read(checked_len(range, file.size_bytes())?);
                }
                let object = Arc::clone(object);
                return file.checked(object.read_ranges(ranges, &file.identity).await);
            }
            let read = move || match &file.storage {
                Storage::Lent(lender, index) => {
                    for range in &ranges {
                        file.note_read(checked_len(range, file.size_bytes())?);
                    }
                    lender.read(*index, ranges)
                }
                _ => ranges.into_iter().map(|range| file.read(range)).collect(),
            };
            tokio::task::spawn_blocking(read).await?
        }
    }

    fn checked<T>(&self, read: Result<T, ReadError>) -> io::Result<T> {
        read.map_err(|error| match error {
            ReadError::Failed(error) => error,
            ReadError::Changed => {
                self.changed.store(true, Ordering::Relaxed);
                io::Error::other(format!(
                    "{}: the file changed while it was read",
                    self.label
                ))
            }
        })
    }
}

/// The length of `range`, if the range lies inside `size_bytes`.
fn checked_len(range: &Range<u64>, size_bytes: u64) -> io::Result<usize> {
    let num_bytes = range.end.checked_sub(range.start);
    num_bytes
        .filter(|_| range.end <= size_bytes)
        .and_then(|num_bytes| usize::try_from(num_bytes).ok())
        .ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!(
                    "bytes {} to {} were requested, but there are {size_bytes}",
                    range.start, range.end
                ),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::path::PathBuf;
    use std::time::SystemTime;

    fn made(name: &str, text: &str) -> (tempfile::TempDir, PathBuf, SourceFile) {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let file = SourceFile::open(&path, name, None).unwrap();
        (folder, path, file)
    }

    #[test]
    fn bytes_of_the_file_that_was_opened() {
        let (_folder, _, file) = made("a", "0123456789");
        assert_eq!(&file.read(2..5).unwrap()[..], b"234");
        assert!(file.read(5..11).is_err() && !file.has_changed(true));
        #[allow(clippy::reversed_empty_ranges)]
        let backwards = file.read(5..2);
        assert!(backwards.is_err());
    }

    #[test]
    fn nothing_is_read_of_a_file_that_changed() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 6] = [
            ("replaced", |path| {
                fs::write(path.with_extension("new"), "abcdefghij").unwrap();
                fs::rename(path.with_extension("new"), path).unwrap();
            }),
            ("removed", |path| fs::remove_file(path).unwrap()),
            ("rewritten", |path| fs::write(path, "abcdefghij").unwrap()),
            ("rewritten in its old time", |path| {
                let modified = fs::metadata(path).unwrap().modified().unwrap();
                fs::write(path, "abcdefghij").unwrap();
                let file = File::options().write(true).open(path).unwrap();
                file.set_modified(modified).unwrap();
            }),
            ("cut", |path| {
                let file = File::options().write(true).open(path).unwrap();
                file.set_len(3).unwrap();
            }),
            ("appended", |path| {
                let mut file = File::options().append(true).open(path).unwrap();
                file.write_all(b"x").unwrap();
            }),
        ];
        for (name, change) in changes {
            let (_folder, path, file) = made("a", "0123456789");
            // The clock of a file system may have a resolution of some milliseconds.
            let before = SystemTime::now() - std::time::Duration::from_secs(5);
            let handle = File::options().write(true).open(&path).unwrap();
            handle.set_modified(before).unwrap();
            let file = file.opened_again().0;
            assert!(file.read(0..2).is_ok());
            change(&path);
            assert!(file.read(0..2).is_err(), "{name}");
            assert!(file.has_changed(false), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_not_opened() {
        let folder = tempfile::TempDir::new().unwrap();
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        for path in [fifo.as_path(), folder.path(), Path::new("/dev/zero")] {
            assert!(SourceFile::open(path, "x", None).is_err(), "{path:?}");
        }
    }
}
