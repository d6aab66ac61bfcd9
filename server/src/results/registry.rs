//! All results by id.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use uuid::Uuid;

use crate::backend::request::Request;
use crate::byte_pool::BytePool;
use crate::error::{ErrorKind, QueryError};
use crate::metrics::Metrics;
use crate::results::observer::ResultObserver;
use crate::results::record::ResultRecord;
use crate::results::run::{Run, cancelled};
use crate::results::saved_records::SavedRecords;

/// The most idle results that are kept.
const MAX_IDLE: usize = 1000;

/// The most ids of removed results that are kept, to distinguish them from unknown ids.
const MAX_DELETED: usize = 1000;

/// The most runs whose rows are looked at to make room for one message.
const MAX_TRIES: usize = 16;

/// The results that run or were requested recently.
#[derive(Debug)]
pub struct Registry {
    records: Mutex<HashMap<Uuid, Arc<ResultRecord>>>,
    saved: SavedRecords,
    keep: Duration,
    deleted: Mutex<VecDeque<Uuid>>,
    /// Runs that have ended, the first one first, and keep their last rows although these can be read again.
    tails: Mutex<VecDeque<Weak<Run>>>,
}

impl Registry {
    /// A registry with the results that an earlier process saved.
    pub(super) fn new(saved: SavedRecords, keep: Duration) -> Self {
        let records = saved
            .load()
            .into_iter()
            .map(|record| (record.id, Arc::new(record)));
        Self {
            records: Mutex::new(records.collect()),
            saved,
            keep,
            deleted: Mutex::default(),
            tails: Mutex::default(),
        }
    }

    /// The record with the request's id, and whether it is new. An existing record must have the requested
    /// rows.
    ///
    /// # Errors
    /// `id_in_use`; `unknown_query` if it reads the rows of a result that is not known.
    pub fn begin(
        &self,
        request: &Request,
        metrics: &Arc<Metrics>,
    ) -> Result<(Arc<ResultRecord>, bool), QueryError> {
        let mut records = self.lock();
        self.forget_old(&mut records);
        check_bases(&records, request)?;
        if let Some(record) = records.get(&request.id) {
            if record.request.has_rows_of(request) {
                record.touch();
                return Ok((Arc::clone(record), false));
            }
            return Err(QueryError::new(
                ErrorKind::IdInUse,
                format!("the id {} belongs to another query", request.id),
                "use a new id for a new query, or leave it out",
            ));
        }
        let observer = ResultObserver::new(Arc::clone(metrics), request);
        let record = Arc::new(ResultRecord::new(request.clone(), Some(observer)));
        records.insert(request.id, Arc::clone(&record));
        Ok((record, true))
    }

    /// The record with that id.
    ///
    /// # Errors
    /// `unknown_query`.
    pub fn get(&self, id: Uuid) -> Result<Arc<ResultRecord>, QueryError> {
        let mut records = self.lock();
        self.forget_old(&mut records);
        let record = records.get(&id).map(Arc::clone);
        let record = record.ok_or_else(|| unknown_query(id))?;
        record.touch();
        Ok(record)
    }

    /// The record of a result whose rows are requested.
    ///
    /// # Errors
    /// `unknown_query`; `rows_expired` if it was removed, so that its reader can distinguish this from a
    /// result that was lost in a restart.
    pub fn get_rows(&self, id: Uuid) -> Result<Arc<ResultRecord>, QueryError> {
        self.get(id).map_err(|unknown| {
            if !self.lock_deleted().contains(&id) {
                return unknown;
            }
            QueryError::new(
                ErrorKind::RowsExpired,
                format!("query {id} was deleted, or its time is over"),
                "run the query again",
            )
        })
    }

    /// Cancels a result at once and forgets it.
    ///
    /// # Errors
    /// `unknown_query`.
    pub fn delete(&self, id: Uuid) -> Result<(), QueryError> {
        let record = self.get(id)?;
        record.deleted.cancel();
        record.release_runs();
        record.fail(&cancelled());
        let mut records = self.lock();
        if records
            .get(&id)
            .is_some_and(|other| Arc::ptr_eq(other, &record))
        {
            records.remove(&id);
        }
        drop(records);
        self.saved.remove(id);
        self.note_deleted(id);
        Ok(())
    }

    fn note_deleted(&self, id: Uuid) {
        let mut deleted = self.lock_deleted();
        deleted.truncate(MAX_DELETED - 1);
        deleted.push_front(id);
    }

    /// All results, the latest first.
    pub fn all(&self) -> Vec<Arc<ResultRecord>> {
        let mut records = self.lock();
        self.forget_old(&mut records);
        let mut all: Vec<_> = records.values().map(Arc::clone).collect();
        drop(records);
        all.sort_by_key(|record| std::cmp::Reverse(record.started()));
        all
    }

    /// Notes a run that has ended.
    pub(super) fn note_end(&self, run: &Arc<Run>) {
        if run.spool.is_tail() {
            let mut tails = self.lock_tails();
            while tails.front().is_some_and(|tail| tail.strong_count() == 0) {
                tails.pop_front();
            }
            tails.push_back(Arc::downgrade(run));
        }
    }

    /// Drops rows that nobody reads and that can be read from their source again, until `memory` has room for `bytes`
    /// or some of the runs are looked at.
    pub fn free_memory(&self, memory: &BytePool, bytes: u64) {
        if memory.has_room(bytes) {
            return;
        }
        let mut tails = self.lock_tails();
        for _ in 0..tails.len().min(MAX_TRIES) {
            match tails.pop_front().map(|tail| (tail.upgrade(), tail)) {
                Some((Some(run), tail)) if run.has_readers() => tails.push_back(tail),
                Some((Some(run), _)) => run.spool.clear(),
                _ => {}
            }
            if memory.has_room(bytes) {
                return;
            }
        }
    }

    /// How many results keep rows for their next reader.
    pub fn num_kept(&self) -> usize {
        let holds = |record: &&Arc<ResultRecord>| record.has_rows();
        self.lock().values().filter(holds).count()
    }

    /// Forgets results without a recent request.
    pub fn sweep(&self) {
        self.forget_old(&mut self.lock());
    }

    /// Drops the rows of one idle result with rows on disk: that whose last request is the oldest. Returns
    /// false if there is none.
    pub fn free_disk(&self) -> bool {
        let idle = |record: &&Arc<ResultRecord>| !record.is_active() && record.has_disk();
        let records = self.lock();
        let oldest = records
            .values()
            .filter(idle)
            .max_by_key(|record| record.unused_for())
            .map(Arc::clone);
        drop(records);
        match oldest {
            Some(record) => {
                tracing::info!(id = %record.id, "the rows of a result were dropped to free disk for others");
                record.drop_rows();
                true
            }
            None => false,
        }
    }

    /// Cancels everything that runs.
    pub fn cancel_all(&self) {
        for record in self.lock().values() {
            record.cancel_runs();
        }
    }

    /// Saves a record for a later process, unless it was deleted.
    pub(super) fn save(&self, record: &ResultRecord) {
        let records = self.lock();
        if records.contains_key(&record.id) {
            self.saved.save(record);
        }
    }

    fn forget_old(&self, records: &mut HashMap<Uuid, Arc<ResultRecord>>) {
        let mut idle: Vec<(Duration, Uuid)> = records
            .values()
            .filter(|record| !record.is_active())
            .map(|record| (record.unused_for(), record.id))
            .collect();
        idle.sort_unstable();
        for (index, (unused_for, id)) in idle.into_iter().enumerate() {
            if unused_for > self.keep || index >= MAX_IDLE {
                let record = records.remove(&id);
                self.saved.remove(id);
                // The reader of a repeatable result can run it again with the same id.
                if record.is_some_and(|record| !record.is_repeatable()) {
                    self.note_deleted(id);
                }
            }
        }
    }

    fn lock_deleted(&self) -> MutexGuard<'_, VecDeque<Uuid>> {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_tails(&self) -> MutexGuard<'_, VecDeque<Weak<Run>>> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<ResultRecord>>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks that the result whose rows a request reads is known, and that the request's own id is not among the results
/// behind it: no result may wait for its own rows.
///
/// # Errors
/// `unknown_query`, `id_in_use`.
fn check_bases(
    records: &HashMap<Uuid, Arc<ResultRecord>>,
    request: &Request,
) -> Result<(), QueryError> {
    let mut base = request.base()?;
    if let Some(id) = base.filter(|id| !records.contains_key(id)) {
        return Err(unknown_query(id));
    }
    while let Some(id) = base {
        if id == request.id {
            return Err(QueryError::new(
                ErrorKind::IdInUse,
                format!("query {id} would read its own rows"),
                "use a new id for a new query, or leave it out",
            ));
        }
        // Rows can be kept although the result behind them is no longer known.
        base = match records.get(&id) {
            Some(record) => record.request.base()?,
            None => None,
        };
    }
    Ok(())
}

fn unknown_query(id: Uuid) -> QueryError {
    QueryError::new(
        ErrorKind::UnknownQuery,
        format!("no query {id} is running or was requested recently"),
        "GET /v1/query lists those that are known",
    )
}
