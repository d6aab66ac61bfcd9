//! The records of results on disk, so that a later process can serve their readers.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::backend::request::Request;
use crate::results::properties::ResultProperties;
use crate::results::record::ResultRecord;

/// Records older than this are removed.
const MAX_AGE: Duration = Duration::from_secs(3600);

/// A folder with a small file for each result.
#[derive(Debug)]
pub(super) struct SavedRecords {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct SavedRecord {
    request: Request,
    #[serde(rename = "facts")]
    properties: ResultProperties,
}

impl SavedRecords {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The results of an earlier process. Files that are old or cannot be parsed are removed.
    pub(super) fn load(&self) -> Vec<ResultRecord> {
        let Ok(files) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let mut records = Vec::new();
        for file in files.flatten() {
            match read(&file) {
                Some(saved) => {
                    records.push(ResultRecord::restored(saved.request, saved.properties));
                }
                None => {
                    // A file that cannot be removed stays.
                    let _ = fs::remove_file(file.path());
                }
            }
        }
        records
    }

    /// Writes a record. If this fails, a later process does not know the result.
    pub(super) fn save(&self, record: &ResultRecord) {
        let Some(properties) = record.properties() else {
            return;
        };
        let saved = SavedRecord {
            request: record.request.clone(),
            properties: properties.clone(),
        };
        let written = serde_json::to_vec(&saved)
            .map_err(io::Error::other)
            .and_then(|json| {
                let partial = self.path(record.id).with_extension("part");
                fs::write(&partial, json)?;
                fs::rename(&partial, self.path(record.id))
            });
        if let Err(error) = written {
            tracing::warn!(id = %record.id, "a query record could not be saved: {error}");
        }
    }

    pub(super) fn remove(&self, id: Uuid) {
        // It may never have been saved.
        let _ = fs::remove_file(self.path(id));
    }

    fn path(&self, id: Uuid) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

fn read(file: &fs::DirEntry) -> Option<SavedRecord> {
    let written = file.metadata().ok()?.modified().ok()?;
    let age = SystemTime::now()
        .duration_since(written)
        .unwrap_or_default();
    if age > MAX_AGE {
        return None;
    }
    serde_json::from_slice(&fs::read(file.path()).ok()?).ok()
}
