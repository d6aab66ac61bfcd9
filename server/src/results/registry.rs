//! All queries by id.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uuid::Uuid;

use crate::backend::request::Request;
use crate::error::{ErrorKind, QueryError};
use crate::metrics::Metrics;
use crate::results::saved::Saved;
use crate::results::{Query, QueryObserver};

/// How many queries that do nothing are kept at most.
const MAX_IDLE: usize = 1000;

/// How many deleted queries can be told from unknown ones.
const MAX_DELETED: usize = 1000;

/// The queries that run, and those that were asked for a short time ago.
#[derive(Debug)]
pub struct Registry {
    queries: Mutex<HashMap<Uuid, Arc<Query>>>,
    saved: Saved,
    keep: Duration,
    deleted: Mutex<VecDeque<Uuid>>,
}

impl Registry {
    /// A registry with the queries that an earlier process saved.
    pub(super) fn new(saved: Saved, keep: Duration) -> Self {
        let queries = saved
            .load()
            .into_iter()
            .map(|query| (query.id, Arc::new(query)));
        Self {
            queries: Mutex::new(queries.collect()),
            saved,
            keep,
            deleted: Mutex::default(),
        }
    }

    /// The query with the request's id: a new one, or the one that asked for the same. Says whether
    /// it is new.
    ///
    /// # Errors
    /// `id_in_use`.
    pub fn begin(
        &self,
        request: &Request,
        metrics: &Arc<Metrics>,
    ) -> Result<(Arc<Query>, bool), QueryError> {
        let mut queries = self.lock();
        self.forget_old(&mut queries);
        if let Some(query) = queries.get(&request.id) {
            if query.request.has_rows_of(request) {
                query.touch();
                return Ok((Arc::clone(query), false));
            }
            return Err(QueryError::new(
                ErrorKind::IdInUse,
                format!("query {} asks for something else", request.id),
                "use a new id for a new query, or leave it out",
            ));
        }
        let observer = QueryObserver::new(Arc::clone(metrics), request);
        let query = Arc::new(Query::new(request.clone(), Some(observer)));
        queries.insert(request.id, Arc::clone(&query));
        Ok((query, true))
    }

    /// The query with that id.
    ///
    /// # Errors
    /// `unknown_query`.
    pub fn get(&self, id: Uuid) -> Result<Arc<Query>, QueryError> {
        let mut queries = self.lock();
        self.forget_old(&mut queries);
        let query = queries.get(&id).map(Arc::clone).ok_or_else(|| {
            QueryError::new(
                ErrorKind::UnknownQuery,
                format!("no query {id} is running or was asked for a short time ago"),
                "GET /v1/query lists those that are known",
            )
        })?;
        query.touch();
        Ok(query)
    }

    /// The query whose rows are asked for.
    ///
    /// # Errors
    /// `unknown_query`; `rows_expired` where it was deleted, so that its reader does not take it for
    /// one that a restart has lost.
    pub fn get_rows(&self, id: Uuid) -> Result<Arc<Query>, QueryError> {
        self.get(id).map_err(|unknown| {
            if !self.lock_deleted().contains(&id) {
                return unknown;
            }
            QueryError::new(
                ErrorKind::RowsExpired,
                format!("query {id} was deleted"),
                "run it again",
            )
        })
    }

    /// Cancels a query at once and forgets it.
    ///
    /// # Errors
    /// `unknown_query`.
    pub fn delete(&self, id: Uuid) -> Result<(), QueryError> {
        let query = self.get(id)?;
        query.deleted.cancel();
        query.cancel();
        self.lock().remove(&id);
        self.saved.remove(id);
        let mut deleted = self.lock_deleted();
        deleted.truncate(MAX_DELETED - 1);
        deleted.push_front(id);
        Ok(())
    }

    /// All queries, the latest first.
    pub fn all(&self) -> Vec<Arc<Query>> {
        let mut queries = self.lock();
        self.forget_old(&mut queries);
        let mut all: Vec<_> = queries.values().map(Arc::clone).collect();
        drop(queries);
        all.sort_by_key(|query| std::cmp::Reverse(query.started()));
        all
    }

    /// How many runs have not ended.
    pub fn num_runs(&self) -> usize {
        self.lock().values().map(|query| query.num_runs()).sum()
    }

    /// How many hold rows for their next reader.
    pub fn num_kept(&self) -> usize {
        let holds = |query: &&Arc<Query>| query.has_rows();
        self.lock().values().filter(holds).count()
    }

    /// Forgets what nobody has asked for in a long time.
    pub fn sweep(&self) {
        self.forget_old(&mut self.lock());
    }

    /// Gives up the kept rows that nobody reads and nobody has asked for in the longest time. False
    /// where there are none.
    pub fn free_disk(&self) -> bool {
        let idle = |query: &&Arc<Query>| !query.is_active() && query.has_disk();
        let queries = self.lock();
        let oldest = queries
            .values()
            .filter(idle)
            .max_by_key(|query| query.unused_for())
            .map(Arc::clone);
        drop(queries);
        match oldest {
            Some(query) => {
                tracing::info!(id = %query.id, "the rows of a result make room for others");
                query.expire_rows();
                true
            }
            None => false,
        }
    }

    /// Cancels everything that runs.
    pub fn cancel_all(&self) {
        for query in self.lock().values() {
            query.cancel();
        }
    }

    /// Removes what is saved of a query.
    pub(super) fn forget(&self, id: Uuid) {
        self.saved.remove(id);
    }

    pub(super) fn save(&self, query: &Query) {
        self.saved.save(query);
    }

    fn forget_old(&self, queries: &mut HashMap<Uuid, Arc<Query>>) {
        let mut idle: Vec<(Duration, Uuid)> = queries
            .values()
            .filter(|query| !query.is_active())
            .map(|query| (query.unused_for(), query.id))
            .collect();
        idle.sort_unstable();
        for (index, (unused_for, id)) in idle.into_iter().enumerate() {
            if unused_for > self.keep || index >= MAX_IDLE {
                queries.remove(&id);
                self.saved.remove(id);
            }
        }
    }

    fn lock_deleted(&self) -> MutexGuard<'_, VecDeque<Uuid>> {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<Query>>> {
        self.queries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
