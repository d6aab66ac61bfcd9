//! One file of a table, as it was when it was looked at, and reading it only while it still is.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::SystemTime;

use bytes::Bytes;

use crate::read_at::read_exact_at;

/// Descriptors that the process keeps open for its tables; the files after those are opened for
/// each read. Small systems permit 256 descriptors, and connections need some.
const MAX_KEPT: usize = 128;

static NUM_KEPT: AtomicUsize = AtomicUsize::new(0);

/// What tells one state of a file from another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The disk, where there is such a number.
    pub device: u64,
    /// The file's number on that disk.
    pub inode: u64,
    /// Its size.
    pub size_bytes: u64,
    /// When it was last written, to the nanosecond where the disk has it.
    pub modified: Option<SystemTime>,
}

/// A file as it was when it was looked at. Clones share one descriptor, which is closed with the
/// last of them.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Where it is, as it was named; absolute.
    pub path: PathBuf,
    /// How messages name it: relative to the source that was given.
    pub label: String,
    /// The directory, without links, that the file may not lie outside of.
    pub root: Option<PathBuf>,
    /// What it was.
    pub identity: Identity,
    kept: Option<Arc<KeptFile>>,
    changed: Arc<AtomicBool>,
}

impl SourceFile {
    /// Looks at a file. Anything but a regular file is refused without being opened, and so is a
    /// link that leads out of `root`.
    ///
    /// # Errors
    /// It is not there, may not be read, or is no such file.
    pub fn open(path: &Path, label: &str, root: Option<&Path>) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let canonical = fs::canonicalize(&path)?;
        if root.is_some_and(|root| !canonical.starts_with(root)) {
            return Err(io::Error::other(
                "it is a link that leads out of the directory",
            ));
        }
        check_regular(&fs::metadata(&canonical)?)?;
        let file = File::open(&canonical)?;
        let metadata = file.metadata()?;
        check_regular(&metadata)?;
        Ok(Self {
            path,
            label: label.to_owned(),
            root: root.map(Path::to_owned),
            identity: Identity::of(&metadata),
            kept: KeptFile::keep(file),
            changed: Arc::new(AtomicBool::new(false)),
        })
    }

    /// Looks at the same path again.
    ///
    /// # Errors
    /// As [`SourceFile::open`].
    pub fn open_again(&self) -> io::Result<Self> {
        Self::open(&self.path, &self.label, self.root.as_deref())
    }

    /// Its size.
    pub fn size_bytes(&self) -> u64 {
        self.identity.size_bytes
    }

    /// Whether the file on disk is no longer that one, or was not when it was last read.
    pub fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed) || !self.is_at_path()
    }

    fn is_at_path(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|now| Identity::of(&now) == self.identity)
    }

    /// The bytes of `range`; blocks. They are all of the file that was looked at: path and
    /// descriptor are compared with it after the bytes were read.
    ///
    /// # Errors
    /// The file has changed, `range` is not inside it, or the disk fails.
    pub fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let mut bytes = vec![0; checked_len(&range, self.size_bytes())?];
        self.read_into(range.start, &mut bytes)?;
        Ok(bytes.into())
    }

    /// The same into `bytes`, beginning at `offset`.
    ///
    /// # Errors
    /// As [`SourceFile::read`].
    pub fn read_into(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.with_descriptor(|file| read_exact_at(file, bytes, offset))
    }

    /// Does `work` with the descriptor, then compares as [`SourceFile::read`] does.
    ///
    /// # Errors
    /// That of `work`, or that the file has changed.
    pub fn with_descriptor<T>(&self, work: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        let opened;
        let file = match &self.kept {
            Some(kept) => &kept.file,
            None => {
                check_regular(&fs::metadata(&self.path)?)?;
                opened = File::open(&self.path)?;
                &opened
            }
        };
        let done = work(file);
        let is_same = file
            .metadata()
            .is_ok_and(|now| Identity::of(&now) == self.identity);
        if !is_same || !self.is_at_path() {
            self.changed.store(true, Ordering::Relaxed);
            return Err(io::Error::other(format!(
                "{}: the file changed while it was read",
                self.label
            )));
        }
        done
    }
}

impl Identity {
    fn of(metadata: &fs::Metadata) -> Self {
        let (device, inode) = numbers(metadata);
        Self {
            device,
            inode,
            size_bytes: metadata.len(),
            modified: metadata.modified().ok(),
        }
    }
}

/// A descriptor that counts.
#[derive(Debug)]
struct KeptFile {
    file: File,
}

impl KeptFile {
    fn keep(file: File) -> Option<Arc<Self>> {
        let is_room = NUM_KEPT.fetch_add(1, Ordering::Relaxed) < MAX_KEPT;
        // Counts down again where there is no room.
        let kept = Self { file };
        is_room.then(|| Arc::new(kept))
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        NUM_KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The length of `range` if it lies inside `size_bytes`.
fn checked_len(range: &Range<u64>, size_bytes: u64) -> io::Result<usize> {
    let num_bytes = range.end.checked_sub(range.start);
    num_bytes
        .filter(|_| range.end <= size_bytes)
        .and_then(|num_bytes| usize::try_from(num_bytes).ok())
        .ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!(
                    "bytes {} to {} are asked for; there are {size_bytes}",
                    range.start, range.end
                ),
            )
        })
}

fn check_regular(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is no regular file",
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn made(name: &str, text: &str) -> (tempfile::TempDir, SourceFile) {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let file = SourceFile::open(&path, name, None).unwrap();
        (folder, file)
    }

    #[test]
    fn bytes_of_the_file_that_was_opened() {
        let (_folder, file) = made("a", "0123456789");
        assert_eq!(&file.read(2..5).unwrap()[..], b"234");
        assert!(file.read(5..11).is_err() && !file.has_changed());
        #[allow(clippy::reversed_empty_ranges)]
        let backwards = file.read(5..2);
        assert!(backwards.is_err());
    }

    #[test]
    fn nothing_is_read_of_a_file_that_changed() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 5] = [
            ("replaced", |path| {
                fs::write(path.with_extension("new"), "abcdefghij").unwrap();
                fs::rename(path.with_extension("new"), path).unwrap();
            }),
            ("removed", |path| fs::remove_file(path).unwrap()),
            ("rewritten", |path| fs::write(path, "abcdefghij").unwrap()),
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
            let (_folder, file) = made("a", "0123456789");
            // The clock of a file system may stand still for some milliseconds.
            let before = SystemTime::now() - std::time::Duration::from_secs(5);
            let handle = File::options().write(true).open(&file.path).unwrap();
            handle.set_modified(before).unwrap();
            let file = file.open_again().unwrap();
            assert!(file.read(0..2).is_ok());
            change(&file.path);
            assert!(file.read(0..2).is_err(), "{name}");
            assert!(file.has_changed(), "{name}");
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
