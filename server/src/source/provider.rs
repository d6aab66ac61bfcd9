//! How the engine reads the files of a table, in their order.

use std::path::{Component, Path as FsPath, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{Statistics, config::CsvOptions, config::TableParquetOptions};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    ArrowSource, CsvSource, FileGroup, FileScanConfigBuilder, FileSource, JsonSource, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::Expr;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path as StorePath;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_plan::ExecutionPlan;

use crate::source::{FileFormat, FileKind, SourceFile};

/// Files of one kind as a table of the engine.
#[derive(Debug)]
pub struct FileTable {
    kind: FileKind,
    schema: SchemaRef,
    num_rows: Option<u64>,
    splits: bool,
    files: Vec<ObjectMeta>,
    store_url: ObjectStoreUrl,
    store: Arc<dyn ObjectStore>,
}

impl FileTable {
    /// A table of these files, in this order. `splits` says whether a file may be cut into ranges.
    ///
    /// # Errors
    /// A path that cannot be named.
    pub fn try_new(
        kind: FileKind,
        files: &[SourceFile],
        schema: SchemaRef,
        num_rows: Option<u64>,
        splits: bool,
    ) -> Result<Self> {
        // Paths below a common root, so that plans and messages do not show where the root is.
        let root = common_folder(files);
        let prefix = StorePath::from_absolute_path(&root).map_err(store_error)?;
        let store = LocalFileSystem::new_with_prefix(&root).map_err(store_error)?;
        let files = files
            .iter()
            .map(|file| {
                let full = StorePath::from_absolute_path(&file.path).map_err(store_error)?;
                let below = full
                    .prefix_match(&prefix)
                    .ok_or_else(|| DataFusionError::Internal("a file outside its folder".into()))?;
                Ok(ObjectMeta {
                    location: below.collect(),
                    last_modified: file.modified.map(Into::into).unwrap_or_default(),
                    size: file.size_bytes,
                    e_tag: None,
                    version: None,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let unique = uuid::Uuid::new_v4().simple();
        let store_url = ObjectStoreUrl::parse(format!("table://{unique}"))?;
        Ok(Self {
            kind,
            schema,
            num_rows,
            splits,
            files,
            store_url,
            store: Arc::new(store),
        })
    }

    fn source(&self) -> Arc<dyn FileSource> {
        let schema = TableSchema::from(Arc::clone(&self.schema));
        match self.kind.format {
            FileFormat::Parquet => {
                let mut options = TableParquetOptions::default();
                options.global.schema_force_view_types = false;
                Arc::new(ParquetSource::new(schema).with_table_parquet_options(options))
            }
            FileFormat::Csv | FileFormat::Tsv => {
                let options = CsvOptions::default()
                    .with_has_header(true)
                    .with_delimiter(self.kind.format.delimiter())
                    .with_newlines_in_values(!self.splits);
                Arc::new(CsvSource::new(schema).with_csv_options(options))
            }
            FileFormat::Ndjson => Arc::new(JsonSource::new(schema)),
            FileFormat::ArrowFile => Arc::new(ArrowSource::new_file_source(schema)),
            FileFormat::ArrowStream => Arc::new(ArrowSource::new_stream_file_source(schema)),
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
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        state
            .runtime_env()
            .register_object_store(self.store_url.as_ref(), Arc::clone(&self.store));
        let files = self
            .files
            .iter()
            .map(|meta| PartitionedFile::new_from_meta(meta.clone()));
        // One group is cut into ranges by the optimizer, in order; a file that cannot be cut is a
        // group of its own, so that several are read at once.
        let groups: Vec<FileGroup> = if self.splits {
            vec![FileGroup::new(files.collect())]
        } else {
            files.map(|file| FileGroup::new(vec![file])).collect()
        };
        let mut statistics = Statistics::new_unknown(&self.schema);
        if let Some(num_rows) = self.num_rows {
            statistics = statistics.with_num_rows(Precision::Exact(num_rows as usize));
        }
        let config = FileScanConfigBuilder::new(self.store_url.clone(), self.source())
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_file_compression_type(self.kind.compression.datafusion())
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}

fn common_folder(files: &[SourceFile]) -> PathBuf {
    let mut folders = files.iter().filter_map(|file| file.path.parent());
    let Some(first) = folders.next() else {
        return PathBuf::from("/");
    };
    folders.fold(first.to_owned(), |common, folder| {
        shared_start(&common, folder)
    })
}

fn shared_start(a: &FsPath, b: &FsPath) -> PathBuf {
    let same: Vec<Component<'_>> = a
        .components()
        .zip(b.components())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a)
        .collect();
    same.iter().collect()
}

fn store_error(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
