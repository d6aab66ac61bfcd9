//! Uploaded tables: files in the data folder, each with a manifest beside it.

mod check;
mod read;
mod receive;
mod validate;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

pub use receive::Upload;

use crate::backend::embedded::Engine;
use crate::error::{ErrorKind, QueryError, StartError};
use crate::metrics::Metrics;
use crate::source::Table;
use crate::source::catalog::{Catalog, Entry};
use crate::source::stored::quota::{self, Quota};
use crate::source::stored::{self, Manifest, StoredFile};

/// The most uploads whose tables are read at the same time.
const MAX_CHECKS: usize = 8;

/// The longest name of a table.
const MAX_NAME_CHARS: usize = 128;

/// The limits of uploads.
#[derive(Debug, Clone, Copy)]
pub struct UploadLimits {
    /// Whether uploads are permitted.
    pub writable: bool,
    /// The largest upload.
    pub max_upload_bytes: u64,
    /// Disk for all uploads.
    pub quota_bytes: u64,
}

/// The uploaded tables of one server.
#[derive(Debug)]
pub struct Uploads {
    folder: PathBuf,
    limits: UploadLimits,
    quota: Arc<Quota>,
    checks: Arc<Semaphore>,
    metrics: Arc<Metrics>,
    /// Names of tables that are not uploaded; those are never replaced.
    sources: HashSet<String>,
    stored: Mutex<HashMap<String, Arc<StoredFile>>>,
}

/// A table that was just uploaded.
#[derive(Debug)]
pub struct Committed {
    /// The table.
    pub table: Arc<Table>,
    /// Whether it replaced another.
    pub is_replaced: bool,
}

impl Uploads {
    /// Loads the tables of earlier runs and removes files that no manifest names.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn open(
        folder: PathBuf,
        limits: UploadLimits,
        sources: &[Table],
        metrics: Arc<Metrics>,
    ) -> Result<(Self, Vec<Table>), StartError> {
        let uploads = Self {
            folder,
            limits,
            quota: Arc::new(Quota::new(limits.quota_bytes)),
            checks: Arc::new(Semaphore::new(MAX_CHECKS)),
            metrics,
            sources: sources.iter().map(|table| table.name.clone()).collect(),
            stored: Mutex::default(),
        };
        let tables = uploads.load().map_err(|error| {
            StartError::Failed(format!(
                "the uploads of an earlier run cannot be read: {error}; give another --data-dir"
            ))
        })?;
        Ok((uploads, tables))
    }

    /// The largest permitted upload, in bytes; `None` if uploads are not permitted.
    pub fn max_upload_bytes(&self) -> Option<u64> {
        let UploadLimits {
            writable,
            max_upload_bytes,
            ..
        } = self.limits;
        writable.then_some(max_upload_bytes)
    }

    fn load(&self) -> io::Result<Vec<Table>> {
        let mut latest: HashMap<String, Manifest> = HashMap::new();
        let (manifests, unreadable) = Manifest::read_all(&self.folder)?;
        // The files of an unreadable manifest stay, so that it can be mended.
        let mut known: HashSet<_> = unreadable.into_iter().collect();
        let mut superseded = Vec::new();
        for manifest in manifests {
            known.insert(manifest.id);
            // An earlier run may have ended between writing a new manifest and removing the old one.
            if let Some(other) = latest.remove(&manifest.name) {
                let (old, new) = if other.version < manifest.version {
                    (other, manifest)
                } else {
                    (manifest, other)
                };
                superseded.push(old.id);
                latest.insert(new.name.clone(), new);
            } else {
                latest.insert(manifest.name.clone(), manifest);
            }
        }
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            // Files with other names are not removed, because the server did not write them.
            let Some(id) = stored::id_of(&path) else {
                continue;
            };
            if stored::is_partial(&path) || !known.contains(&id) || superseded.contains(&id) {
                fs::remove_file(&path)?;
            }
        }
        let mut tables = Vec::new();
        for manifest in latest.into_values() {
            let name = manifest.name.clone();
            let options = manifest.text_options();
            let stored = StoredFile::new(&self.folder, manifest, Arc::clone(&self.quota));
            if self.sources.contains(&name) {
                tracing::warn!("the upload {name:?} is hidden by a source of its name");
            } else {
                match options.and_then(|options| Table::load_upload(&name, &stored.path(), options))
                {
                    Ok(table) => tables.push(table.with_stored(Arc::clone(&stored))),
                    Err(error) => tracing::warn!("the upload {name:?} is left out: {error}"),
                }
                // Also one that cannot be read: it can be deleted, and another one of its name replaces it.
                self.lock().insert(name, stored);
            }
        }
        Ok(tables)
    }

    /// Begins an upload of `num_bytes` bytes, if the size is known.
    ///
    /// # Errors
    /// `not_writable`, `bad_name`, `name_in_use`, `body_too_large`, `storage_full`.
    pub fn begin(&self, name: &str, num_bytes: Option<u64>) -> Result<Upload, QueryError> {
        self.check_writable()?;
        check_name(name)?;
        self.check_source(name)?;
        if num_bytes.is_some_and(|num_bytes| num_bytes > self.limits.max_upload_bytes) {
            return Err(receive::too_large(self.limits.max_upload_bytes));
        }
        if num_bytes.is_some_and(|num_bytes| num_bytes > self.quota.left_bytes()) {
            return Err(quota::full());
        }
        Ok(Upload::new(self, name))
    }

    /// Waits until the table of one more upload may be read.
    pub async fn check_slot(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.checks).acquire_owned().await.ok()
    }

    /// Makes a table of a completely received upload. Blocks while it reads the table. `describe` may refuse
    /// the table; `cancel` ends the reading.
    ///
    /// # Errors
    /// It is not a table, a row of it cannot be read, `describe` refuses it, or the disk fails.
    pub fn commit<T>(
        &self,
        upload: Upload,
        engine: &Engine,
        describe: impl FnOnce(&Table) -> Result<T, QueryError>,
        cancel: &CancellationToken,
    ) -> Result<(Committed, T), QueryError> {
        let (mut upload, stored, table) = upload.check(engine, cancel)?;
        let description = upload.settle(describe(&table))?;
        let mut all = self.lock();
        let name = upload.name().to_owned();
        upload.settle(Self::check_catalog(&name, engine.catalog()))?;
        let version = all.get(&name).map_or(1, |old| old.version() + 1);
        let stored = upload.settle(
            stored
                .publish(version)
                .map_err(|error| receive::disk(&error)),
        )?;
        let table = Arc::new(table.with_stored(Arc::clone(&stored)));
        engine.catalog().put(Arc::clone(&table));
        let old = all.insert(name, stored);
        if let Some(old) = &old {
            old.remove();
        }
        drop(all);
        upload.committed();
        let committed = Committed {
            table,
            is_replaced: old.is_some(),
        };
        Ok((committed, description))
    }

    /// Removes an uploaded table. Queries that read it can finish.
    ///
    /// # Errors
    /// `not_writable`, `name_in_use` for a source, `unknown_table`.
    pub fn remove(&self, name: &str, catalog: &Catalog) -> Result<(), QueryError> {
        self.check_writable()?;
        self.check_source(name)?;
        let mut all = self.lock();
        let Some(stored) = all.remove(name) else {
            return Err(QueryError::new(
                ErrorKind::UnknownTable,
                format!("there is no table {name:?}"),
                "GET /v1/tables lists the tables",
            ));
        };
        catalog.remove(name);
        stored.remove();
        tracing::info!(table = name, "removed");
        Ok(())
    }

    /// Bytes on disk of uploaded tables and of uploads in progress.
    pub fn used_bytes(&self) -> u64 {
        self.quota.used_bytes()
    }

    fn check_writable(&self) -> Result<(), QueryError> {
        if self.limits.writable {
            return Ok(());
        }
        Err(QueryError::new(
            ErrorKind::NotWritable,
            "this server does not accept uploads",
            "start it with --writable",
        ))
    }

    fn check_source(&self, name: &str) -> Result<(), QueryError> {
        if self.sources.contains(name) {
            return Err(name_in_use(name));
        }
        Ok(())
    }

    /// A source may have got a table of that name since the start.
    fn check_catalog(name: &str, catalog: &Catalog) -> Result<(), QueryError> {
        let entries = catalog.entries();
        let is_source = |entry: &Entry| entry.table.name == name && !entry.table.is_uploaded();
        if entries.iter().any(is_source) {
            return Err(name_in_use(name));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<StoredFile>>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks the name of a table.
///
/// # Errors
/// `bad_name`.
fn check_name(name: &str) -> Result<(), QueryError> {
    let num_chars = name.chars().count();
    let what = if num_chars == 0 || num_chars > MAX_NAME_CHARS {
        format!("a name of {num_chars} characters")
    } else if name.chars().any(char::is_control) {
        "a name with control characters".to_owned()
    } else if name.contains('/') || name == "." || name == ".." {
        format!("the name {name:?}")
    } else {
        return Ok(());
    };
    Err(QueryError::new(
        ErrorKind::BadName,
        format!("{what} is not valid for a table"),
        format!("give 1 to {MAX_NAME_CHARS} characters, no control characters and no /"),
    ))
}

fn name_in_use(name: &str) -> QueryError {
    QueryError::new(
        ErrorKind::NameInUse,
        format!("table {name:?} is one of the server's sources"),
        "use another name: only uploaded tables can be replaced or removed",
    )
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names() {
        let long = "ä".repeat(128);
        for name in ["a", "a.b", "...", "größe 1", "__proto__", "\"", "\\", &long] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let longer = "ä".repeat(129);
        for name in ["", ".", "..", "a/b", "/", "a\nb", "\0", "\u{7f}", &longer] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }
}
