//! Runs that results with the same rows share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::encode::Codec;
use crate::results::record::ResultRecord;
use crate::results::run::Run;

/// What runs with the same messages have in common: statement, columns, sources with versions, the rows of another
/// result, size of the messages and codec, as JSON.
type Content = Vec<u8>;

/// The runs of repeatable results.
#[derive(Debug, Default)]
pub(super) struct SharedRuns {
    runs: Mutex<HashMap<Content, Vec<Weak<Run>>>>,
    starting: Mutex<()>,
}

impl SharedRuns {
    /// Held from a look for a run to the start of a new one, so that two results do not start the same.
    pub(super) fn starting(&self) -> MutexGuard<'_, ()> {
        self.starting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a run of `record`, if its rows are the same in every run.
    pub(super) fn add(&self, record: &ResultRecord, codec: Option<Codec>, run: &Arc<Run>) {
        if let Some(content) = content(record, codec) {
            let mut runs = self.lock();
            runs.retain(|_, runs| {
                runs.retain(|run| run.strong_count() > 0);
                !runs.is_empty()
            });
            runs.entry(content).or_default().push(Arc::downgrade(run));
        }
    }

    /// The runs with the same messages as those of `record` that have not failed, the latest first.
    pub(super) fn of(&self, record: &ResultRecord, codec: Option<Codec>) -> Vec<Arc<Run>> {
        let Some(content) = content(record, codec) else {
            return Vec::new();
        };
        let runs = self.lock();
        let runs = runs.get(&content).into_iter().flatten().rev();
        let runs = runs.filter_map(Weak::upgrade);
        runs.filter(|run| !matches!(run.spool.end(), Some(Err(_))))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Content, Vec<Weak<Run>>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `None` if another run could have other rows, or the result is not planned yet.
fn content(record: &ResultRecord, codec: Option<Codec>) -> Option<Content> {
    let properties = record.properties().filter(|known| known.is_repeatable)?;
    let request = &record.request;
    let codec = codec.map(Codec::name);
    serde_json::to_vec(&(
        &request.source,
        &properties.sources,
        properties.base,
        request.batch_bytes,
        codec,
    ))
    .ok()
}
