//! The file of an uploaded table and its manifest.
//!
//! `{id}.{extension}` holds the uploaded bytes, `{id}.json` the table's name. A table exists as soon as
//! its manifest has its final name. `{id}.part…` is a file that is being written.

pub(crate) mod quota;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use colonnade_text::TextOptions;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::source::stored::quota::Quota;

/// The contents of a manifest, which is stored beside the bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) id: Uuid,
    /// The table's name; never used as a file name.
    pub(crate) name: String,
    /// The extension of the file, which determines its type if the content does not.
    pub(crate) extension: String,
    /// 1 for the first table of its name; each replacement has the next number.
    pub(crate) version: u64,
    /// How text is read, as keys and values of [`TextOptions::set`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) options: Vec<(String, String)>,
}

impl Manifest {
    /// How text is read.
    ///
    /// # Errors
    /// One line: an option is not valid.
    pub(crate) fn text_options(&self) -> Result<Arc<TextOptions>, String> {
        let mut options = TextOptions::default();
        for (key, value) in &self.options {
            options.set(key, value)?;
        }
        Ok(Arc::new(options))
    }

    /// The manifests of a folder, and the ids of those that cannot be read.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn read_all(folder: &Path) -> io::Result<(Vec<Self>, Vec<Uuid>)> {
        let (mut manifests, mut unreadable) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let Some(id) = id_of(&path).filter(|_| may_be_manifest(&path)) else {
                continue;
            };
            let read = fs::read(&path).and_then(|json| Ok(serde_json::from_slice::<Self>(&json)?));
            match read {
                Ok(manifest) if manifest.id == id => manifests.push(manifest),
                other => {
                    let why = other
                        .err()
                        .map_or("its id is wrong".to_owned(), |e| e.to_string());
                    tracing::warn!(
                        "an upload is left out: {} cannot be read: {why}",
                        path.display()
                    );
                    unreadable.push(id);
                }
            }
        }
        Ok((manifests, unreadable))
    }
}

/// Whether a file has the name of a manifest, and not that of uploaded JSON, `{id}.data.json`.
fn may_be_manifest(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split_once('.').is_some_and(|(_, rest)| rest == "json")
}

/// The id at the beginning of a file's name.
pub(crate) fn id_of(path: &Path) -> Option<Uuid> {
    let name = path.file_name()?.to_str()?;
    Uuid::try_parse(name.split('.').next()?).ok()
}

/// Whether a file is still being written.
pub(crate) fn is_partial(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.split('.').nth(1))
        == Some("part")
}

/// The bytes of one version of an uploaded table. After the table is removed, the file is deleted when
/// the last reference is dropped, so that running queries can finish.
#[derive(Debug)]
pub struct StoredFile {
    folder: PathBuf,
    manifest: Manifest,
    num_bytes: u64,
    quota: Arc<Quota>,
    is_removed: AtomicBool,
}

impl StoredFile {
    /// A file that was uploaded in an earlier run of the server.
    pub(crate) fn new(folder: &Path, manifest: Manifest, quota: Arc<Quota>) -> Arc<Self> {
        let mut stored = Self {
            folder: folder.to_owned(),
            manifest,
            num_bytes: 0,
            quota,
            is_removed: AtomicBool::new(false),
        };
        stored.num_bytes = fs::metadata(stored.path()).map_or(0, |metadata| metadata.len());
        stored.quota.take_existing(stored.num_bytes);
        Arc::new(stored)
    }

    pub(crate) fn version(&self) -> u64 {
        self.manifest.version
    }

    /// Removes the table from later runs, and deletes its bytes when nobody reads them any more.
    pub(crate) fn remove(&self) {
        self.is_removed.store(true, Ordering::Relaxed);
        if let Err(error) = fs::remove_file(manifest_path(&self.folder, self.manifest.id)) {
            tracing::warn!("the manifest of an upload could not be removed: {error}");
        }
    }

    /// The path of the bytes.
    pub(crate) fn path(&self) -> PathBuf {
        file_path(&self.folder, self.manifest.id, &self.manifest.extension)
    }
}

impl Drop for StoredFile {
    fn drop(&mut self) {
        if self.is_removed.load(Ordering::Relaxed) {
            if let Err(error) = fs::remove_file(self.path()) {
                tracing::warn!("the bytes of an upload could not be removed: {error}");
            }
            self.quota.give_back(self.num_bytes);
        }
    }
}

/// A complete file that is not a table yet. Dropping it deletes the file.
#[derive(Debug)]
pub(crate) struct Unpublished {
    folder: PathBuf,
    manifest: Manifest,
    num_bytes: u64,
    quota: Arc<Quota>,
    is_published: bool,
}

impl Unpublished {
    /// Gives a complete file its name. Its bytes are on disk and counted in the quota.
    pub(crate) fn new(
        folder: &Path,
        partial: &Path,
        manifest: Manifest,
        num_bytes: u64,
        quota: Arc<Quota>,
    ) -> io::Result<Self> {
        let path = file_path(folder, manifest.id, &manifest.extension);
        if let Err(error) = fs::rename(partial, path) {
            quota.give_back(num_bytes);
            return Err(error);
        }
        Ok(Self {
            folder: folder.to_owned(),
            manifest,
            num_bytes,
            quota,
            is_published: false,
        })
    }

    /// The path of the bytes.
    pub(crate) fn path(&self) -> PathBuf {
        file_path(&self.folder, self.manifest.id, &self.manifest.extension)
    }

    /// Writes the manifest.
    pub(crate) fn publish(mut self, version: u64) -> io::Result<Arc<StoredFile>> {
        self.manifest.version = version;
        let partial = self.folder.join(format!("{}.part.json", self.manifest.id));
        let path = manifest_path(&self.folder, self.manifest.id);
        let written = write_synced(&partial, &serde_json::to_vec(&self.manifest)?)
            .and_then(|()| fs::rename(&partial, &path))
            .and_then(|()| sync_folder(&self.folder));
        if let Err(error) = written {
            let _ = fs::remove_file(&partial);
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        self.is_published = true;
        Ok(Arc::new(StoredFile {
            folder: self.folder.clone(),
            manifest: self.manifest.clone(),
            num_bytes: self.num_bytes,
            quota: Arc::clone(&self.quota),
            is_removed: AtomicBool::new(false),
        }))
    }
}

impl Drop for Unpublished {
    fn drop(&mut self) {
        if !self.is_published {
            let _ = fs::remove_file(self.path());
            self.quota.give_back(self.num_bytes);
        }
    }
}

fn file_path(folder: &Path, id: Uuid, extension: &str) -> PathBuf {
    folder.join(format!("{id}.{extension}"))
}

fn manifest_path(folder: &Path, id: Uuid) -> PathBuf {
    folder.join(format!("{id}.json"))
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    io::Write::write_all(&mut file, bytes)?;
    file.sync_all()
}

/// A name is only on disk after its folder has been synced.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
