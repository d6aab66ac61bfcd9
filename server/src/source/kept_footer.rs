//! Footers of Parquet files, kept for the next query.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use datafusion::parquet::errors::Result;
use datafusion::parquet::file::metadata::ParquetMetaData;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// The maximum memory of all kept footers and their page indexes.
const MAX_BYTES: u64 = 256 << 20;
/// A footer of few columns takes this much or more.
const LEAST_BYTES: u64 = 4 << 10;

static FOOTERS: LazyLock<Cache<u64, Arc<ParquetMetaData>, MemorySize>> = LazyLock::new(|| {
    Cache::with_weighter((MAX_BYTES / LEAST_BYTES) as usize, MAX_BYTES, MemorySize)
});

#[derive(Clone)]
struct MemorySize;

impl Weighter<u64, Arc<ParquetMetaData>> for MemorySize {
    fn weight(&self, _: &u64, footer: &Arc<ParquetMetaData>) -> u64 {
        footer.memory_size() as u64
    }
}

/// The footer of a file. It is kept until the memory is needed for others, and at most as long as this lives.
#[derive(Debug)]
pub(super) struct KeptFooter {
    key: u64,
}

impl Default for KeptFooter {
    fn default() -> Self {
        static NEXT_KEY: AtomicU64 = AtomicU64::new(0);
        Self {
            key: NEXT_KEY.fetch_add(1, Ordering::Relaxed),
        }
    }
}

impl Drop for KeptFooter {
    fn drop(&mut self) {
        FOOTERS.remove(&self.key);
    }
}

impl KeptFooter {
    /// The footer, if it is kept.
    pub(super) fn get(&self) -> Option<Arc<ParquetMetaData>> {
        FOOTERS.get(&self.key)
    }

    /// The footer, which `read` reads if it is not kept. Others who need it wait meanwhile.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn get_or_read(
        &self,
        read: impl FnOnce() -> Result<ParquetMetaData>,
    ) -> Result<Arc<ParquetMetaData>> {
        FOOTERS.get_or_insert_with(&self.key, || read().map(Arc::new))
    }
}
