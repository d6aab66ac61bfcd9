//! The file of an uploaded table and its manifest.
//!
//! `{id}.{extension}` holds the uploaded bytes, `{id}.json` the table's name. A table exists as soon as
//! its manifest has its final name. `{id}.part…` is a file that is being written.

pub(crate) mod quota;
mod types;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use colonnade_text::TextOptions;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::source::stored::quota::Quota;

pub(crate) use types::StoredTypes;

/// The contents of a manifest, which is stored beside the bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) id: Uuid,
    /// The table's name; never used as a file name.
    pub(crate) name: String,
    /// The extension of the file, which determines its type if the content does not.
    pub(crate) extension: String,
    /// Of two tables of one name, the one with the larger number is served. It is the time of the upload in
    /// milliseconds since 1970, but more than that of the table it replaced.
    pub(crate) version: u64,
    /// How text is read, as keys and values of [`TextOptions::set`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) options: Vec<(String, String)>,
    /// The [`StoredTypes`] of text, in the format of the server that wrote them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) types: Option<Value>,
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

    /// Writes the manifest beside the bytes, all or nothing.
    fn write(&self, folder: &Path) -> io::Result<()> {
        let partial = folder.join(format!("{}.part.json", self.id));
        let written = write_synced(&partial, &serde_json::to_vec(self)?)
            .and_then(|()| fs::rename(&partial, manifest_path(folder, self.id)))
            .and_then(|()| sync_folder(folder));
        if written.is_err() {
            let _ = fs::remove_file(&partial);
        }
        written
    }

    /// Reads all manifests of a folder. Those that cannot be read are logged; the ids of their files are the
    /// second result.
    pub(crate) fn read_all(folder: &Path) -> io::Result<(Vec<Self>, Vec<Uuid>)> {
        let (mut manifests, mut unreadable) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if !may_be_manifest(&path) {
                continue;
            }
            match Self::read(&path) {
                Ok(manifest) => manifests.push(manifest),
                Err(error) => {
                    tracing::warn!("the upload of {} is left out: {error}", path.display());
                    unreadable.extend(id_of(&path));
                }
            }
        }
        Ok((manifests, unreadable))
    }

    fn read(path: &Path) -> io::Result<Self> {
        let manifest: Self = serde_json::from_slice(&fs::read(path)?)?;
        if id_of(path) == Some(manifest.id) {
            Ok(manifest)
        } else {
            Err(io::Error::other("the file has the name of another upload"))
        }
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

    /// The columns of text that were stored; `None` if there are none, or if another version of the server wrote
    /// them.
    pub(crate) fn types(&self) -> Option<StoredTypes> {
        self.manifest.types.as_ref().and_then(StoredTypes::parse)
    }

    /// Stores the columns of text for the next start.
    pub(crate) fn store_types(&self, types: &StoredTypes) -> io::Result<()> {
        let types = Some(serde_json::to_value(types)?);
        let manifest = Manifest {
            types,
            ..self.manifest.clone()
        };
        manifest.write(&self.folder)
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

    /// Writes the manifest, with the columns of text.
    pub(crate) fn publish(
        mut self,
        version: u64,
        types: Option<&StoredTypes>,
    ) -> io::Result<Arc<StoredFile>> {
        self.manifest.version = version;
        self.manifest.types = types.map(serde_json::to_value).transpose()?;
        if let Err(error) = self.manifest.write(&self.folder) {
            let _ = fs::remove_file(manifest_path(&self.folder, self.manifest.id));
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
