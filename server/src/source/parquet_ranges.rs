//! Splits Parquet files into ranges that are read in parallel: row groups, or pages of large row
//! groups.

use std::ops::Range;
use std::sync::Arc;

use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
use datafusion::parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use datafusion::parquet::errors::Result;
use datafusion::parquet::file::metadata::ParquetMetaData;

use crate::source::file_range::FileRange;
use crate::source::parquet::ParquetFile;

/// A row group, by its file and its first row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowGroup {
    pub(super) file: usize,
    /// The number of rows of the file before it.
    first_row: u64,
}

/// The row groups of `files` as ranges. A row group that is larger than `partition_bytes` is split at
/// pages if it has an offset index. A file outside `rows` is one range. Blocks.
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
        let end = first_row + file.facts.num_rows;
        let is_touched = rows.start < end && rows.end > first_row;
        first_row = end;
        if !is_touched {
            ranges.push(FileRange {
                at: RowGroup {
                    file: file_index,
                    first_row: 0,
                },
                rows: 0..file.facts.num_rows,
                num_bytes: 0,
            });
            continue;
        }
        let footer = file.footer()?;
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

/// The rows at which a large row group is cut: the first rows of pages of its largest column.
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

/// The rows of one partition, as files with row selections, in order.
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
            let after = files[file].facts.num_rows - rows.end;
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
