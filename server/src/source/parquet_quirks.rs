//! What the Parquet library does not know of its files.

use std::sync::Arc;

use datafusion::parquet::basic::Compression;
use datafusion::parquet::column::page::{Page, PageReader};
use datafusion::parquet::errors::{ParquetError, Result};
use datafusion::parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataBuilder};
use datafusion::parquet::file::serialized_reader::SerializedPageReader;

use crate::source::SourceFile;
use crate::source::page_walk::Chunks;

/// Arrow C++ before 3.0, which states that its pages of version 2 are not compressed, although they are.
const WRONG_WRITER: &str = "parquet-cpp version 1.";

/// Refuses compressed pages that claim to be uncompressed. One page shows it. Blocks.
///
/// # Errors
/// The file has such pages, or cannot be read.
pub(super) fn check_compression(file: &SourceFile, footer: &ParquetMetaData) -> Result<()> {
    let writer = footer.file_metadata().created_by();
    let Some(writer) = writer.filter(|writer| writer.starts_with(WRONG_WRITER)) else {
        return Ok(());
    };
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
                return Err(ParquetError::General(format!(
                    "the pages of {writer} are compressed, but state that they are not; write the file again with a later version"
                )));
            }
            _ => break,
        }
    }
    Ok(())
}

/// The footer of a file of `num_rows` rows. Early versions of parquet-rs stated 0, and the reader would stop there.
pub(super) fn with_num_rows(footer: ParquetMetaData, num_rows: u64) -> ParquetMetaData {
    let stated = footer.file_metadata();
    if stated.num_rows() != 0 || num_rows == 0 {
        return footer;
    }
    let counted = FileMetaData::new(
        stated.version(),
        num_rows as i64,
        stated.created_by().map(str::to_owned),
        stated.key_value_metadata().cloned(),
        stated.schema_descr_ptr(),
        stated.column_orders().cloned(),
    );
    ParquetMetaDataBuilder::new(counted)
        .set_row_groups(footer.row_groups().to_vec())
        .set_column_index(footer.column_index().cloned())
        .set_offset_index(footer.offset_index().cloned())
        .build()
}
