//! Checks of Parquet files that need their bytes.

use std::sync::Arc;

use colonnade_reader::footer::{WRONG_COMPRESSION, has_wrong_compression};
use datafusion::parquet::basic::Compression;
use datafusion::parquet::column::page::{Page, PageReader};
use datafusion::parquet::errors::{ParquetError, Result};
use datafusion::parquet::file::metadata::ParquetMetaData;
use datafusion::parquet::file::serialized_reader::SerializedPageReader;

use crate::source::SourceFile;
use crate::source::page_walk::Chunks;

/// Refuses compressed pages that claim to be uncompressed. One page shows it. Blocks.
///
/// # Errors
/// The file has such pages, or cannot be read.
pub(super) fn check_compression(file: &SourceFile, footer: &ParquetMetaData) -> Result<()> {
    if !has_wrong_compression(footer) {
        return Ok(());
    }
    let groups = footer.row_groups().iter();
    let mut columns = groups.flat_map(|group| group.columns());
    let is_compressed = |codec| codec != Compression::UNCOMPRESSED;
    let Some(column) = columns.find(|column| is_compressed(column.compression())) else {
        return Ok(());
    };
    let chunks = Arc::new(Chunks(file.clone()));
    let num_values = usize::try_from(column.num_values()).unwrap_or(0);
    let mut pages = SerializedPageReader::new(chunks, column, num_values, None)?;
    while let Some(page) = pages.get_next_page()? {
        match page {
            Page::DictionaryPage { .. } => {}
            Page::DataPageV2 {
                is_compressed: false,
                ..
            } => {
                return Err(ParquetError::General(WRONG_COMPRESSION.to_owned()));
            }
            _ => break,
        }
    }
    Ok(())
}
