//! Reading Parquet files whose pages need much memory: wide tables, and columns with large values.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource, ParquetSource,
};
use datafusion::error::{DataFusionError, Result};
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use datafusion::physical_plan::metrics::MetricBuilder;
use datafusion_datasource::file_stream::FileStreamBuilder;
use datafusion_datasource::morsel::{Morsel, MorselPlan, MorselPlanner, Morselizer};
use futures::StreamExt;
use futures::stream::BoxStream;

use crate::source::column_size::{ColumnSize, column_sizes};
use crate::source::file_object_store::index_of;
use crate::source::parquet::ParquetFile;
use crate::source::scan_memory::{MAX_BATCH_BYTES, Room, ScanMemory};

/// The rows of DataFusion's batches, which are fewer if the rows are wide.
const MAX_BATCH_ROWS: u64 = 8192;

type Rows = BoxStream<'static, Result<RecordBatch>>;

/// One partition of a scan of Parquet files.
#[derive(Debug)]
pub(super) struct PartitionScan {
    pub(super) files: Arc<[Arc<ParquetFile>]>,
    pub(super) memory: Arc<ScanMemory>,
    pub(super) store: Arc<dyn ObjectStore>,
    /// The scan; its source is DataFusion's.
    pub(super) config: FileScanConfig,
    pub(super) inner: Box<dyn Morselizer>,
}

impl PartitionScan {
    async fn plan(self: Arc<Self>, file: PartitionedFile) -> Result<Box<dyn MorselPlanner>> {
        let columns = self.columns(&file).await?;
        let held_bytes = columns.iter().map(|column| column.held_bytes).sum();
        let row_bytes: u64 = columns.iter().map(|column| column.value_bytes).sum();
        let batch_rows = (MAX_BATCH_BYTES / row_bytes.max(1)).clamp(1, MAX_BATCH_ROWS);
        let rows = match self.memory.room(held_bytes) {
            Room::Memory(None) if batch_rows == MAX_BATCH_ROWS => {
                return self.inner.plan_file(file);
            }
            Room::Memory(lease) => {
                let source = self.config.file_source();
                let rows = self.open(&source.with_batch_size(batch_rows as usize), file)?;
                let leased = rows.map(move |batch| {
                    let _ = &lease;
                    batch
                });
                leased.boxed()
            }
            Room::Disk => {
                let source = self.fixed_source()?.with_batch_size(batch_rows as usize);
                let scan = Arc::clone(&self);
                // Nobody else gets the turn while this stream is not polled, so the turn is another task's.
                SpawnedTask::spawn(async move { scan.spill(&source, file, &columns).await })
                    .join_unwind()
                    .await
                    .map_err(|error| DataFusionError::External(Box::new(error)))??
            }
        };
        Ok(Box::new(Planner::Rows(rows)))
    }

    /// The sizes of the columns of the scan.
    async fn columns(&self, file: &PartitionedFile) -> Result<Vec<ColumnSize>> {
        let found = index_of(&file.object_meta.location).and_then(|index| self.files.get(index));
        let Some(found) = found.cloned() else {
            return Ok(Vec::new());
        };
        let footer = match found.kept_footer() {
            Some(footer) => footer,
            None => tokio::task::spawn_blocking(move || found.footer())
                .await
                .map_err(|error| DataFusionError::External(Box::new(error)))??,
        };
        let sizes = column_sizes(&footer, file);
        let source = self.config.file_source();
        let fields = source.table_schema().table_schema().fields();
        let size = |name: &str| sizes.get(name).copied().unwrap_or_default();
        let Some(projection) = source.projection() else {
            return Ok(fields.iter().map(|field| size(field.name())).collect());
        };
        let of_expr = projection.iter().map(|projected| {
            let columns = collect_columns(&projected.expr).into_iter();
            let sizes = columns.map(|column| size(fields[column.index()].name()));
            sizes.fold(ColumnSize::default(), |all, size| ColumnSize {
                held_bytes: all.held_bytes + size.held_bytes,
                value_bytes: all.value_bytes + size.value_bytes,
            })
        });
        Ok(of_expr.collect())
    }

    /// The rows of a file by a source.
    fn open(&self, source: &Arc<dyn FileSource>, file: PartitionedFile) -> Result<Rows> {
        let config = FileScanConfigBuilder::from(self.config.clone())
            .with_source(Arc::clone(source))
            .with_file_groups(vec![FileGroup::new(vec![file])])
            .build();
        let morselizer = source.create_morselizer(Arc::clone(&self.store), &config, 0)?;
        let stream = FileStreamBuilder::new(&config)
            .with_partition(0)
            .with_morselizer(morselizer)
            .with_metrics(source.metrics())
            .build()?;
        Ok(stream.boxed())
    }

    /// Writes the rows of a file to disk, a few columns at a time, and returns them from there.
    async fn spill(
        &self,
        source: &Arc<dyn FileSource>,
        file: PartitionedFile,
        columns: &[ColumnSize],
    ) -> Result<Rows> {
        let columns: Vec<u64> = columns.iter().map(|column| column.held_bytes).collect();
        let mut turn = self.memory.turn(&columns).await?;
        let schema = self.config.projected_schema()?;
        for slab in turn.slabs {
            let indices: Vec<usize> = slab.collect();
            let projection = ProjectionExprs::from_indices(&indices, &schema);
            let narrow = source.try_pushdown_projection(&projection)?;
            let narrow = narrow.ok_or_else(|| {
                DataFusionError::Internal("Parquet files have columns".to_owned())
            })?;
            let mut rows = self.open(&narrow, file.clone())?;
            let mut section = turn.spill.section(&Arc::new(schema.project(&indices)?))?;
            while let Some(batch) = rows.next().await {
                section.write(&batch?)?;
            }
            section.finish()?;
        }
        let spilled = MetricBuilder::new(source.metrics()).spilled_bytes(0);
        spilled.add(turn.spill.num_bytes() as usize);
        turn.spill.finish(schema)?.rows()
    }

    /// DataFusion's source, whose filter excludes the same pages each time.
    fn fixed_source(&self) -> Result<Arc<dyn FileSource>> {
        let source = self.config.file_source();
        let parquet = source.downcast_ref::<ParquetSource>();
        Ok(match (parquet, source.filter()) {
            (Some(parquet), Some(filter)) => {
                let filter = snapshot_physical_expr(filter)?;
                Arc::new(parquet.clone().with_predicate(filter))
            }
            _ => Arc::clone(source),
        })
    }
}

/// [`PartitionScan`] as DataFusion runs it.
#[derive(Debug)]
pub(super) struct BoundedMorselizer(pub(super) Arc<PartitionScan>);

impl Morselizer for BoundedMorselizer {
    fn plan_file(&self, file: PartitionedFile) -> Result<Box<dyn MorselPlanner>> {
        Ok(Box::new(Planner::File(Arc::clone(&self.0), Box::new(file))))
    }
}

enum Planner {
    File(Arc<PartitionScan>, Box<PartitionedFile>),
    Rows(Rows),
}

impl std::fmt::Debug for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Planner").finish_non_exhaustive()
    }
}

impl MorselPlanner for Planner {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let plan = MorselPlan::new();
        Ok(Some(match *self {
            Self::File(scan, file) => plan.with_pending_planner(scan.plan(*file)),
            Self::Rows(rows) => plan.with_morsels(vec![Box::new(StreamedRows(rows))]),
        }))
    }
}

struct StreamedRows(Rows);

impl std::fmt::Debug for StreamedRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamedRows").finish_non_exhaustive()
    }
}

impl Morsel for StreamedRows {
    fn into_stream(self: Box<Self>) -> Rows {
        self.0
    }
}
