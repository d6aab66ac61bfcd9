//! Footers of Parquet files, kept for the next query.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use datafusion::parquet::errors::Result;
use datafusion::parquet::file::metadata::ParquetMetaData;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

/// The maximum memory of all kept footers and their page indexes.
const MAX_BYTES: u64 = 256 << 20;
/// A footer of few columns takes this much or more.
const LEAST_BYTES: u64 = 4 << 10;

static FOOTERS: LazyLock<Cache<u64, Arc<ParquetMetaData>, MemorySize>> = LazyLock::new(|| {
    let options = OptionsBuilder::new()
        .estimated_items_capacity((MAX_BYTES / LEAST_BYTES) as usize)
        .weight_capacity(MAX_BYTES)
        // A footer is not kept if it is larger than a shard.
        .shards(1)
        .build()
        .expect("the capacities are set");
    let hashes = DefaultHashBuilder::default();
    Cache::with_options(options, MemorySize, hashes, DefaultLifecycle::default())
});

#[derive(Clone)]
struct MemorySize;

impl Weighter<u64, Arc<ParquetMetaData>> for MemorySize {
    fn weight(&self, _: &u64, footer: &Arc<ParquetMetaData>) -> u64 {
        footer.memory_size() as u64
    }
}

/// The footer of a file. It is kept until the memory is needed for others, and at most as long as this lives. Those who
/// have it at the same time share it, even if it is too large to be kept.
#[derive(Debug)]
pub(super) struct KeptFooter {
    key: u64,
    shared: Mutex<Weak<ParquetMetaData>>,
}

impl Default for KeptFooter {
    fn default() -> Self {
        static NEXT_KEY: AtomicU64 = AtomicU64::new(0);
        Self {
            key: NEXT_KEY.fetch_add(1, Ordering::Relaxed),
            shared: Mutex::default(),
        }
    }
}

impl Drop for KeptFooter {
    fn drop(&mut self) {
        FOOTERS.remove(&self.key);
    }
}

impl KeptFooter {
    /// The footer, if it is kept or in use.
    pub(super) fn get(&self) -> Option<Arc<ParquetMetaData>> {
        FOOTERS.get(&self.key).or_else(|| self.shared().upgrade())
    }

    /// The footer, which `read` reads if it is neither kept nor in use. Others who need it wait meanwhile.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn get_or_read(
        &self,
        read: impl FnOnce() -> Result<ParquetMetaData>,
    ) -> Result<Arc<ParquetMetaData>> {
        FOOTERS.get_or_insert_with(&self.key, || {
            let in_use = self.shared().upgrade();
            in_use.map_or_else(
                || {
                    let footer = Arc::new(read()?);
                    *self.shared() = Arc::downgrade(&footer);
                    Ok(footer)
                },
                Ok,
            )
        })
    }

    fn shared(&self) -> MutexGuard<'_, Weak<ParquetMetaData>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::parquet::file::metadata::{
        ColumnChunkMetaData, FileMetaData, ParquetMetaData, RowGroupMetaData,
    };
    use datafusion::parquet::schema::parser::parse_message_type;
    use datafusion::parquet::schema::types::{SchemaDescPtr, SchemaDescriptor};

    use super::{FOOTERS, KeptFooter, MAX_BYTES};

    fn footer(num_columns: usize, num_groups: usize) -> ParquetMetaData {
        let columns = (0..num_columns).map(|column| format!("required int64 c{column};"));
        let columns: String = columns.collect();
        let schema = parse_message_type(&format!("message m {{ {columns} }}")).unwrap();
        let schema: SchemaDescPtr = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
        let file = FileMetaData::new(2, 0, None, None, Arc::clone(&schema), None);
        let group = || {
            let columns = schema.columns().iter().cloned();
            let chunk = |column| ColumnChunkMetaData::builder(column).build().unwrap();
            RowGroupMetaData::builder(Arc::clone(&schema))
                .set_column_metadata(columns.map(chunk).collect())
                .build()
                .unwrap()
        };
        ParquetMetaData::new(file, (0..num_groups).map(|_| group()).collect())
    }

    #[test]
    fn a_large_footer_is_kept() {
        let kept = KeptFooter::default();
        let read = kept.get_or_read(|| Ok(footer(1000, 100))).unwrap();
        assert!(read.memory_size() as u64 > MAX_BYTES / 8);
        drop(read);
        assert!(kept.get().is_some());
    }

    #[test]
    fn a_footer_is_shared_while_it_is_in_use() {
        let kept = KeptFooter::default();
        let first = kept.get_or_read(|| Ok(footer(1, 1))).unwrap();
        // As if it were too large to be kept.
        FOOTERS.remove(&kept.key);
        let second = kept.get_or_read(|| unreachable!()).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        drop((first, second));
        FOOTERS.remove(&kept.key);
        assert!(kept.get().is_none());
    }
}
