//! Parquet: what the footer says.

use std::fs::File;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};

use crate::source::SourceFile;

/// What a Parquet footer says.
pub(super) struct ParquetFacts {
    /// Its columns.
    pub(super) schema: SchemaRef,
    /// Its rows.
    pub(super) num_rows: u64,
}

/// Reads the footer.
///
/// # Errors
/// One line that says what is wrong with the file.
pub(super) fn read_facts(file: &SourceFile) -> Result<ParquetFacts, String> {
    let handle = File::open(&file.path).map_err(|error| error.to_string())?;
    // A footer of a damaged file can make the reader panic.
    let metadata =
        std::panic::catch_unwind(|| ArrowReaderMetadata::load(&handle, ArrowReaderOptions::new()))
            .map_err(|_| "the Parquet footer is damaged".to_owned())?
            .map_err(|error| error.to_string())?;
    let num_rows = metadata.metadata().file_metadata().num_rows();
    Ok(ParquetFacts {
        schema: metadata.schema().clone(),
        num_rows: u64::try_from(num_rows)
            .map_err(|_| "the Parquet footer is damaged".to_owned())?,
    })
}
