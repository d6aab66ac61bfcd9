//! The sources on the command line, and the tables that they contain.

mod arrow;
pub mod catalog;
mod column_size;
mod column_spill;
mod compression;
mod cursor;
mod discover;
mod disk;
mod file_object_store;
mod file_range;
mod folders;
mod footer_memory;
mod footer_reader;
mod gather;
mod hive;
mod identity;
mod int96;
mod kind;
mod lake;
mod left_out;
mod lender;
mod lent_table;
mod merge;
mod naming;
mod object;
mod object_store_error;
mod page_walk;
mod parallel;
mod parquet;
mod parquet_check;
mod parquet_description;
mod parquet_ranges;
mod parquet_scan;
mod poller;
mod provider;
mod pruning;
mod read_as;
mod reloads;
mod remote;
mod scan_bytes;
mod scan_memory;
mod skipped;
mod source_file;
pub(crate) mod stored;
mod table;
mod text;
mod unreadable;
mod wide_scan;

pub(crate) use arrow::{behind_marker, read_rows, without_marker};
pub use compression::Compression;
pub use folders::Folders;
pub use footer_memory::limit_footers;
pub use identity::Identity;
pub use kind::{FileFormat, FileKind, KNOWN_EXTENSIONS};
pub use left_out::LeftOutFile;
pub use lender::{FileLender, LentFile};
pub use lent_table::LentTable;
pub use parquet_description::ParquetDescription;
pub use provider::{FileTable, RowScan};
pub use read_as::{name_with_options, without_options};
pub(crate) use scan_bytes::{ScanMeter, bytes_to_scan};
pub(crate) use scan_memory::ScanMemory;
pub use source_file::SourceFile;
pub(crate) use source_file::scanned_bytes;
pub use table::Table;
pub use text::{OptionsFrom, Preview, TypesFrom};
pub use unreadable::Unreadable;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::error::StartError;

/// The maximum number of files of a directory or glob. More files usually mean a wrong path.
const MAX_FILES: usize = 100_000;

/// Opens all sources and loads their tables. A table that cannot be read is
/// [`unreadable`](Table::unreadable), unless it is the only one.
///
/// # Errors
/// One line: which source, what is wrong, and what would be right.
pub fn open_all(sources: &[String]) -> Result<Vec<Table>, StartError> {
    open_with_schemas(sources, &[]).map(|(tables, _)| tables)
}

/// As [`open_all`], with schema files for tables of text files, as `NAME=FILE`. Also returns the folders and
/// globs, which may get more files.
///
/// # Errors
/// As [`open_all`], and which schema file is wrong.
pub fn open_with_schemas(
    sources: &[String],
    schemas: &[String],
) -> Result<(Vec<Table>, Folders), StartError> {
    let mut schemas = read_schemas(schemas)?;
    let files = sources.iter().map(|source| discover::listed(source));
    let files = files.collect();
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for (index, source) in sources.iter().enumerate() {
        let discovered = discover::discover(source)?;
        found.extend(discovered.tables.into_iter().map(|found| (index, found)));
        left_out.push(discovered.left_out);
    }
    let names = found
        .iter()
        .map(|(_, f)| (f.short_name.clone(), f.long_name.clone()));
    let names = naming::resolve(&names.collect::<Vec<_>>());
    for ((_, found), name) in found.iter_mut().zip(&names) {
        if let Some(options) = schemas.remove(name) {
            found.set_options(options);
        }
    }
    if let Some(name) = schemas.keys().next() {
        return Err(StartError::BadArgument(format!(
            "--schema {name}: there is no table of that name; give the name of a table of text files"
        )));
    }
    let named = found.iter().zip(&names);
    let folders = Folders::new(
        sources,
        files,
        left_out,
        named.map(|((i, found), name)| (*i, found, name.as_str())),
    );
    let named = found.into_iter().zip(&names);
    let tables: Vec<_> = named
        .map(|((_, found), name)| folders::load(name, found.contents))
        .collect();
    let may_pass = |why: &&Unreadable| why.may_pass();
    let reasons = tables
        .iter()
        .map(|table| table.unreadable.as_ref().filter(may_pass));
    if let Some(reasons) = reasons.collect::<Option<Vec<_>>>()
        && let Some(Unreadable { reason, .. }) = reasons.first()
    {
        return Err(StartError::BadArgument(format!(
            "{reason}; give a file that can be read"
        )));
    }
    if tables.is_empty() && !sources.is_empty() {
        return Err(StartError::BadArgument(format!(
            "{} contains no table; give files of the types {KNOWN_EXTENSIONS}",
            sources.join(", ")
        )));
    }
    Ok((tables, folders))
}

fn read_schemas(schemas: &[String]) -> Result<HashMap<String, OptionsFrom>, StartError> {
    let mut read = HashMap::new();
    for schema in schemas {
        let (name, path) = schema.split_once('=').ok_or_else(|| {
            StartError::BadArgument(format!("--schema {schema}: write NAME=FILE.json"))
        })?;
        let options = text::read_schema_file(Path::new(path))
            .map_err(|error| StartError::BadArgument(format!("--schema {name}: {error}")))?;
        let options = OptionsFrom::Given(Arc::new(options));
        if read.insert(name.to_owned(), options).is_some() {
            return Err(StartError::BadArgument(format!(
                "--schema {name} is given twice; give it once"
            )));
        }
    }
    Ok(read)
}
