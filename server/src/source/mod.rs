//! Sources on the command line, and the tables they become.

mod arrow;
mod csv;
mod cursor;
mod file;
mod kind;
mod naming;
mod ndjson;
mod page_walk;
mod parquet;
mod parquet_facts;
mod pieces;
mod provider;
mod snapshot;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

pub use file::{Identity, SourceFile};
pub use kind::{Compression, FileFormat, FileKind, KNOWN_EXTENSIONS};
pub use parquet_facts::ParquetFacts;
pub use provider::{FileTable, RowScan};
pub use table::Table;

use crate::error::StartError;

/// How many files a directory or glob may have; more is most likely a wrong path.
const MAX_FILES: usize = 100_000;

/// Opens all sources.
///
/// # Errors
/// One line: which source, what is wrong, what would be right.
pub fn open_all(sources: &[String]) -> Result<Vec<Table>, StartError> {
    let mut found = Vec::new();
    for source in sources {
        found.extend(find(source)?);
    }
    let names: Vec<_> = found
        .iter()
        .map(|f| (f.short_name.clone(), f.long_name.clone()))
        .collect();
    let mut tables = Vec::new();
    for (found, name) in found.into_iter().zip(naming::resolve(&names)) {
        match Table::load(&name, found.kind, found.files) {
            Ok(table) => tables.push(table),
            Err(error) if found.is_optional => tracing::warn!("left out: {error}"),
            Err(error) => {
                return Err(StartError::BadArgument(format!(
                    "{error}; give a file that can be read"
                )));
            }
        }
    }
    if tables.is_empty() && !sources.is_empty() {
        return Err(StartError::BadArgument(format!(
            "{} holds no table: give files of the kinds {KNOWN_EXTENSIONS}",
            sources.join(", ")
        )));
    }
    Ok(tables)
}

struct Found {
    short_name: String,
    long_name: String,
    kind: FileKind,
    files: Vec<SourceFile>,
    /// Found in a directory: when it cannot be read it is left out.
    is_optional: bool,
}

fn find(source: &str) -> Result<Vec<Found>, StartError> {
    let (given_name, location) = match source.split_once('=') {
        Some((name, rest)) if naming::is_identifier(name) && !Path::new(source).exists() => {
            (Some(name), rest)
        }
        _ => (None, source),
    };
    if let Some((scheme, _)) = location.split_once("://") {
        return Err(StartError::BadArgument(match scheme {
            "http" | "https" | "s3" | "sc" | "flightsql" => format!(
                "{location}: {scheme}:// sources are not supported yet; give a file, a directory or a quoted glob"
            ),
            _ => format!(
                "{location}: {scheme}:// is no known source; give a file, a directory or a quoted glob"
            ),
        }));
    }
    let path = Path::new(location);
    let metadata = fs::metadata(path);
    match metadata {
        Ok(metadata) if metadata.is_dir() => find_in_directory(path, given_name),
        Ok(metadata) if !metadata.is_file() => Err(StartError::BadArgument(format!(
            "{location}: neither a file nor a directory; give one of them, or a quoted glob"
        ))),
        Ok(_) => find_file(path, location, given_name).map(|found| vec![found]),
        Err(_) if location.contains(['*', '?', '[']) => {
            find_by_glob(location, given_name).map(|found| vec![found])
        }
        Err(error) => Err(StartError::BadArgument(match error.kind() {
            std::io::ErrorKind::NotFound => {
                format!(
                    "{location}: no such file or directory; give a path that exists, or a quoted glob"
                )
            }
            _ => format!(
                "{location}: {}; give a path that can be read",
                reason(&error)
            ),
        })),
    }
}

fn find_file(path: &Path, location: &str, given_name: Option<&str>) -> Result<Found, StartError> {
    let kind = detect(path, location)?.ok_or_else(|| {
        StartError::BadArgument(format!(
            "{location}: not a kind of file that is read; give {KNOWN_EXTENSIONS}"
        ))
    })?;
    let file_name = PathBuf::from(path.file_name().unwrap_or(path.as_os_str()));
    let file = open(path, &file_name.to_string_lossy(), None, location)?;
    let short_name = given_name.map_or_else(|| naming::name_of(&file_name), str::to_owned);
    let long_name = given_name.map_or_else(|| naming::dotted(&file_name), str::to_owned);
    Ok(Found {
        short_name,
        long_name,
        kind,
        files: vec![file],
        is_optional: false,
    })
}

fn find_in_directory(folder: &Path, given_name: Option<&str>) -> Result<Vec<Found>, StartError> {
    let location = folder.display().to_string();
    let unreadable = |error: std::io::Error| {
        StartError::BadArgument(format!(
            "{location}: {}; give a directory that can be read",
            reason(&error)
        ))
    };
    let root = fs::canonicalize(folder).map_err(unreadable)?;
    let mut paths = Vec::new();
    walk(folder, &mut paths, 0).map_err(unreadable)?;
    if paths.len() > MAX_FILES {
        return Err(StartError::BadArgument(format!(
            "{location}: more than {MAX_FILES} files; give a smaller directory, or a glob for one table"
        )));
    }
    let mut found = Vec::new();
    for path in paths {
        let relative = path.strip_prefix(folder).unwrap_or(&path).to_owned();
        let label = relative.to_string_lossy().into_owned();
        let opened = SourceFile::open(&path, &label, Some(&root))
            .and_then(|file| Ok((FileKind::detect(&path)?, file)));
        let (kind, file) = match opened {
            Ok((Some(kind), file)) => (kind, file),
            Ok((None, _)) => {
                tracing::info!("{label}: not a kind of file that is read, left out");
                continue;
            }
            Err(error) => {
                tracing::warn!("{label}: {}, left out", reason(&error));
                continue;
            }
        };
        // `name=directory` puts the name before the names of its tables.
        let named = match given_name {
            Some(name) => Path::new(name).join(&relative),
            None => relative,
        };
        found.push(Found {
            short_name: naming::name_of(&named),
            long_name: naming::dotted(&named),
            kind,
            files: vec![file],
            is_optional: true,
        });
    }
    if found.is_empty() {
        return Err(StartError::BadArgument(format!(
            "{location}: no file in it is of a kind that is read; those are {KNOWN_EXTENSIONS}"
        )));
    }
    Ok(found)
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>, depth: usize) -> std::io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with('.') || paths.len() > MAX_FILES {
            continue;
        }
        let path = entry.path();
        // Follows a link to a file; a link to a folder could lead in a circle.
        if entry.file_type()?.is_dir() {
            if depth < 64
                && let Err(error) = walk(&path, paths, depth + 1)
            {
                tracing::warn!("{}: {}, left out", path.display(), reason(&error));
            }
        } else if fs::metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
            paths.push(path);
        }
    }
    Ok(())
}

fn find_by_glob(pattern: &str, given_name: Option<&str>) -> Result<Found, StartError> {
    let options = glob::MatchOptions {
        require_literal_leading_dot: true,
        ..glob::MatchOptions::default()
    };
    let matches = glob::glob_with(pattern, options).map_err(|error| {
        StartError::BadArgument(format!(
            "{pattern}: not a glob ({}); write *, ? or [a-z]",
            error.msg
        ))
    })?;
    // The folder before the first wildcard names the table; links do not lead out of it.
    let literal: PathBuf = Path::new(pattern)
        .components()
        .take_while(|c| !c.as_os_str().to_string_lossy().contains(['*', '?', '[']))
        .collect();
    let absolute = std::path::absolute(&literal).unwrap_or(literal.clone());
    let root = fs::canonicalize(&absolute).unwrap_or(absolute.clone());
    let is_inside = |path: &PathBuf| {
        let is_inside = fs::canonicalize(path).is_ok_and(|path| path.starts_with(&root));
        if !is_inside {
            tracing::warn!(
                "{}: it is a link that leads out of the directory, left out",
                path.strip_prefix(&literal).unwrap_or(path).display()
            );
        }
        is_inside
    };
    let mut paths: Vec<PathBuf> = matches
        .filter_map(Result::ok)
        .filter(|path| path.is_file() && is_inside(path))
        .take(MAX_FILES + 1)
        .collect();
    paths.sort();
    if paths.len() > MAX_FILES {
        return Err(StartError::BadArgument(format!(
            "{pattern}: more than {MAX_FILES} files match; write a narrower glob"
        )));
    }
    let Some(first) = paths.first() else {
        return Err(StartError::BadArgument(format!(
            "{pattern}: no file matches; write a glob that matches, in quotes"
        )));
    };
    let kind = detect(first, pattern)?.ok_or_else(|| {
        StartError::BadArgument(format!(
            "{}: not a kind of file that is read; match {KNOWN_EXTENSIONS}",
            first.display()
        ))
    })?;
    let name = given_name.map(str::to_owned).unwrap_or_else(|| {
        absolute.file_name().map_or_else(
            || "files".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    });
    let mut files = Vec::with_capacity(paths.len());
    for path in &paths {
        let label = path
            .strip_prefix(&literal)
            .unwrap_or(path)
            .to_string_lossy()
            .into_owned();
        match detect(path, pattern)? {
            Some(other) if other == kind => files.push(open(path, &label, Some(&root), pattern)?),
            _ => {
                return Err(StartError::BadArgument(format!(
                    "{label}: not of the same kind as {}; one table needs files of one kind",
                    first.strip_prefix(&literal).unwrap_or(first).display()
                )));
            }
        }
    }
    Ok(Found {
        short_name: name.clone(),
        long_name: name,
        kind,
        files,
        is_optional: false,
    })
}

fn detect(path: &Path, location: &str) -> Result<Option<FileKind>, StartError> {
    FileKind::detect(path).map_err(|error| {
        StartError::BadArgument(format!(
            "{location}: {}; give a file that can be read",
            reason(&error)
        ))
    })
}

fn open(
    path: &Path,
    label: &str,
    root: Option<&Path>,
    location: &str,
) -> Result<SourceFile, StartError> {
    SourceFile::open(path, label, root).map_err(|error| {
        StartError::BadArgument(format!(
            "{location}: {}; give a file that can be read",
            reason(&error)
        ))
    })
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
