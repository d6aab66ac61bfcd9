//! One upload while it is received and checked.

use std::fs;
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::backend::embedded::Engine;
use crate::error::{ErrorKind, QueryError};
use crate::metrics::Metrics;
use crate::source::Table;
use crate::source::stored::quota::Quota;
use crate::source::stored::{Manifest, Unpublished};
use crate::uploads::Uploads;
use crate::uploads::check::{bad, extension, kind_of, suggested_extension};
use crate::uploads::read::read_whole;
use crate::uploads::validate::validate;

/// Bytes of a body that may wait for the disk.
const MAX_WAITING_BYTES: usize = 256 << 10;

/// An upload. Dropping it before it becomes a table removes its file.
#[derive(Debug)]
pub struct Upload {
    id: Uuid,
    name: String,
    folder: PathBuf,
    partial: PathBuf,
    max_bytes: u64,
    num_bytes: u64,
    quota: Arc<Quota>,
    quota_bytes: u64,
    metrics: Arc<Metrics>,
    is_validated: bool,
    options: Vec<(String, String)>,
    code: Option<&'static str>,
    is_committed: bool,
}

impl Upload {
    pub(super) fn new(uploads: &Uploads, name: &str) -> Self {
        Self {
            id: Uuid::new_v4(),
            name: name.to_owned(),
            folder: uploads.folder.clone(),
            partial: PathBuf::new(),
            max_bytes: uploads.limits.max_upload_bytes,
            num_bytes: 0,
            quota: Arc::clone(&uploads.quota),
            quota_bytes: 0,
            metrics: Arc::clone(&uploads.metrics),
            is_validated: false,
            options: Vec::new(),
            code: None,
            is_committed: false,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Requests the checks of an Arrow upload that are not necessary for reading it.
    pub fn validate(&mut self) {
        self.is_validated = true;
    }

    /// Says how the text of the upload is read, as keys and values of `TextOptions::set`.
    pub fn set_options(&mut self, options: Vec<(String, String)>) {
        self.options = options;
    }

    /// Creates the file. The media type suggests the format if the content does not identify it.
    ///
    /// # Errors
    /// `storage_full` or another failure of the disk.
    pub fn open(&mut self, media_type: &str) -> Result<File, QueryError> {
        let suggested = suggested_extension(media_type);
        self.partial = self.folder.join(format!("{}.part.{suggested}", self.id));
        let made = fs::File::options()
            .write(true)
            .create_new(true)
            .open(&self.partial)
            .map_err(|error| disk(&error));
        let mut file = File::from_std(self.settle(made)?);
        file.set_max_buf_size(MAX_WAITING_BYTES);
        Ok(file)
    }

    /// Writes the next chunk of the body, in part while others arrive.
    ///
    /// # Errors
    /// `body_too_large`, `storage_full` or another failure of the disk.
    pub async fn write(&mut self, file: &mut File, chunk: &[u8]) -> Result<(), QueryError> {
        let num_bytes = chunk.len() as u64;
        self.num_bytes += num_bytes;
        self.metrics.upload_received_bytes.inc_by(num_bytes);
        if self.num_bytes > self.max_bytes {
            return self.settle(Err(too_large(self.max_bytes)));
        }
        let taken = self.quota.take(num_bytes);
        self.settle(taken)?;
        self.quota_bytes += num_bytes;
        let written = file.write_all(chunk).await;
        self.settle(written.map_err(|error| disk(&error)))
    }

    /// Waits until the whole body is on the disk.
    ///
    /// # Errors
    /// `storage_full` or another failure of the disk.
    pub async fn finish(&mut self, mut file: File) -> Result<(), QueryError> {
        let written = async {
            file.flush().await?;
            file.sync_all().await
        };
        let written = written.await.map_err(|error| disk(&error));
        self.settle(written)
    }

    /// Records the code of a failure for the log.
    pub fn settle<T>(&mut self, result: Result<T, QueryError>) -> Result<T, QueryError> {
        if let Err(error) = &result {
            self.code = Some(error.kind.code());
        }
        result
    }

    /// Checks that the upload is a table, and loads it.
    pub(super) fn check(
        mut self,
        engine: &Engine,
        cancel: &CancellationToken,
    ) -> Result<(Self, Unpublished, Table), QueryError> {
        let checked = self.checked(engine, cancel);
        let (stored, table) = self.settle(checked)?;
        Ok((self, stored, table))
    }

    fn checked(
        &mut self,
        engine: &Engine,
        cancel: &CancellationToken,
    ) -> Result<(Unpublished, Table), QueryError> {
        let manifest = Manifest {
            id: self.id,
            name: self.name.clone(),
            extension: String::new(),
            version: 0,
            options: std::mem::take(&mut self.options),
        };
        let options = manifest.text_options().map_err(bad)?;
        let kind = kind_of(&self.partial, &|| cancel.is_cancelled())?;
        let manifest = Manifest {
            extension: extension(kind).to_owned(),
            ..manifest
        };
        // From here on, the stored file accounts for the bytes.
        let num_bytes = std::mem::take(&mut self.quota_bytes);
        let quota = Arc::clone(&self.quota);
        let stored = Unpublished::new(&self.folder, &self.partial, manifest, num_bytes, quota)
            .map_err(|error| disk(&error))?;
        // A damaged file can make a reader panic.
        let load = || Table::load_upload(&self.name, &stored.path(), options);
        let loaded = std::panic::catch_unwind(AssertUnwindSafe(load))
            .map_err(|_| bad(format!("{}: the file is damaged", self.name)))?;
        let table = loaded.map_err(bad)?;
        if table.schema.fields().is_empty() {
            return Err(bad(format!("{}: the table has no columns", self.name)));
        }
        read_whole(&table, engine, cancel)?;
        if self.is_validated {
            validate(&stored.path(), kind.format, &|| cancel.is_cancelled())?;
        }
        Ok((stored, table))
    }

    pub(super) fn committed(&mut self) {
        self.is_committed = true;
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let is_there = fs::exists(&self.partial).unwrap_or(false);
        if is_there && let Err(error) = fs::remove_file(&self.partial) {
            tracing::warn!("a partial upload could not be removed: {error}");
        }
        self.quota.give_back(self.quota_bytes);
        self.metrics.upload(self.is_committed);
        let (table, bytes) = (self.name.as_str(), self.num_bytes);
        if self.is_committed {
            tracing::info!(table, bytes, state = "done", "upload");
        } else {
            let code = self.code.unwrap_or("cut");
            tracing::info!(table, bytes, state = "failed", code, "upload");
        }
    }
}

pub(super) fn too_large(max_bytes: u64) -> QueryError {
    QueryError::new(
        ErrorKind::BodyTooLarge,
        format!("the upload is larger than {max_bytes} bytes"),
        "send less, or start the server with a larger --max-upload",
    )
}

/// The error for a failure of the disk.
pub(super) fn disk(error: &io::Error) -> QueryError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => QueryError::new(
            ErrorKind::StorageFull,
            "the disk is full",
            "free space on the disk of --data-dir, or give another folder",
        ),
        _ => QueryError::new(
            ErrorKind::Internal,
            format!("the upload cannot be stored: {error}"),
            "check the disk of --data-dir",
        ),
    }
}
