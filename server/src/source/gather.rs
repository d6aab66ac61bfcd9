//! The files of a folder or a glob as tables.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StartError;
use crate::source::{FileKind, KNOWN_EXTENSIONS, SourceFile, hive, naming};

/// Wildcards of globs.
pub(super) const WILDCARDS: [char; 3] = ['*', '?', '['];

/// A table that was found, not yet loaded.
pub(super) struct Found {
    /// Its name, unless another table has it too.
    pub(super) short_name: String,
    /// Its name in that case.
    pub(super) long_name: String,
    pub(super) kind: FileKind,
    pub(super) files: Vec<SourceFile>,
    /// Found in a folder: when it cannot be read it is left out.
    pub(super) is_optional: bool,
}

/// A file that was listed, and what came of opening it. The label is its path below the source.
pub(super) struct Opened {
    label: String,
    file: io::Result<(SourceFile, Option<FileKind>)>,
}

impl Opened {
    /// Looks at the file, which `open` opens by its label.
    pub(super) fn new(label: String, open: impl FnOnce(&str) -> io::Result<SourceFile>) -> Self {
        Self {
            file: open(&label).and_then(with_kind),
            label,
        }
    }
}

fn with_kind(file: SourceFile) -> io::Result<(SourceFile, Option<FileKind>)> {
    let kind = FileKind::detect_open(&file)?;
    Ok((file, kind))
}

/// The table of one file that was named.
///
/// # Errors
/// It cannot be read, or is not of a kind that is read.
pub(super) fn file(
    location: &str,
    given_name: Option<&str>,
    opened: io::Result<SourceFile>,
) -> Result<Found, StartError> {
    let (file, kind) = opened
        .and_then(with_kind)
        .map_err(|error| unreadable(location, &error))?;
    let kind = kind.ok_or_else(|| {
        StartError::BadArgument(format!(
            "{location}: not a kind of file that is read; give {KNOWN_EXTENSIONS}"
        ))
    })?;
    let name = PathBuf::from(&file.label);
    Ok(Found {
        short_name: given_name.map_or_else(|| naming::name_of(&name), str::to_owned),
        long_name: given_name.map_or_else(|| naming::dotted(&name), str::to_owned),
        kind,
        files: vec![file],
        is_optional: false,
    })
}

/// The tables of a folder named `folder_name`: each file one, but for those in folders such as
/// `year=2024`, which are one together. `given_name` is put before all names.
///
/// # Errors
/// None of the files is of a kind that is read.
pub(super) fn folder(
    location: &str,
    folder_name: &str,
    given_name: Option<&str>,
    opened: Vec<Opened>,
) -> Result<Vec<Found>, StartError> {
    let mut found: Vec<Found> = Vec::new();
    let mut partitioned: HashMap<PathBuf, usize> = HashMap::new();
    for Opened { label, file } in opened {
        let (file, kind) = match file {
            Ok((file, Some(kind))) => (file, kind),
            Ok((_, None)) => {
                tracing::info!("{label}: not a kind of file that is read, left out");
                continue;
            }
            Err(error) => {
                tracing::warn!("{label}: {}, left out", reason(&error));
                continue;
            }
        };
        let named = |path: &Path| Path::new(given_name.unwrap_or_default()).join(path);
        let (short_name, long_name) = match hive::table_folder(&label) {
            None => {
                let path = named(Path::new(&label));
                (naming::name_of(&path), naming::dotted(&path))
            }
            Some(above) => {
                let name = naming::dotted(&named(&above));
                match partitioned.entry(above) {
                    Entry::Vacant(entry) => {
                        entry.insert(found.len());
                    }
                    Entry::Occupied(entry) => {
                        let table = &mut found[*entry.get()];
                        if table.kind == kind {
                            table.files.push(file);
                        } else {
                            tracing::warn!(
                                "{label}: not of the same kind as {}, left out",
                                table.files[0].label
                            );
                        }
                        continue;
                    }
                }
                let name = if name.is_empty() {
                    folder_name.to_owned()
                } else {
                    name
                };
                (name.clone(), name)
            }
        };
        found.push(Found {
            short_name,
            long_name,
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

/// The one table of the files that `pattern` matches.
///
/// # Errors
/// There is none, one cannot be read, or they are of several kinds.
pub(super) fn glob(pattern: &str, name: &str, opened: Vec<Opened>) -> Result<Found, StartError> {
    let mut found: Option<Found> = None;
    for Opened { label, file } in opened {
        let (file, kind) = file.map_err(|error| unreadable(pattern, &error))?;
        match (&mut found, kind) {
            (None, Some(kind)) => {
                found = Some(Found {
                    short_name: name.to_owned(),
                    long_name: name.to_owned(),
                    kind,
                    files: vec![file],
                    is_optional: false,
                });
            }
            (None, None) => {
                return Err(StartError::BadArgument(format!(
                    "{label}: not a kind of file that is read; match {KNOWN_EXTENSIONS}"
                )));
            }
            (Some(found), kind) if kind == Some(found.kind) => found.files.push(file),
            (Some(found), _) => {
                return Err(StartError::BadArgument(format!(
                    "{label}: not of the same kind as {}; one table needs files of one kind",
                    found.files[0].label
                )));
            }
        }
    }
    found.ok_or_else(|| {
        StartError::BadArgument(format!(
            "{pattern}: no file matches; write a glob that matches, in quotes"
        ))
    })
}

/// A source that cannot be read. A store that may answer later is no wrong argument.
pub(super) fn unreadable(location: &str, error: &io::Error) -> StartError {
    let text = format!("{location}: {}", reason(error));
    match error.get_ref() {
        None => StartError::BadArgument(format!("{text}; give a file that can be read")),
        Some(_) if error.kind() == io::ErrorKind::Other => StartError::Failed(text),
        Some(_) => StartError::BadArgument(text),
    }
}

/// The error of a system call in words.
pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        _ if error.get_ref().is_some() => error.to_string(),
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// A glob that cannot be read.
pub(super) fn no_glob(location: &str, error: &glob::PatternError) -> StartError {
    StartError::BadArgument(format!(
        "{location}: not a glob ({}); write *, ? or [a-z]",
        error.msg
    ))
}
