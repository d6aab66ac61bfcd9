//! Groups the files of a folder or a glob into tables.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StartError;
use crate::source::lake::Lake;
use crate::source::text::is_schema_file;
use crate::source::{FileKind, KNOWN_EXTENSIONS, OptionsFrom, SourceFile, hive, naming};

/// Wildcards of globs.
pub(super) const WILDCARDS: [char; 3] = ['*', '?', '['];

/// A table that was found but not loaded.
pub(super) struct Found {
    /// The name of the table, unless another table has the same short name.
    pub(super) short_name: String,
    /// The name of the table in that case.
    pub(super) long_name: String,
    pub(super) contents: Contents,
}

/// What a table was found in.
pub(super) enum Contents {
    Files(FoundFiles),
    /// A folder in a table format, by its path below the source.
    Lake(Lake, String),
}

/// The files of a table.
pub(super) struct FoundFiles {
    pub(super) kind: FileKind,
    pub(super) files: Vec<SourceFile>,
    /// How the files are read, if they are text.
    pub(super) options: OptionsFrom,
}

impl FoundFiles {
    fn of(kind: FileKind, file: SourceFile) -> Self {
        Self {
            kind,
            files: vec![file],
            options: OptionsFrom::default(),
        }
    }
}

impl Found {
    /// A table with a name that no other name can replace.
    pub(super) fn named(name: &str, contents: Contents) -> Self {
        Self {
            short_name: name.to_owned(),
            long_name: name.to_owned(),
            contents,
        }
    }

    /// Says how text files are read.
    pub(super) fn set_options(&mut self, options: OptionsFrom) {
        if let Contents::Files(files) = &mut self.contents {
            files.options = options;
        }
    }

    /// The paths of its files, or of its folder, below the source.
    pub(super) fn labels(&self) -> Vec<String> {
        match &self.contents {
            Contents::Files(found) => found.files.iter().map(|file| file.label.clone()).collect(),
            Contents::Lake(_, folder) => vec![folder.clone()],
        }
    }

    /// The folder in a table format, by its path below the source.
    pub(super) fn lake_folder(&self) -> Option<&str> {
        match &self.contents {
            Contents::Lake(_, folder) => Some(folder),
            Contents::Files(_) => None,
        }
    }
}

/// A listed file, and the result of opening it. The label is its path below the source.
pub(super) struct Opened {
    label: String,
    file: io::Result<(SourceFile, Option<FileKind>)>,
}

impl Opened {
    /// Opens the file with `open`, which gets its label, and detects its type.
    pub(super) fn new(label: String, open: impl FnOnce(&str) -> io::Result<SourceFile>) -> Self {
        Self {
            file: open(&label).and_then(with_kind),
            label,
        }
    }

    /// Whether the file has rows, rather than says how another is read.
    fn is_data(&self) -> bool {
        !is_schema_file(&self.label)
    }
}

fn with_kind(file: SourceFile) -> io::Result<(SourceFile, Option<FileKind>)> {
    let kind = FileKind::detect_open(&file)?;
    Ok((file, kind))
}

/// The table of one file that was given by name. Its type is `fallback` if it cannot be detected.
///
/// # Errors
/// The file cannot be read, or its type is not supported.
pub(super) fn file(
    location: &str,
    given_name: Option<&str>,
    opened: io::Result<SourceFile>,
    fallback: Option<FileKind>,
) -> Result<Found, StartError> {
    let (file, kind) = opened
        .and_then(with_kind)
        .map_err(|error| unreadable(location, &error))?;
    if is_schema_file(&file.label) {
        return Err(StartError::BadArgument(format!(
            "{location}: it says how another file is read; give that file"
        )));
    }
    let kind = kind.or(fallback).ok_or_else(|| {
        StartError::BadArgument(format!(
            "{location}: unsupported file type; give {KNOWN_EXTENSIONS}"
        ))
    })?;
    let name = PathBuf::from(&file.label);
    Ok(Found {
        short_name: given_name.map_or_else(|| naming::name_of(&name), str::to_owned),
        long_name: given_name.map_or_else(|| naming::dotted(&name), str::to_owned),
        contents: Contents::Files(FoundFiles::of(kind, file)),
    })
}

/// The table of a folder in a table format. `label` is its path below the source, whose folder is named
/// `folder_name`. `given_name` is prepended to its name.
pub(super) fn lake(folder_name: &str, given_name: Option<&str>, label: &str, lake: Lake) -> Found {
    let path = Path::new(given_name.unwrap_or_default()).join(label);
    let contents = Contents::Lake(lake, label.to_owned());
    match naming::dotted(&path) {
        name if name.is_empty() => Found::named(folder_name, contents),
        long_name => Found {
            short_name: naming::name_of(&path),
            long_name,
            contents,
        },
    }
}

/// The tables of a folder named `folder_name`. Each file is a table, but files in folders such as
/// `year=2024` together are one table. `given_name` is prepended to all names. `lakes` are the tables of folders
/// in table formats.
///
/// # Errors
/// No file has a supported type.
pub(super) fn folder(
    location: &str,
    folder_name: &str,
    given_name: Option<&str>,
    opened: Vec<Opened>,
    lakes: Vec<Found>,
) -> Result<Vec<Found>, StartError> {
    let mut found = lakes;
    let mut partitioned: HashMap<PathBuf, usize> = HashMap::new();
    for Opened { label, file } in opened.into_iter().filter(Opened::is_data) {
        let (file, kind) = match file {
            Ok((file, Some(kind))) => (file, kind),
            Ok((_, None)) => {
                tracing::info!("{label}: unsupported file type, skipped");
                continue;
            }
            Err(error) => {
                tracing::warn!("{label}: {}, skipped", reason(&error));
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
                        match &mut found[*entry.get()].contents {
                            Contents::Files(table) if table.kind == kind => table.files.push(file),
                            _ => tracing::warn!(
                                "{label}: not of the same file type as the files before it, skipped"
                            ),
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
            contents: Contents::Files(FoundFiles::of(kind, file)),
        });
    }
    if found.is_empty() {
        return Err(StartError::BadArgument(format!(
            "{location}: no file in it has a supported type; give {KNOWN_EXTENSIONS}"
        )));
    }
    Ok(found)
}

/// The single table of the files that `pattern` matches.
///
/// # Errors
/// No file matches, a file cannot be read, or the files have different types.
pub(super) fn glob(pattern: &str, name: &str, opened: Vec<Opened>) -> Result<Found, StartError> {
    let mut found: Option<FoundFiles> = None;
    for Opened { label, file } in opened.into_iter().filter(Opened::is_data) {
        let (file, kind) = file.map_err(|error| unreadable(pattern, &error))?;
        match (&mut found, kind) {
            (None, Some(kind)) => found = Some(FoundFiles::of(kind, file)),
            (None, None) => {
                return Err(StartError::BadArgument(format!(
                    "{label}: unsupported file type; match {KNOWN_EXTENSIONS}"
                )));
            }
            (Some(found), kind) if kind == Some(found.kind) => found.files.push(file),
            (Some(found), _) => {
                return Err(StartError::BadArgument(format!(
                    "{label}: not of the same file type as {}; one table needs files of one type",
                    found.files[0].label
                )));
            }
        }
    }
    let found = found.ok_or_else(|| {
        StartError::BadArgument(format!(
            "{pattern}: no file matches; give a glob that matches, in quotes"
        ))
    })?;
    Ok(Found::named(name, Contents::Files(found)))
}

/// The error of a source that cannot be read. A store that may answer later does not make the argument
/// wrong.
pub(super) fn unreadable(location: &str, error: &io::Error) -> StartError {
    let text = format!("{location}: {}", reason(error));
    match error.get_ref() {
        None => StartError::BadArgument(format!("{text}; give a file that can be read")),
        Some(_) if error.kind() == io::ErrorKind::Other => StartError::Failed(text),
        Some(_) => StartError::BadArgument(text),
    }
}

/// An I/O error in plain words.
pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        _ if error.get_ref().is_some() => error.to_string(),
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// The error of an invalid glob.
pub(super) fn no_glob(location: &str, error: &glob::PatternError) -> StartError {
    StartError::BadArgument(format!(
        "{location}: not a glob ({}); write *, ? or [a-z]",
        error.msg
    ))
}
