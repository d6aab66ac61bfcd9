//! Parquet: footers, and reading rows by row group and page index.

use std::collections::BTreeSet;
use std::error::Error;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use colonnade_reader::footer;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::error::Result as DataFusionResult;
use datafusion::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::errors::{ParquetError, Result};
use datafusion::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::error::QueryError;
use crate::source::SourceFile;
use crate::source::file_object_store::{index_of, read_range};
use crate::source::footer_memory::{KeptFooter, Purpose};
use crate::source::footer_reader::FooterReader;
use crate::source::int96::Int96Range;
use crate::source::page_walk::find_pages;
use crate::source::parquet_check::check_compression;
use crate::source::pruning::lacks_null_counts;

/// A Parquet file.
#[derive(Debug)]
pub(super) struct ParquetFile {
    file: SourceFile,
    /// What a plan needs to know about it.
    pub(super) facts: FooterFacts,
    kept: KeptFooter,
}

/// What a plan needs to know from the footer of a Parquet file, besides the columns of the table.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct FooterFacts {
    /// Its rows.
    pub(super) num_rows: u64,
    /// Whether some of its columns are encrypted. The others can be read.
    pub(super) has_encrypted_columns: bool,
    /// Whether its statistics do not state all numbers of nulls.
    pub(super) lacks_null_counts: bool,
}

/// A Parquet file, with what decides the columns of its table.
#[derive(Debug)]
pub(super) struct OpenedParquet {
    pub(super) file: ParquetFile,
    /// Its columns.
    pub(super) schema: SchemaRef,
    /// The values of its INT96 columns, if it has such columns.
    pub(super) int96: Option<Int96Range>,
}

impl OpenedParquet {
    /// Reads the footer.
    ///
    /// # Errors
    /// One line that describes what is wrong with the file.
    pub(super) fn open(file: &SourceFile) -> std::result::Result<Self, String> {
        // The footer of a damaged file can make the reader panic.
        let reader = FooterReader::new(file, Purpose::Load);
        let metadata = catch_unwind(AssertUnwindSafe(|| {
            let footer = ParquetMetaDataReader::new().parse_and_finish(&reader)?;
            let footer = Arc::new(footer::readable(footer)?);
            ArrowReaderMetadata::try_new(footer, ArrowReaderOptions::new())
        }))
        .map_err(|_| "the Parquet footer is damaged".to_owned())?
        .map_err(|error| explain(&error))?;
        let whole = metadata.metadata();
        let num_rows = footer::num_rows(whole)?;
        let pages = catch_unwind(AssertUnwindSafe(|| {
            check_compression(file, whole)?;
            Int96Range::read(file, whole, metadata.schema())
        }));
        let int96 = pages
            .map_err(|_| "a page of the Parquet file is damaged".to_owned())?
            .map_err(|error| error.to_string())?;
        let facts = FooterFacts {
            num_rows,
            has_encrypted_columns: reader.has_encrypted_columns(),
            lacks_null_counts: lacks_null_counts(whole),
        };
        Ok(Self {
            file: ParquetFile::new(file, facts),
            schema: footer::with_extension_types(metadata.schema(), whole),
            int96,
        })
    }
}

impl ParquetFile {
    /// A file of which `facts` are known.
    pub(super) fn new(file: &SourceFile, facts: FooterFacts) -> Self {
        Self {
            file: file.clone(),
            facts,
            kept: KeptFooter::default(),
        }
    }

    /// Memory for the footer and its page index while they are kept, in bytes.
    pub(super) fn index_bytes(&self) -> u64 {
        let footer = self.kept.get();
        footer.map_or(0, |footer| footer.memory_size() as u64)
    }

    /// The footer, if it is kept.
    pub(super) fn kept_footer(&self) -> Option<Arc<ParquetMetaData>> {
        self.kept.get()
    }

    /// The bytes of the columns with these names; `None` while the footer is not kept.
    pub(super) fn bytes_of(&self, names: &BTreeSet<&str>) -> Option<u64> {
        Some(column_bytes(self.kept.get()?.as_ref(), names))
    }

    /// The footer, possibly without a page index. Blocks if it has to be read.
    pub(super) fn plain_footer(&self) -> Result<Arc<ParquetMetaData>> {
        match self.kept.get() {
            Some(footer) => Ok(footer),
            None => {
                let (reader, footer) = self.read_footer(|_, footer| Ok(footer))?;
                Ok(reader.share(footer))
            }
        }
    }

    fn read_footer(
        &self,
        complete: impl FnOnce(&FooterReader, ParquetMetaData) -> Result<ParquetMetaData>,
    ) -> Result<(FooterReader, ParquetMetaData)> {
        let reader = FooterReader::new(&self.file, Purpose::Query);
        let footer = catch_unwind(AssertUnwindSafe(|| {
            let footer = ParquetMetaDataReader::new().parse_and_finish(&reader)?;
            footer::readable(complete(&reader, footer)?)
        }))
        .unwrap_or_else(|_| Err(ParquetError::General("the footer is damaged".to_owned())))?;
        let footer = footer::with_num_rows(footer, self.facts.num_rows);
        Ok((reader, footer::without_signed_order(footer)?))
    }

    /// The footer, with the page index if there is one, of the state in which the file was opened. Blocks.
    ///
    /// # Errors
    /// The file has changed, or its footer cannot be read.
    pub(super) fn footer(&self) -> Result<Arc<ParquetMetaData>> {
        let footer = self.kept.get_or_read(|| self.read_indexed_footer())?;
        self.file.confirm()?;
        Ok(footer)
    }

    fn read_indexed_footer(&self) -> Result<Arc<ParquetMetaData>> {
        // Without its page index, a file is still readable, but more of it has to be read.
        let (reader, footer) = self
            .read_footer(FooterReader::with_page_index)
            .or_else(|_| self.read_footer(|_, footer| Ok(footer)))?;
        let pages = catch_unwind(AssertUnwindSafe(|| find_pages(&self.file, &footer)));
        Ok(reader.share(match pages {
            Ok(Some(pages)) => footer.into_builder().set_offset_index(Some(pages)).build(),
            _ => footer,
        }))
    }
}

/// Why a footer cannot be read, in one line.
fn explain(error: &ParquetError) -> String {
    let own = error.source().and_then(|inner| inner.downcast_ref());
    match own {
        Some(QueryError { message, hint, .. }) => format!("{message}; {hint}"),
        None => footer::explain(error),
    }
}

/// The compressed bytes of the columns with these names.
fn column_bytes(footer: &ParquetMetaData, names: &BTreeSet<&str>) -> u64 {
    let schema = footer.file_metadata().schema_descr();
    let wanted: Vec<bool> = (0..schema.num_columns())
        .map(|leaf| names.contains(schema.get_column_root(leaf).name()))
        .collect();
    let groups = footer.row_groups().iter();
    let chunks = groups.flat_map(|group| group.columns().iter().zip(&wanted));
    chunks
        .filter(|(_, is_wanted)| **is_wanted)
        .map(|(chunk, _)| chunk.compressed_size().max(0) as u64)
        .sum()
}

/// Creates readers of the files in the state that they had when the table was loaded.
#[derive(Debug)]
pub(super) struct SnapshotReaders {
    files: Arc<[Arc<ParquetFile>]>,
    scan_bytes: Count,
}

impl SnapshotReaders {
    /// Readers of `files`, which count in `scan_bytes` what they read besides footers.
    pub(super) fn new(files: &Arc<[Arc<ParquetFile>]>, scan_bytes: &Count) -> Arc<Self> {
        Arc::new(Self {
            files: Arc::clone(files),
            scan_bytes: scan_bytes.clone(),
        })
    }
}

impl ParquetFileReaderFactory for SnapshotReaders {
    fn create_reader(
        &self,
        _: usize,
        file: PartitionedFile,
        _: Option<usize>,
        _: &ExecutionPlanMetricsSet,
    ) -> DataFusionResult<Box<dyn AsyncFileReader + Send>> {
        let location = &file.object_meta.location;
        let found = index_of(location)
            .and_then(|index| self.files.get(index))
            .ok_or_else(|| ParquetError::General(format!("the table has no file {location}")))?;
        Ok(Box::new(SnapshotReader {
            data: found.file.counted(&self.scan_bytes),
            file: Arc::clone(found),
        }))
    }
}

struct SnapshotReader {
    file: Arc<ParquetFile>,
    data: SourceFile,
}

impl AsyncFileReader for SnapshotReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes>> {
        async move { Ok(read_range(&self.data, range).await?) }.boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        async move { Ok(self.data.read_ranges(ranges).await?) }.boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        _: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, Result<Arc<ParquetMetaData>>> {
        async move {
            let file = Arc::clone(&self.file);
            tokio::task::spawn_blocking(move || file.footer())
                .await
                .map_err(|error| ParquetError::External(Box::new(error)))?
        }
        .boxed()
    }
}
