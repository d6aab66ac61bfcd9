//! The folder that the server writes to: results, spilled sorts, uploaded tables.

use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::StartError;

/// Marks a folder as a server's, and is locked while a server uses it.
const LOCK_FILE: &str = "colonnade.lock";

/// A folder that every new volume of some file systems has.
const LOST_AND_FOUND: &str = "lost+found";

/// The beginning of the names of temporary folders. Each has a locked lock file, as long as its server runs.
const TEMPORARY: &str = "colonnade-";

/// How long a lock may be held after its server has ended: by a process that the server was about to start.
const LOCK_WAIT: Duration = Duration::from_millis(500);

const SPOOL: &str = "spool";
const SPILL: &str = "spill";
const UPLOADS: &str = "uploads";
const QUERIES: &str = "queries";

/// A folder that one server uses exclusively. Only the server's user may enter its subfolders. A temporary
/// folder is removed when this is closed or dropped.
#[derive(Debug)]
pub struct DataDir {
    root: PathBuf,
    is_temporary: bool,
    _lock: File,
}

impl DataDir {
    /// Opens and locks the given folder, which is created if it is missing, or a temporary one. What an
    /// earlier run left in `spool` and `spill` is removed; `uploads` and `queries` stay.
    ///
    /// # Errors
    /// One line: the folder cannot be used, belongs to another server, or holds other files.
    pub fn open(given: Option<&Path>) -> Result<Self, StartError> {
        let Some(folder) = given else {
            return Self::temporary().map_err(|error| {
                StartError::Failed(format!(
                    "cannot create a temporary folder: {error}; give --data-dir a writable folder"
                ))
            });
        };
        let refuse = |what: &str| {
            StartError::BadArgument(format!(
                "--data-dir {}: {what}; give a writable folder that nothing else uses",
                folder.display()
            ))
        };
        if folder.exists() && !folder.is_dir() {
            return Err(refuse("not a folder"));
        }
        if !folder.exists() {
            make_private(folder).map_err(|error| refuse(&reason(&error)))?;
        }
        let mut files = fs::read_dir(folder).map_err(|error| refuse(&reason(&error)))?;
        let is_empty = files.all(|file| file.is_ok_and(|file| file.file_name() == LOST_AND_FOUND));
        if !is_empty && !folder.join(LOCK_FILE).is_file() {
            return Err(refuse("holds files that are not a server's"));
        }
        let lock = lock(folder).map_err(|error| match error {
            TryLockError::WouldBlock => refuse("another server uses it"),
            TryLockError::Error(error) => refuse(&reason(&error)),
        })?;
        // Absolute, because the working folder may change.
        let root = fs::canonicalize(folder).map_err(|error| refuse(&reason(&error)))?;
        prepare(&root).map_err(|error| refuse(&reason(&error)))?;
        Ok(Self {
            root,
            is_temporary: false,
            _lock: lock,
        })
    }

    fn temporary() -> io::Result<Self> {
        let parent = std::env::temp_dir();
        // `tempdir_in` creates it so that only its user may enter. It gets its name when it is locked.
        let made = tempfile::Builder::new()
            .prefix(".colonnade-")
            .tempdir_in(&parent)?;
        remove_abandoned(&parent, &fs::metadata(made.path())?);
        let lock = lock(made.path())?;
        prepare(made.path())?;
        let hidden = made.keep();
        let name = hidden.file_name().unwrap_or_default().to_string_lossy();
        let named = parent.join(name.trim_start_matches('.'));
        // Windows renames no folder with an open file.
        let root = fs::rename(&hidden, &named).map_or(hidden, |()| named);
        Ok(Self {
            root: fs::canonicalize(root)?,
            is_temporary: true,
            _lock: lock,
        })
    }

    /// The folder of results that are kept for a reader; emptied at start.
    pub fn spool(&self) -> PathBuf {
        self.root.join(SPOOL)
    }

    /// The folder of spill files of sorts and other operators; emptied at start.
    pub fn spill(&self) -> PathBuf {
        self.root.join(SPILL)
    }

    /// The folder of uploaded tables.
    pub fn uploads(&self) -> PathBuf {
        self.root.join(UPLOADS)
    }

    /// The folder of saved query records.
    pub fn queries(&self) -> PathBuf {
        self.root.join(QUERIES)
    }

    /// Removes a temporary folder, even while others still hold this value.
    pub fn close(&self) {
        if !self.is_temporary {
            return;
        }
        // Work that is just ending may still create a file in it.
        for _ in 0..5 {
            match fs::remove_dir_all(&self.root) {
                Ok(()) => return,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return,
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        tracing::warn!(
            "the temporary folder {} could not be removed",
            self.root.display()
        );
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        self.close();
    }
}

fn lock(folder: &Path) -> Result<File, TryLockError> {
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(LOCK_FILE))
        .map_err(TryLockError::Error)?;
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            locked => return locked.map(|()| lock),
        }
    }
}

/// Removes the temporary folders of servers that were killed, if they belong to the user to whom `own` belongs.
fn remove_abandoned(parent: &Path, own: &Metadata) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let folder = entry.path();
        let is_named = entry.file_name().to_string_lossy().starts_with(TEMPORARY);
        let is_ours = entry
            .metadata()
            .is_ok_and(|found| found.is_dir() && is_of_same_user(&found, own));
        if !is_named || !is_ours {
            continue;
        }
        let lock = File::options().write(true).open(folder.join(LOCK_FILE));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            tracing::info!("removing {}, which a server left", folder.display());
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

#[cfg(unix)]
fn is_of_same_user(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    one.uid() == other.uid()
}

/// Each user has a folder for temporary files.
#[cfg(not(unix))]
fn is_of_same_user(_: &Metadata, _: &Metadata) -> bool {
    true
}

fn prepare(root: &Path) -> io::Result<()> {
    for name in [SPOOL, SPILL] {
        match fs::remove_dir_all(root.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    for name in [SPOOL, SPILL, UPLOADS, QUERIES] {
        make_private(&root.join(name))?;
    }
    Ok(())
}

/// Creates a folder, if it is missing, and lets only its user enter.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    #[cfg(unix)]
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "it is read-only".to_owned(),
        io::ErrorKind::NotADirectory => "not a folder".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_folder_is_made_locked_and_kept() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/b");
        let first = DataDir::open(Some(&folder)).unwrap();
        fs::write(first.spool().join("old"), "x").unwrap();
        fs::write(first.spill().join("old"), "x").unwrap();
        fs::write(first.uploads().join("table"), "x").unwrap();
        fs::write(first.queries().join("query"), "x").unwrap();

        let second = DataDir::open(Some(&folder)).unwrap_err();
        assert_eq!(second.exit_code(), 2);
        assert!(second.to_string().contains("another server uses it"));
        drop(first);

        let again = DataDir::open(Some(&folder)).unwrap();
        assert_eq!(fs::read_dir(again.spool()).unwrap().count(), 0);
        assert_eq!(fs::read_dir(again.spill()).unwrap().count(), 0);
        assert_eq!(fs::read_dir(again.uploads()).unwrap().count(), 1);
        assert_eq!(fs::read_dir(again.queries()).unwrap().count(), 1);
        #[cfg(unix)]
        for folder in [&folder, &again.spool(), &again.uploads()] {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(folder).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
        }
    }

    #[test]
    fn a_temporary_folder_goes() {
        let dir = DataDir::open(None).unwrap();
        let root = dir.root.clone();
        fs::write(dir.spool().join("result"), "x").unwrap();
        drop(dir);
        assert!(!root.exists());
    }

    #[test]
    fn temporary_folders_of_killed_servers_go() {
        let parent = tempfile::tempdir().unwrap();
        let made = |name: &str, has_lock: bool| {
            let folder = parent.path().join(name);
            fs::create_dir_all(folder.join(SPOOL)).unwrap();
            if has_lock {
                fs::write(folder.join(LOCK_FILE), "").unwrap();
            }
            folder
        };
        let left = made("colonnade-left", true);
        let in_use = made("colonnade-used", true);
        let _lock = lock(&in_use).unwrap();
        let others = [made("colonnade-other", false), made("other", true)];
        remove_abandoned(parent.path(), &fs::metadata(parent.path()).unwrap());
        assert!(!left.exists());
        assert!(in_use.exists() && others.iter().all(|folder| folder.exists()));
    }

    #[test]
    fn a_new_volume_is_a_data_folder() {
        let volume = tempfile::tempdir().unwrap();
        fs::create_dir(volume.path().join(LOST_AND_FOUND)).unwrap();
        DataDir::open(Some(volume.path())).unwrap();
        DataDir::open(Some(volume.path())).unwrap();
    }

    #[test]
    fn a_folder_of_something_else_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(SPOOL)).unwrap();
        fs::write(folder.path().join("spool/mine"), "x").unwrap();
        let error = DataDir::open(Some(folder.path())).unwrap_err();
        assert!(error.to_string().contains("not a server's"), "{error}");
        assert!(folder.path().join("spool/mine").exists());

        let file = folder.path().join("spool/mine");
        let error = DataDir::open(Some(&file)).unwrap_err();
        assert!(error.to_string().contains("not a folder"), "{error}");
        let error = DataDir::open(Some(&file.join("below"))).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("not a folder"), "{error}");
    }
}
