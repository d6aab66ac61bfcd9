//! The demo tables, kept in a cache folder so that only the first start takes time.

mod every_type;
mod lineitem;

use std::path::{Path, PathBuf};

use crate::error::StartError;
use crate::source::{Table, open_all};

/// Creates the tables that are missing, then opens `lineitem`, `flights` and `every_type`.
///
/// # Errors
/// The cache folder cannot be used.
pub fn open() -> Result<Vec<Table>, StartError> {
    let folder = cache_folder()?;
    let failed = |error: &dyn std::fmt::Display| {
        StartError::Failed(format!(
            "the demo tables cannot be stored in {}: {error}; set COLONNADE_CACHE_DIR to a writable folder, or give a SOURCE",
            folder.display()
        ))
    };
    std::fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
    let lineitem = folder.join("lineitem.parquet");
    if !lineitem.exists() {
        lineitem::generate(&lineitem).map_err(|error| failed(&error))?;
    }
    let every_type = folder.join("every_type.arrow");
    // Always written, because it takes no time and a newer version of the program may have more types.
    every_type::write(&every_type).map_err(|error| failed(&error))?;
    let mut sources = vec![
        named("every_type", &every_type),
        named("lineitem", &lineitem),
    ];
    let flights = folder.join("flights.parquet");
    if flights.exists() {
        sources.push(named("flights", &flights));
    } else {
        tracing::info!(
            "the table flights is missing: copy data/flights-3m.parquet of the npm package vega-datasets to {}",
            flights.display()
        );
    }
    open_all(&sources)
}

fn named(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

fn cache_folder() -> Result<PathBuf, StartError> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("COLONNADE_CACHE_DIR")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("colonnade")))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/colonnade")))
        .or_else(|| set("LOCALAPPDATA").map(|folder| folder.join("colonnade")))
        .ok_or_else(|| {
            StartError::Failed(
                "no folder for the demo tables is known; set COLONNADE_CACHE_DIR, or give a SOURCE"
                    .into(),
            )
        })
}
