//! All queries by id.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uuid::Uuid;

use crate::error::{ErrorKind, QueryError};
use crate::query::QueryRecord;

/// How long an ended query is remembered.
const KEEP: Duration = Duration::from_secs(600);

/// How many ended queries are remembered at most.
const MAX_ENDED: usize = 1000;

/// The queries that run, and those that ended in the last 10 minutes.
#[derive(Debug, Default)]
pub struct Registry {
    records: Mutex<HashMap<Uuid, Arc<QueryRecord>>>,
}

impl Registry {
    /// Begins a query.
    ///
    /// # Errors
    /// `id_in_use`.
    pub fn begin(&self, id: Uuid, first_row: u64) -> Result<Arc<QueryRecord>, QueryError> {
        let mut records = self.lock();
        forget_old(&mut records);
        if records.contains_key(&id) {
            return Err(QueryError::new(
                ErrorKind::IdInUse,
                format!("query {id} exists already"),
                "use a new id for a new query, or leave it out",
            ));
        }
        let record = Arc::new(QueryRecord::new(id, first_row));
        records.insert(id, Arc::clone(&record));
        Ok(record)
    }

    /// The query with that id.
    ///
    /// # Errors
    /// `unknown_query`.
    pub fn get(&self, id: Uuid) -> Result<Arc<QueryRecord>, QueryError> {
        let mut records = self.lock();
        forget_old(&mut records);
        records.get(&id).map(Arc::clone).ok_or_else(|| {
            QueryError::new(
                ErrorKind::UnknownQuery,
                format!("no query {id} is running or has ended in the last 10 minutes"),
                "GET /v1/query lists those that are known",
            )
        })
    }

    /// Cancels a query that runs, forgets one that has ended.
    ///
    /// # Errors
    /// `unknown_query`.
    pub fn delete(&self, id: Uuid) -> Result<(), QueryError> {
        let record = self.get(id)?;
        if record.is_running() {
            record.cancelled();
        } else {
            self.lock().remove(&id);
        }
        Ok(())
    }

    /// All queries, the latest first.
    pub fn all(&self) -> Vec<Arc<QueryRecord>> {
        let mut records = self.lock();
        forget_old(&mut records);
        let mut all: Vec<_> = records.values().map(Arc::clone).collect();
        drop(records);
        all.sort_by_key(|record| std::cmp::Reverse(record.started()));
        all
    }

    /// Cancels everything that runs.
    pub fn cancel_all(&self) {
        for record in self.all() {
            if record.is_running() {
                record.cancelled();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<QueryRecord>>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_old(records: &mut HashMap<Uuid, Arc<QueryRecord>>) {
    records.retain(|_, record| record.ended_for().is_none_or(|ended| ended < KEEP));
    let mut ended: Vec<(Duration, Uuid)> = records
        .iter()
        .filter_map(|(id, record)| record.ended_for().map(|ended| (ended, *id)))
        .collect();
    if ended.len() > MAX_ENDED {
        ended.sort_unstable();
        for (_, id) in &ended[MAX_ENDED..] {
            records.remove(id);
        }
    }
}
