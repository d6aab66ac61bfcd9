//! The tables of an engine elsewhere, as they were a short time ago.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::error::{ErrorKind, QueryError};

/// A listing that is not older is not asked for again.
const FRESH: Duration = Duration::from_secs(10);

/// The longest that a listing may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// More tables are not listed; SQL reaches them all.
pub(super) const MAX_TABLES: usize = 1000;

/// Schemas that are asked for at the same time.
pub(super) const NUM_PARALLEL: usize = 8;

/// The last listing.
#[derive(Debug)]
pub(super) struct Listing<T> {
    last: Mutex<Option<(Instant, Arc<Vec<T>>)>>,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self {
            last: Mutex::default(),
        }
    }
}

impl<T> Listing<T> {
    /// The tables: the last listing, or where that is too old what `list` finds.
    ///
    /// # Errors
    /// What the engine says, or that it takes too long.
    pub(super) async fn tables<F>(&self, list: F) -> Result<Arc<Vec<T>>, QueryError>
    where
        F: Future<Output = Result<Vec<T>, QueryError>>,
    {
        // Whoever comes meanwhile waits for the same answer.
        let mut last = self.last.lock().await;
        if let Some((at, tables)) = last.as_ref()
            && at.elapsed() < FRESH
        {
            return Ok(Arc::clone(tables));
        }
        let tables = tokio::time::timeout(TIMEOUT, list).await.map_err(|_| {
            QueryError::new(
                ErrorKind::EngineUnavailable,
                format!(
                    "the engine did not list its tables within {} s",
                    TIMEOUT.as_secs()
                ),
                "try again when it has less to do; SQL works meanwhile",
            )
        })??;
        let tables = Arc::new(tables);
        *last = Some((Instant::now(), Arc::clone(&tables)));
        Ok(tables)
    }
}
