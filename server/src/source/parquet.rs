//! Parquet: what the footer says, and reading rows by row group and page index.

use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
use datafusion::error::Result as DataFusionResult;
use datafusion::object_store::path::Path as StorePath;
use datafusion::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, RowSelection, RowSelector,
};
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::errors::{ParquetError, Result};
use datafusion::parquet::file::metadata::{
    PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader,
};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::source::SourceFile;
use crate::source::file_object_store::read_range;
use crate::source::file_range::FileRange;
use crate::source::page_walk::{Chunks, find_pages};

/// Footers of tables with more files than this are read anew for each query.
const MAX_KEPT_FOOTERS: usize = 512;

/// A Parquet file.
#[derive(Debug)]
pub(super) struct ParquetFile {
    file: SourceFile,
    /// Its columns.
    pub(super) schema: SchemaRef,
    /// Its rows.
    pub(super) num_rows: u64,
    footer: OnceLock<Arc<ParquetMetaData>>,
}

/// A row group, by file and number in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowGroup {
    pub(super) file: usize,
    /// Rows of the file before it.
    first_row: u64,
}

impl ParquetFile {
    /// Reads the footer.
    ///
    /// # Errors
    /// One line that says what is wrong with the file.
    pub(super) fn open(file: &SourceFile) -> std::result::Result<Self, String> {
        // A footer of a damaged file can make the reader panic.
        let options = ArrowReaderOptions::new();
        let metadata = catch_unwind(AssertUnwindSafe(|| {
            ArrowReaderMetadata::load(&Chunks(file), options)
        }))
        .map_err(|_| "the Parquet footer is damaged".to_owned())?
        .map_err(|error| error.to_string())?;
        let footer = metadata.metadata();
        let mut num_rows = 0;
        for group in footer.row_groups() {
            num_rows += u64::try_from(group.num_rows())
                .ok()
                .filter(|rows| *rows <= i64::MAX as u64 / 2 - num_rows)
                .ok_or("the Parquet footer is damaged")?;
        }
        if i64::try_from(num_rows) != Ok(footer.file_metadata().num_rows()) {
            return Err(format!(
                "the Parquet footer contradicts itself: {} rows in all, {num_rows} in its row groups",
                footer.file_metadata().num_rows()
            ));
        }
        Ok(Self {
            file: file.clone(),
            schema: metadata.schema().clone(),
            num_rows,
            footer: OnceLock::new(),
        })
    }

    /// Memory that the footer and its page index take, once they are kept.
    pub(super) fn index_bytes(&self) -> u64 {
        let footer = self.footer.get();
        footer.map_or(0, |footer| footer.memory_size() as u64)
    }

    /// The footer, maybe without a page index. Blocks when it is not known yet.
    pub(super) fn plain_footer(&self) -> Result<Arc<ParquetMetaData>> {
        match self.footer.get() {
            Some(footer) => Ok(Arc::clone(footer)),
            None => Ok(Arc::new(self.read_footer(PageIndexPolicy::Skip)?)),
        }
    }

    fn read_footer(&self, policy: PageIndexPolicy) -> Result<ParquetMetaData> {
        catch_unwind(AssertUnwindSafe(|| {
            ParquetMetaDataReader::new()
                .with_page_index_policy(policy)
                .parse_and_finish(&Chunks(&self.file))
        }))
        .unwrap_or_else(|_| Err(ParquetError::General("the footer is damaged".to_owned())))
    }

    /// The footer with the page index, where there is one. Blocks when it is not known yet.
    fn footer(&self, keep: bool) -> Result<Arc<ParquetMetaData>> {
        if let Some(footer) = self.footer.get() {
            return Ok(Arc::clone(footer));
        }
        // Without its page index a file is still read, only more of it.
        let footer = self
            .read_footer(PageIndexPolicy::Optional)
            .or_else(|_| self.read_footer(PageIndexPolicy::Skip))?;
        let footer = match catch_unwind(AssertUnwindSafe(|| find_pages(&self.file, &footer))) {
            Ok(Some(pages)) => footer.into_builder().set_offset_index(Some(pages)).build(),
            _ => footer,
        };
        let footer = Arc::new(footer);
        if keep {
            return Ok(Arc::clone(self.footer.get_or_init(|| footer)));
        }
        Ok(footer)
    }
}

/// The row groups of `files` as ranges. One that is larger than `partition_bytes` and can be entered at
/// each page, because it has an offset index, is several. A file that `rows` do not touch is one
/// range. Blocks.
///
/// # Errors
/// A footer cannot be read again.
pub(super) fn ranges(
    files: &[Arc<ParquetFile>],
    rows: &Range<u64>,
    partition_bytes: u64,
) -> Result<Vec<FileRange<RowGroup>>> {
    let mut ranges = Vec::new();
    let mut first_row = 0;
    for (file_index, file) in files.iter().enumerate() {
        let end = first_row + file.num_rows;
        let is_touched = rows.start < end && rows.end > first_row;
        first_row = end;
        if !is_touched {
            ranges.push(FileRange {
                at: RowGroup {
                    file: file_index,
                    first_row: 0,
                },
                rows: 0..file.num_rows,
                num_bytes: 0,
            });
            continue;
        }
        let footer = file.footer(files.len() <= MAX_KEPT_FOOTERS)?;
        let mut first_row = 0;
        for (index, group) in footer.row_groups().iter().enumerate() {
            let at = RowGroup {
                file: file_index,
                first_row,
            };
            let num_rows = group.num_rows().max(0) as u64;
            let num_bytes = group.compressed_size().max(0) as u64;
            first_row += num_rows;
            let mut start = 0;
            for end in cuts(&footer, index, num_bytes, partition_bytes) {
                ranges.push(FileRange {
                    at,
                    rows: start..end,
                    num_bytes: share(num_bytes, end - start, num_rows),
                });
                start = end;
            }
            if start < num_rows {
                ranges.push(FileRange {
                    at,
                    rows: start..num_rows,
                    num_bytes: share(num_bytes, num_rows - start, num_rows),
                });
            }
        }
    }
    Ok(ranges)
}

fn share(num_bytes: u64, rows: u64, of_rows: u64) -> u64 {
    (u128::from(num_bytes) * u128::from(rows) / u128::from(of_rows.max(1))) as u64
}

/// Rows at which a large row group is cut: where a page of its largest column begins.
fn cuts(footer: &ParquetMetaData, index: usize, num_bytes: u64, partition_bytes: u64) -> Vec<u64> {
    let group = footer.row_group(index);
    let num_rows = group.num_rows().max(0) as u64;
    let Some(columns) = footer.offset_index().and_then(|groups| groups.get(index)) else {
        return Vec::new();
    };
    let largest = group
        .columns()
        .iter()
        .zip(columns)
        .max_by_key(|(column, _)| column.compressed_size());
    let Some((_, pages)) = largest else {
        return Vec::new();
    };
    let mut cuts = Vec::new();
    let mut last = 0;
    for page in pages.page_locations() {
        let row = page.first_row_index.max(0) as u64;
        let is_large = share(num_bytes, row.saturating_sub(last), num_rows) >= partition_bytes;
        if is_large && row > last && row < num_rows {
            cuts.push(row);
            last = row;
        }
    }
    cuts
}

/// The rows of one partition as files with row selections, in order.
pub(super) fn select(
    partition: &[FileRange<RowGroup>],
    files: &[Arc<ParquetFile>],
    metas: &[PartitionedFile],
) -> Vec<PartitionedFile> {
    let mut selected: Vec<(usize, Range<u64>)> = Vec::new();
    for range in partition {
        let first_row = range.at.first_row;
        let rows = first_row + range.rows.start..first_row + range.rows.end;
        match selected.last_mut() {
            Some((file, before)) if *file == range.at.file && before.end == rows.start => {
                before.end = rows.end;
            }
            _ => selected.push((range.at.file, rows)),
        }
    }
    selected
        .into_iter()
        .map(|(file, rows)| {
            let after = files[file].num_rows - rows.end;
            let selectors = [
                RowSelector::skip(rows.start as usize),
                RowSelector::select((rows.end - rows.start) as usize),
                RowSelector::skip(after as usize),
            ];
            let selection = RowSelection::from_iter(selectors);
            metas[file]
                .clone()
                .with_extension(ParquetRowSelection::new(selection))
        })
        .collect()
}

/// Makes readers of the files as they were when the table was loaded.
#[derive(Debug)]
pub(super) struct SnapshotReaders {
    files: HashMap<StorePath, Arc<ParquetFile>>,
}

impl SnapshotReaders {
    pub(super) fn new(files: &[Arc<ParquetFile>], metas: &[PartitionedFile]) -> Arc<Self> {
        let locations = metas.iter().map(|meta| meta.object_meta.location.clone());
        Arc::new(Self {
            files: locations.zip(files.iter().cloned()).collect(),
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
        let found = self
            .files
            .get(location)
            .ok_or_else(|| ParquetError::General(format!("the table has no file {location}")))?;
        Ok(Box::new(SnapshotReader {
            file: Arc::clone(found),
            keep: self.files.len() <= MAX_KEPT_FOOTERS,
        }))
    }
}

struct SnapshotReader {
    file: Arc<ParquetFile>,
    keep: bool,
}

impl AsyncFileReader for SnapshotReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes>> {
        async move { Ok(read_range(&self.file.file, range).await?) }.boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        async move { Ok(self.file.file.read_ranges(ranges).await?) }.boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        _: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, Result<Arc<ParquetMetaData>>> {
        async move {
            let (file, keep) = (Arc::clone(&self.file), self.keep);
            tokio::task::spawn_blocking(move || file.footer(keep))
                .await
                .map_err(|error| ParquetError::External(Box::new(error)))?
        }
        .boxed()
    }
}
