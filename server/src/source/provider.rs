//! Tables of the engine that read files in order.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::config::TableParquetOptions;
use datafusion::common::stats::Precision;
use datafusion::common::{Column, DFSchema, ScalarValue, Statistics, internal_err};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::object_store::ObjectStore;
use datafusion::object_store::path::Path;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::Count;

use crate::source::arrow::{ArrowFile, ArrowScan};
use crate::source::file_object_store::{FileObjectStore, index_of};
use crate::source::file_range::{FileRange, into_partitions};
use crate::source::hive::Partitions;
use crate::source::int96::Int96Unit;
use crate::source::parquet::{ParquetFile, SnapshotReaders};
use crate::source::parquet_description::ParquetDescription;
use crate::source::parquet_ranges;
use crate::source::parquet_scan::ParquetScan;
use crate::source::scan_memory::ScanMemory;
use crate::source::text::{TextFiles, TextSource};
use crate::source::{FileKind, SourceFile};

/// A guess at the bytes of a row of a text file.
const TYPICAL_ROW_BYTES: u64 = 64;

/// What is known about a table's files, apart from their location.
#[derive(Debug, Clone)]
pub(super) enum Contents {
    /// Parquet footers, which are read when they are needed.
    Parquet(Arc<[Arc<ParquetFile>]>, Int96Unit),
    /// Positions of Arrow messages.
    Arrow(Vec<Arc<ArrowFile>>),
    /// How text is written.
    Text(TextFiles),
}

/// A table of the engine that consists of files of one type.
#[derive(Debug)]
pub struct FileTable {
    kind: FileKind,
    /// The columns of the files, followed by those of their folders.
    schema: TableSchema,
    contents: Contents,
    files: Vec<PartitionedFile>,
    num_bytes: u64,
    store_url: ObjectStoreUrl,
    store: Arc<dyn ObjectStore>,
    sources: Arc<[SourceFile]>,
    /// Where the store is registered, until this table is dropped.
    registry: OnceLock<Weak<RuntimeEnv>>,
}

impl Drop for FileTable {
    fn drop(&mut self) {
        if let Some(runtime) = self.registry.get().and_then(Weak::upgrade) {
            // It is registered, because `registry` is set only then.
            let _ = runtime.deregister_object_store(self.store_url.as_ref());
        }
    }
}

/// A plan that reads only some rows of a table.
pub struct RowScan {
    /// The plan; its partitions yield the rows in order.
    pub plan: Arc<dyn ExecutionPlan>,
    /// The number of rows of each partition.
    pub partition_rows: Vec<u64>,
}

impl FileTable {
    /// A table of these files, in this order.
    ///
    /// # Errors
    /// No error is known, but the engine may refuse the URL of the table's store.
    pub(super) fn try_new(
        kind: FileKind,
        files: &[SourceFile],
        file_schema: SchemaRef,
        partitions: Partitions,
        contents: Contents,
    ) -> Result<Self> {
        let unique = uuid::Uuid::new_v4().simple();
        let metas = files.iter().zip(partitions.values).enumerate();
        let metas = metas.map(|(index, (file, values))| {
            PartitionedFile::from(FileObjectStore::meta(index, file)).with_partition_values(values)
        });
        Ok(Self {
            kind,
            schema: TableSchema::builder(file_schema)
                .with_table_partition_cols(partitions.fields)
                .build(),
            contents,
            files: metas.collect(),
            num_bytes: files.iter().map(SourceFile::size_bytes).sum(),
            store_url: ObjectStoreUrl::parse(format!("table://{unique}"))?,
            store: FileObjectStore::new(files),
            sources: files.into(),
            registry: OnceLock::new(),
        })
    }

    /// The columns that are in the files, without those of folders.
    pub(super) fn file_schema(&self) -> &SchemaRef {
        self.schema.file_schema()
    }

    /// How its text files are read; `None` for other formats.
    pub(super) fn text(&self) -> Option<&TextFiles> {
        match &self.contents {
            Contents::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What is known about its files.
    pub(super) fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The size of all files in bytes.
    pub fn num_bytes(&self) -> u64 {
        self.num_bytes
    }

    /// The number of rows of all files; `None` if the files do not state it.
    pub fn num_rows(&self) -> Option<u64> {
        match &self.contents {
            Contents::Parquet(files, _) => Some(files.iter().map(|file| file.facts.num_rows).sum()),
            Contents::Arrow(files) => Some(files.iter().map(|file| file.num_rows).sum()),
            Contents::Text(_) => None,
        }
    }

    /// The number of rows as the optimizer sees it, which keeps the smaller table of a join in memory.
    fn row_count(&self) -> Precision<usize> {
        match self.num_rows() {
            Some(num_rows) => Precision::Exact(num_rows as usize),
            None => Precision::Inexact((self.num_bytes / TYPICAL_ROW_BYTES) as usize),
        }
    }

    /// The storage of the files, if they are Parquet. Blocks.
    ///
    /// # Errors
    /// A footer cannot be read any more.
    pub fn parquet_description(&self) -> Result<Option<ParquetDescription>> {
        match &self.contents {
            Contents::Parquet(files, _) => Ok(Some(ParquetDescription::read(files)?)),
            _ => Ok(None),
        }
    }

    /// Whether columns of the files are encrypted.
    pub fn has_encrypted_columns(&self) -> bool {
        match &self.contents {
            Contents::Parquet(files, _) => {
                files.iter().any(|file| file.facts.has_encrypted_columns)
            }
            _ => false,
        }
    }

    /// Memory that is used to find rows in the files, in bytes.
    pub fn index_bytes(&self) -> u64 {
        match &self.contents {
            Contents::Parquet(files, _) => files.iter().map(|file| file.index_bytes()).sum(),
            Contents::Arrow(files) => files.iter().map(|file| file.index_bytes()).sum(),
            Contents::Text(_) => 0,
        }
    }

    /// A plan of rows `rows` of the table with columns `columns`, in partitions of about
    /// `partition_bytes` of the files. `None` if the files do not state the positions of rows. Blocks.
    ///
    /// # Errors
    /// A file cannot be read any more.
    pub fn scan_rows(
        &self,
        state: &dyn Session,
        columns: &[usize],
        rows: Range<u64>,
        partition_bytes: u64,
    ) -> Result<Option<RowScan>> {
        match &self.contents {
            Contents::Parquet(files, _) => {
                let ranges = parquet_ranges::ranges(files, &rows, partition_bytes)?;
                let partitions = into_partitions(ranges.into_iter(), rows, partition_bytes);
                let num_rows =
                    |partition: &Vec<FileRange<_>>| partition.iter().map(FileRange::num_rows).sum();
                let partition_rows = partitions.iter().map(num_rows).collect();
                let selected = partitions.iter().map(|partition| {
                    FileGroup::new(parquet_ranges::select(partition, files, &self.files))
                });
                let (groups, columns) = (selected.collect(), columns.to_vec());
                let plan = self.scan_files(state, groups, self.row_count(), Some(&columns))?;
                Ok(Some(RowScan {
                    plan,
                    partition_rows,
                }))
            }
            Contents::Arrow(files) => {
                let files = files.iter().zip(&self.files);
                let memory = ScanMemory::of(state)?;
                let scan = ArrowScan::try_new(
                    files,
                    &self.schema,
                    columns,
                    rows,
                    partition_bytes,
                    memory,
                )?;
                Ok(Some(RowScan {
                    partition_rows: scan.partition_rows(),
                    plan: Arc::new(scan),
                }))
            }
            Contents::Text(_) => Ok(None),
        }
    }

    fn scan_files(
        &self,
        state: &dyn Session,
        groups: Vec<FileGroup>,
        num_rows: Precision<usize>,
        projection: Option<&Vec<usize>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let runtime = state.runtime_env();
        runtime.register_object_store(self.store_url.as_ref(), Arc::clone(&self.store));
        self.registry.get_or_init(|| Arc::downgrade(runtime));
        let statistics =
            Statistics::new_unknown(self.schema.table_schema()).with_num_rows(num_rows);
        let config = FileScanConfigBuilder::new(self.store_url.clone(), self.source(state)?)
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_projection_indices(projection.cloned())?
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }

    /// The bytes that a scan of this table will read at most. `None` if it is a scan of another table, or the footer of
    /// a Parquet file has not been read yet.
    pub(super) fn bytes_to_scan(&self, scan: &FileScanConfig) -> Option<u64> {
        if scan.object_store_url != self.store_url {
            return None;
        }
        let source = scan.file_source();
        let fields = self.schema.table_schema().fields();
        let columns = source.projection().map(ProjectionExprs::column_indices);
        let columns = columns.unwrap_or_else(|| (0..fields.len()).collect());
        let names = columns.iter().map(|column| fields[*column].name().as_str());
        let names = names.collect();
        let bytes = paths(scan).into_iter().map(|path| {
            let index = index_of(path)?;
            match &self.contents {
                Contents::Parquet(files, _) => files.get(index)?.bytes_of(&names),
                _ => Some(self.sources.get(index)?.size_bytes()),
            }
        });
        bytes.sum()
    }

    /// The files that remain after `filters`, which only refer to columns of folders.
    fn within(&self, state: &dyn Session, filters: &[Expr]) -> Result<Vec<usize>> {
        let all: Vec<usize> = (0..self.files.len()).collect();
        let Some(filter) = conjunction(filters.iter().cloned()) else {
            return Ok(all);
        };
        let fields = self.schema.table_partition_cols();
        let values = (0..fields.len()).map(|column| {
            let values = self
                .files
                .iter()
                .map(|file| file.partition_values[column].clone());
            ScalarValue::iter_to_array(values)
        });
        let schema = Arc::new(Schema::new(fields.clone()));
        let batch = RecordBatch::try_new(Arc::clone(&schema), values.collect::<Result<_>>()?)?;
        let filter = state.create_physical_expr(filter, &DFSchema::try_from(schema)?)?;
        let passes = filter.evaluate(&batch)?.into_array(all.len())?;
        let passes = as_boolean_array(&passes)?;
        let passes = |file: &usize| passes.is_valid(*file) && passes.value(*file);
        Ok(all.into_iter().filter(passes).collect())
    }

    fn source(&self, state: &dyn Session) -> Result<Arc<dyn FileSource>> {
        let schema = self.schema.clone();
        Ok(match &self.contents {
            Contents::Parquet(files, int96_unit) => {
                let mut options = TableParquetOptions::default();
                options.global.schema_force_view_types = false;
                options.global.coerce_int96 = int96_unit.option();
                let scan_bytes = Count::new();
                let readers = SnapshotReaders::new(files, &scan_bytes);
                let source = ParquetSource::new(schema)
                    .with_table_parquet_options(options)
                    .with_parquet_file_reader_factory(readers);
                let lacks_null_counts = files.iter().any(|file| file.facts.lacks_null_counts);
                Arc::new(ParquetScan {
                    inner: Arc::new(source),
                    lacks_null_counts,
                    files: Arc::clone(files),
                    memory: ScanMemory::of(state)?,
                    scan_bytes,
                })
            }
            Contents::Text(text) => Arc::new(TextSource::new(
                Arc::clone(&self.sources),
                self.kind,
                text.clone(),
                schema,
            )),
            Contents::Arrow(_) => return internal_err!("Arrow files have a scan of their own"),
        })
    }
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.schema.table_schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// A filter that only refers to columns of folders excludes files. It is still applied to the
    /// others.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let is_folder = |column: &&Column| {
            let mut fields = self.schema.table_partition_cols().iter();
            fields.any(|field| *field.name() == column.name)
        };
        let is_about_folders = |filter: &Expr| {
            let columns = filter.column_refs();
            !columns.is_empty() && columns.iter().all(is_folder) && !filter.is_volatile()
        };
        Ok(filters
            .iter()
            .map(|filter| match is_about_folders(filter) {
                true => TableProviderFilterPushDown::Inexact,
                false => TableProviderFilterPushDown::Unsupported,
            })
            .collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // An error here occurs again, with its position, when the filter is applied to rows.
        let within = self.within(state, filters);
        let within = within.unwrap_or_else(|_| (0..self.files.len()).collect());
        let files = within.iter().map(|index| self.files[*index].clone());
        // The optimizer splits one group into ranges, in order. A file that cannot be split is a group
        // of its own, so that several files are read in parallel.
        let mut groups: Vec<FileGroup> = match &self.contents {
            Contents::Arrow(files) => {
                let files = within
                    .iter()
                    .map(|index| (&files[*index], &self.files[*index]));
                let all = || (0..self.schema().fields().len()).collect();
                let columns = projection.cloned().unwrap_or_else(all);
                let num_partitions = state.config().target_partitions().max(1) as u64;
                let partition_bytes = self.num_bytes.div_ceil(num_partitions);
                let rows = 0..u64::MAX;
                let scan = ArrowScan::try_new(
                    files,
                    &self.schema,
                    &columns,
                    rows,
                    partition_bytes,
                    ScanMemory::of(state)?,
                )?;
                return Ok(Arc::new(scan));
            }
            Contents::Text(text) if !text.splits => {
                files.map(|file| FileGroup::new(vec![file])).collect()
            }
            _ => vec![FileGroup::new(files.collect())],
        };
        if groups.is_empty() {
            groups.push(FileGroup::new(Vec::new()));
        }
        let num_rows = self.row_count();
        let num_rows = if within.len() == self.files.len() {
            num_rows
        } else {
            num_rows.to_inexact()
        };
        self.scan_files(state, groups, num_rows, projection)
    }
}

/// The files of a scan, each once.
fn paths(scan: &FileScanConfig) -> BTreeSet<&Path> {
    let files = scan.file_groups.iter().flat_map(|group| group.iter());
    files.map(|file| &file.object_meta.location).collect()
}
