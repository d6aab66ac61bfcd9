//! Scans of Parquet files.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet};
use datafusion_datasource::morsel::Morselizer;

use crate::source::parquet::ParquetFile;
use crate::source::pruning::is_proven;
use crate::source::scan_memory::ScanMemory;
use crate::source::wide_scan::{BoundedMorselizer, PartitionScan};

/// A source of Parquet files that is given only the filters that statistics prove. It uses filters for nothing else:
/// they are applied to the rows above it.
pub(super) struct ParquetScan {
    pub(super) inner: Arc<dyn FileSource>,
    pub(super) lacks_null_counts: bool,
    pub(super) files: Arc<[Arc<ParquetFile>]>,
    pub(super) memory: Arc<ScanMemory>,
    /// The bytes that it has read besides footers.
    pub(super) scan_bytes: Count,
}

impl ParquetScan {
    fn of(&self, inner: Arc<dyn FileSource>) -> Arc<dyn FileSource> {
        Arc::new(Self {
            inner,
            lacks_null_counts: self.lacks_null_counts,
            files: Arc::clone(&self.files),
            memory: Arc::clone(&self.memory),
            scan_bytes: self.scan_bytes.clone(),
        })
    }
}

impl FileSource for ParquetScan {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        self.inner.create_file_opener(store, config, partition)
    }

    fn create_morselizer(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Box<dyn Morselizer>> {
        let config = FileScanConfigBuilder::from(config.clone());
        let config = config.with_source(Arc::clone(&self.inner)).build();
        let inner = (self.inner).create_morselizer(Arc::clone(&store), &config, partition)?;
        Ok(Box::new(BoundedMorselizer(Arc::new(PartitionScan {
            files: Arc::clone(&self.files),
            memory: Arc::clone(&self.memory),
            store,
            config,
            inner,
        }))))
    }

    fn table_schema(&self) -> &TableSchema {
        self.inner.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        self.of(self.inner.with_batch_size(batch_size))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.inner.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.inner.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.inner.metrics()
    }

    fn file_type(&self) -> &str {
        self.inner.file_type()
    }

    fn fmt_extra(&self, format: DisplayFormatType, out: &mut fmt::Formatter) -> fmt::Result {
        self.inner.fmt_extra(format, out)
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let num_filters = filters.len();
        let schema = self.table_schema().table_schema();
        let is_proven = |filter: &_| is_proven(filter, schema, self.lacks_null_counts);
        let proven = filters.into_iter().filter(is_proven).collect();
        let pushed = self.inner.try_pushdown_filters(proven, config)?;
        let answer = FilterPushdownPropagation::with_parent_pushdown_result(vec![
            PushedDown::No;
            num_filters
        ]);
        Ok(match pushed.updated_node {
            Some(inner) => answer.with_updated_node(self.of(inner)),
            None => answer,
        })
    }

    fn reorder_files(&self, files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        self.inner.reorder_files(files)
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let inner = self.inner.try_pushdown_projection(projection)?;
        Ok(inner.map(|inner| self.of(inner)))
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.inner.apply_expressions(visit)
    }
}
