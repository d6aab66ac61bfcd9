//! The disk quota of all uploads.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{ErrorKind, QueryError};

/// A count of used bytes, with a limit.
#[derive(Debug)]
pub(crate) struct Quota {
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

impl Quota {
    pub(crate) fn new(limit_bytes: u64) -> Self {
        Self {
            limit_bytes,
            used_bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn left_bytes(&self) -> u64 {
        self.limit_bytes.saturating_sub(self.used_bytes())
    }

    /// # Errors
    /// `storage_full`.
    pub(crate) fn take(&self, num_bytes: u64) -> Result<(), QueryError> {
        self.used_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(num_bytes)
                    .filter(|used| *used <= self.limit_bytes)
            })
            .map(drop)
            .map_err(|_| full())
    }

    /// Counts existing bytes, even beyond the limit.
    pub(crate) fn take_existing(&self, num_bytes: u64) {
        self.used_bytes.fetch_add(num_bytes, Ordering::Relaxed);
    }

    pub(crate) fn give_back(&self, num_bytes: u64) {
        self.used_bytes.fetch_sub(num_bytes, Ordering::Relaxed);
    }
}

pub(crate) fn full() -> QueryError {
    QueryError::new(
        ErrorKind::StorageFull,
        "the disk space for uploads is used up",
        "delete uploaded tables, or start the server with a larger --upload-quota",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_limit() {
        let quota = Quota::new(10);
        assert!(quota.take(6).is_ok() && quota.take(5).is_err() && quota.take(4).is_ok());
        assert_eq!(quota.left_bytes(), 0);
        quota.give_back(6);
        assert_eq!((quota.used_bytes(), quota.left_bytes()), (4, 6));
        assert!(quota.take(u64::MAX).is_err());
    }
}
