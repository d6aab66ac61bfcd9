//! How the engine reads the files of a table, in their order.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{Statistics, config::CsvOptions, config::TableParquetOptions};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    CsvSource, FileGroup, FileScanConfigBuilder, FileSource, JsonSource, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::Expr;
use datafusion::object_store::ObjectStore;
use datafusion::physical_plan::ExecutionPlan;

use crate::source::arrow::{ArrowFile, ArrowScan};
use crate::source::parquet::{self, ParquetFile, SnapshotReaders};
use crate::source::parquet_facts::ParquetFacts;
use crate::source::pieces::{Piece, group};
use crate::source::snapshot::SnapshotStore;
use crate::source::{FileFormat, FileKind, SourceFile};

/// What is known of a table's files beside where they are.
#[derive(Debug, Clone)]
pub(super) enum Contents {
    /// Parquet footers.
    Parquet(Vec<Arc<ParquetFile>>),
    /// Places of Arrow messages.
    Arrow(Vec<Arc<ArrowFile>>),
    /// Nothing; `splits` says whether a file may be cut into ranges of bytes.
    Text { splits: bool },
}

/// Files of one kind as a table of the engine.
#[derive(Debug)]
pub struct FileTable {
    kind: FileKind,
    schema: SchemaRef,
    contents: Contents,
    files: Vec<PartitionedFile>,
    num_bytes: u64,
    store_url: ObjectStoreUrl,
    store: Arc<dyn ObjectStore>,
}

/// Some rows of a table as a plan that reads nothing else.
pub struct RowScan {
    /// Its partitions are the rows in order.
    pub plan: Arc<dyn ExecutionPlan>,
    /// The rows of each partition.
    pub part_rows: Vec<u64>,
}

impl FileTable {
    /// A table of these files, in this order.
    ///
    /// # Errors
    /// None that is known; an engine may refuse the name of the table's store.
    pub(super) fn try_new(
        kind: FileKind,
        files: &[SourceFile],
        schema: SchemaRef,
        contents: Contents,
    ) -> Result<Self> {
        let unique = uuid::Uuid::new_v4().simple();
        let metas = files
            .iter()
            .enumerate()
            .map(|(index, file)| SnapshotStore::meta(index, file).into());
        Ok(Self {
            kind,
            schema,
            contents,
            files: metas.collect(),
            num_bytes: files.iter().map(SourceFile::size_bytes).sum(),
            store_url: ObjectStoreUrl::parse(format!("table://{unique}"))?,
            store: SnapshotStore::new(files),
        })
    }

    /// The size of all files.
    pub fn num_bytes(&self) -> u64 {
        self.num_bytes
    }

    /// The rows of all files, where the files say.
    pub fn num_rows(&self) -> Option<u64> {
        match &self.contents {
            Contents::Parquet(files) => Some(files.iter().map(|file| file.num_rows).sum()),
            Contents::Arrow(files) => Some(files.iter().map(|file| file.num_rows).sum()),
            Contents::Text { .. } => None,
        }
    }

    /// How the files are stored, where they are Parquet. Blocks.
    ///
    /// # Errors
    /// A footer cannot be read any more.
    pub fn parquet_facts(&self) -> Result<Option<ParquetFacts>> {
        match &self.contents {
            Contents::Parquet(files) => Ok(Some(ParquetFacts::read(files)?)),
            _ => Ok(None),
        }
    }

    /// Memory that is kept to find rows in the files.
    pub fn index_bytes(&self) -> u64 {
        match &self.contents {
            Contents::Parquet(files) => files.iter().map(|file| file.index_bytes()).sum(),
            Contents::Arrow(files) => files.iter().map(|file| file.index_bytes()).sum(),
            Contents::Text { .. } => 0,
        }
    }

    /// A plan of rows `rows` of the table with columns `columns`, in partitions of about
    /// `part_bytes` of the files; `None` where the files do not say where a row is. Blocks.
    ///
    /// # Errors
    /// A file cannot be read any more.
    pub fn scan_rows(
        &self,
        state: &dyn Session,
        columns: &[usize],
        rows: Range<u64>,
        part_bytes: u64,
    ) -> Result<Option<RowScan>> {
        match &self.contents {
            Contents::Parquet(files) => {
                let pieces = parquet::pieces(files, &rows, part_bytes)?;
                let parts = group(pieces.into_iter(), rows, part_bytes);
                let num_rows = |part: &Vec<Piece<_>>| part.iter().map(Piece::num_rows).sum();
                let part_rows = parts.iter().map(num_rows).collect();
                let selected = parts
                    .iter()
                    .map(|part| FileGroup::new(parquet::select(part, files, &self.files)));
                let plan = self.scan_files(state, selected.collect(), Some(&columns.to_vec()))?;
                Ok(Some(RowScan { plan, part_rows }))
            }
            Contents::Arrow(files) => {
                let schema = Arc::new(self.schema.project(columns)?);
                let scan = ArrowScan::try_new(files, schema, rows, part_bytes)?;
                Ok(Some(RowScan {
                    part_rows: scan.part_rows(),
                    plan: Arc::new(scan),
                }))
            }
            Contents::Text { .. } => Ok(None),
        }
    }

    fn scan_files(
        &self,
        state: &dyn Session,
        groups: Vec<FileGroup>,
        projection: Option<&Vec<usize>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        state
            .runtime_env()
            .register_object_store(self.store_url.as_ref(), Arc::clone(&self.store));
        let mut statistics = Statistics::new_unknown(&self.schema);
        if let Some(num_rows) = self.num_rows() {
            statistics = statistics.with_num_rows(Precision::Exact(num_rows as usize));
        }
        let config = FileScanConfigBuilder::new(self.store_url.clone(), self.source())
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_file_compression_type(self.kind.compression.datafusion())
            .with_projection_indices(projection.cloned())?
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }

    fn source(&self) -> Arc<dyn FileSource> {
        let schema = TableSchema::from(Arc::clone(&self.schema));
        match &self.contents {
            Contents::Parquet(files) => {
                let mut options = TableParquetOptions::default();
                options.global.schema_force_view_types = false;
                let readers = SnapshotReaders::new(files, &self.files);
                Arc::new(
                    ParquetSource::new(schema)
                        .with_table_parquet_options(options)
                        .with_parquet_file_reader_factory(readers),
                )
            }
            Contents::Text { splits } if self.kind.format != FileFormat::Ndjson => {
                let options = CsvOptions::default()
                    .with_has_header(true)
                    .with_delimiter(self.kind.format.delimiter())
                    .with_newlines_in_values(!splits);
                Arc::new(CsvSource::new(schema).with_csv_options(options))
            }
            _ => Arc::new(JsonSource::new(schema)),
        }
    }
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let files = self.files.iter().cloned();
        // One group is cut into ranges by the optimizer, in order; a file that cannot be cut is a
        // group of its own, so that several are read at once.
        let groups: Vec<FileGroup> = match &self.contents {
            Contents::Arrow(files) => {
                let schema = match projection {
                    Some(columns) => Arc::new(self.schema.project(columns)?),
                    None => Arc::clone(&self.schema),
                };
                let num_parts = state.config().target_partitions().max(1) as u64;
                let part_bytes = self.num_bytes.div_ceil(num_parts);
                let scan = ArrowScan::try_new(files, schema, 0..u64::MAX, part_bytes)?;
                return Ok(Arc::new(scan));
            }
            Contents::Text { splits: false } => {
                files.map(|file| FileGroup::new(vec![file])).collect()
            }
            _ => vec![FileGroup::new(files.collect())],
        };
        self.scan_files(state, groups, projection)
    }
}
