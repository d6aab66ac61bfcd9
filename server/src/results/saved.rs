//! What a later process must know of a query, so that its reader can go on.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::backend::request::Request;
use crate::results::{Facts, Query};

/// Records of queries older than this are of no use to anybody.
const MAX_AGE: Duration = Duration::from_secs(3600);

/// A folder with a small file for each query.
#[derive(Debug)]
pub(super) struct Saved {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Record {
    request: Request,
    facts: Facts,
}

impl Saved {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The queries of an earlier process. Files that are old or not understood are removed.
    pub(super) fn load(&self) -> Vec<Query> {
        let Ok(files) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let mut queries = Vec::new();
        for file in files.flatten() {
            match read(&file) {
                Some(record) => queries.push(Query::restored(record.request, record.facts)),
                None => {
                    // Somebody else's file that may not be removed is none of ours.
                    let _ = fs::remove_file(file.path());
                }
            }
        }
        queries
    }

    /// Writes a query's record. A failure costs only that a later process does not know the query.
    pub(super) fn save(&self, query: &Query) {
        let Some(facts) = query.facts() else {
            return;
        };
        let record = Record {
            request: query.request.clone(),
            facts: facts.clone(),
        };
        let written = serde_json::to_vec(&record)
            .map_err(io::Error::other)
            .and_then(|json| {
                let part = self.path(query.id).with_extension("part");
                fs::write(&part, json)?;
                fs::rename(&part, self.path(query.id))
            });
        if let Err(error) = written {
            tracing::warn!(id = %query.id, "a query could not be saved: {error}");
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

fn read(file: &fs::DirEntry) -> Option<Record> {
    let written = file.metadata().ok()?.modified().ok()?;
    let age = SystemTime::now()
        .duration_since(written)
        .unwrap_or_default();
    if age > MAX_AGE {
        return None;
    }
    serde_json::from_slice(&fs::read(file.path()).ok()?).ok()
}
