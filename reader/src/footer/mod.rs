//! Decisions about the footer of a Parquet file: its columns, their types, and what its writer meant.

mod edits;
mod hints;
mod int96;
mod outline;
mod page_index;
mod quirks;

pub use int96::{Int96Values, with_int96_micros};
pub use outline::Outline;
pub use page_index::PageIndex;
pub use quirks::{
    WRONG_COMPRESSION, has_wrong_compression, with_extension_types, with_num_rows,
    without_signed_order,
};

use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ParquetMetaData;

/// The footer with columns that the library can tell apart and read.
///
/// # Errors
/// The columns have no Arrow types.
pub fn readable(footer: ParquetMetaData) -> Result<ParquetMetaData> {
    let footer = hints::with_usable_hints(&footer)?.unwrap_or(footer);
    Ok(quirks::with_distinct_names(&footer)?.unwrap_or(footer))
}

/// The number of rows of a file, by its row groups.
///
/// # Errors
/// One line that says how the footer contradicts itself.
pub fn num_rows(footer: &ParquetMetaData) -> std::result::Result<u64, String> {
    let mut num_rows = 0;
    for group in footer.row_groups() {
        num_rows += u64::try_from(group.num_rows())
            .ok()
            .filter(|rows| *rows <= i64::MAX as u64 / 2 - num_rows)
            .ok_or("the Parquet footer is damaged")?;
    }
    // Early versions of parquet-rs wrote 0; see `with_num_rows`.
    let stated = footer.file_metadata().num_rows();
    if stated != 0 && i64::try_from(num_rows) != Ok(stated) {
        return Err(format!(
            "the Parquet footer contradicts itself: {stated} rows in all, {num_rows} in its row groups"
        ));
    }
    Ok(num_rows)
}

/// What an error of the library about a footer means, in one line.
#[must_use]
pub fn explain(error: &ParquetError) -> String {
    let text = match error {
        ParquetError::External(own) => own.to_string(),
        library => library.to_string(),
    };
    if text.contains("encrypted footer") {
        return "the Parquet file is encrypted; write it without encryption".to_owned();
    }
    text
}
