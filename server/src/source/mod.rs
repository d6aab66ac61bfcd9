//! The sources on the command line, and the tables that they contain.

mod arrow;
pub mod catalog;
mod cursor;
mod discover;
mod disk;
mod file_object_store;
mod file_range;
mod gather;
mod hive;
mod identity;
mod int96;
mod kind;
mod lender;
mod lent_table;
mod naming;
mod object;
mod object_store_error;
mod page_walk;
mod parallel;
mod parquet;
mod parquet_description;
mod parquet_encryption;
mod parquet_quirks;
mod parquet_ranges;
mod provider;
mod reloads;
mod remote;
mod source_file;
pub(crate) mod stored;
mod table;
mod text;

pub(crate) use arrow::{behind_marker, read_rows, without_marker};
pub use identity::Identity;
pub use kind::{Compression, FileFormat, FileKind, KNOWN_EXTENSIONS};
pub use lender::{FileLender, LentFile};
pub use lent_table::LentTable;
pub use parquet_description::ParquetDescription;
pub use provider::{FileTable, RowScan};
pub use source_file::SourceFile;
pub(crate) use source_file::scanned_bytes;
pub use table::Table;
pub use text::TypesFrom;

use crate::error::StartError;

/// The maximum number of files of a directory or glob. More files usually mean a wrong path.
const MAX_FILES: usize = 100_000;

/// Opens all sources and loads their tables.
///
/// # Errors
/// One line: which source, what is wrong, and what would be right.
pub fn open_all(sources: &[String]) -> Result<Vec<Table>, StartError> {
    let mut found = Vec::new();
    for source in sources {
        found.extend(discover::discover(source)?);
    }
    let names: Vec<_> = found
        .iter()
        .map(|f| (f.short_name.clone(), f.long_name.clone()))
        .collect();
    let mut tables = Vec::new();
    for (found, name) in found.into_iter().zip(naming::resolve(&names)) {
        match Table::load(&name, found.kind, found.files, TypesFrom::Sample) {
            Ok(table) => tables.push(table),
            Err(error) if found.is_optional => tracing::warn!("skipped: {error}"),
            Err(error) => {
                return Err(StartError::BadArgument(format!(
                    "{error}; give a file that can be read"
                )));
            }
        }
    }
    if tables.is_empty() && !sources.is_empty() {
        return Err(StartError::BadArgument(format!(
            "{} contains no table; give files of the types {KNOWN_EXTENSIONS}",
            sources.join(", ")
        )));
    }
    Ok(tables)
}
