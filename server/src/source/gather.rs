//! Groups the files of a folder or a glob into tables.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StartError;
use crate::source::lake::Lake;
use crate::source::left_out::LeftOut;
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

/// What was found in a source.
#[derive(Default)]
pub(super) struct Discovered {
    pub(super) tables: Vec<Found>,
    /// Files of a folder that are no tables.
    pub(super) left_out: Vec<LeftOut>,
}

impl From<Found> for Discovered {
    fn from(found: Found) -> Self {
        Self {
            tables: vec![found],
            left_out: Vec::new(),
        }
    }
}

/// What a table was found in.
pub(super) enum Contents {
    Files(FoundFiles),
    /// A folder in a table format, by its path below the source.
    Lake(Lake, String),
}

/// The files of a table.
#[derive(Debug, Clone)]
pub(super) struct FoundFiles {
    /// Its type, which some files may not have.
    pub(super) kind: FileKind,
    pub(super) files: Vec<Opened>,
    /// How the files are read, if they are text.
    pub(super) options: OptionsFrom,
}

impl FoundFiles {
    /// A file of a known type.
    pub(super) fn one(file: SourceFile, kind: FileKind, options: OptionsFrom) -> Self {
        Self {
            kind,
            files: vec![Opened {
                file,
                kind: Ok(kind),
            }],
            options,
        }
    }

    /// Files of the type that most of them have.
    ///
    /// # Errors
    /// The files, if none has a type.
    fn of(files: Vec<Opened>) -> Result<Self, Vec<Opened>> {
        let mut counts: Vec<(FileKind, usize)> = Vec::new();
        for kind in files.iter().filter_map(|opened| opened.kind.as_ref().ok()) {
            match counts.iter_mut().find(|(known, _)| known == kind) {
                Some((_, count)) => *count += 1,
                None => counts.push((*kind, 1)),
            }
        }
        match counts.into_iter().rev().max_by_key(|(_, count)| *count) {
            None => Err(files),
            Some((kind, _)) => Ok(Self {
                kind,
                files,
                options: OptionsFrom::default(),
            }),
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
            Contents::Files(found) => {
                let labels = found.files.iter().map(|opened| opened.label().to_owned());
                labels.collect()
            }
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

/// A file whose label is its path below the source, and its type, or why it has none.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    pub(super) file: SourceFile,
    pub(super) kind: Result<FileKind, String>,
}

impl Opened {
    /// Detects the type of a file, which is `fallback` if nothing shows it, or keeps the error of opening it.
    pub(super) fn new(
        (file, error): (SourceFile, Option<io::Error>),
        fallback: Option<FileKind>,
    ) -> Self {
        let kind = error.map_or_else(|| FileKind::detect_open(&file), Err);
        let kind = kind.map(|kind| kind.or(fallback));
        let kind = kind.map_err(|error| reason(&error));
        let kind = kind.and_then(|kind| kind.ok_or_else(|| unsupported(&file.label)));
        Self { file, kind }
    }

    fn label(&self) -> &str {
        &self.file.label
    }

    fn error(&self) -> Option<String> {
        let why = self.kind.as_ref().err()?;
        Some(format!("{}: {why}", self.label()))
    }

    /// Whether the file has rows, rather than says how another is read.
    fn is_data(&self) -> bool {
        !is_schema_file(self.label())
    }
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
    let unreadable = |error: io::Error| unreadable(location, &error);
    let file = opened.map_err(unreadable)?;
    if is_schema_file(&file.label) {
        return Err(StartError::BadArgument(format!(
            "{location}: it says how another file is read; give that file"
        )));
    }
    let kind = FileKind::detect_open(&file).map_err(unreadable)?;
    let kind = kind.or(fallback).ok_or_else(|| {
        StartError::BadArgument(format!("{location}: {}", unsupported(&file.label)))
    })?;
    let name = PathBuf::from(&file.label);
    Ok(Found {
        short_name: given_name.map_or_else(|| naming::name_of(&name), str::to_owned),
        long_name: given_name.map_or_else(|| naming::dotted(&name), str::to_owned),
        contents: Contents::Files(FoundFiles::one(file, kind, OptionsFrom::default())),
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
) -> Result<Discovered, StartError> {
    let mut found = lakes;
    let mut left_out = Vec::new();
    let mut partitioned: BTreeMap<PathBuf, Vec<Opened>> = BTreeMap::new();
    let named = |path: &Path| Path::new(given_name.unwrap_or_default()).join(path);
    for opened in opened.into_iter().filter(Opened::is_data) {
        if let Some(above) = hive::table_folder(opened.label()) {
            partitioned.entry(above).or_default().push(opened);
        } else {
            let path = named(Path::new(opened.label()));
            found.extend(typed(vec![opened], &mut left_out).map(|contents| Found {
                short_name: naming::name_of(&path),
                long_name: naming::dotted(&path),
                contents,
            }));
        }
    }
    for (above, opened) in partitioned {
        let name = match naming::dotted(&named(&above)) {
            name if name.is_empty() => folder_name.to_owned(),
            name => name,
        };
        found.extend(typed(opened, &mut left_out).map(|contents| Found::named(&name, contents)));
    }
    if found.is_empty() {
        return Err(StartError::BadArgument(format!(
            "{location}: no file in it has a supported type; give {KNOWN_EXTENSIONS}"
        )));
    }
    left_out.sort_by(|a, b| a.file.label.cmp(&b.file.label));
    Ok(Discovered {
        tables: found,
        left_out,
    })
}

/// The files of a table, unless all types are unknown; then they are left out.
fn typed(opened: Vec<Opened>, left_out: &mut Vec<LeftOut>) -> Option<Contents> {
    match FoundFiles::of(opened) {
        Ok(found) => Some(Contents::Files(found)),
        Err(opened) => {
            left_out.extend(opened.into_iter().filter_map(|opened| {
                Some(LeftOut {
                    file: opened.file,
                    detail: opened.kind.err()?,
                })
            }));
            None
        }
    }
}

/// Why a file of no known type is no table.
fn unsupported(label: &str) -> String {
    let extension = Path::new(label).extension().unwrap_or_default();
    match extension.to_string_lossy().to_ascii_lowercase().as_str() {
        "xlsx" | "xlsm" | "xlsb" | "xls" => "an Excel workbook; save it as CSV".to_owned(),
        "ods" | "numbers" => "a spreadsheet; save it as CSV".to_owned(),
        _ => format!("unsupported file type; give {KNOWN_EXTENSIONS}"),
    }
}

/// The single table of the files that `pattern` matches.
///
/// # Errors
/// No file matches, or no file that does can be read.
pub(super) fn glob(pattern: &str, name: &str, opened: Vec<Opened>) -> Result<Found, StartError> {
    let files: Vec<_> = opened.into_iter().filter(Opened::is_data).collect();
    let found = FoundFiles::of(files).map_err(|files| {
        let error = files.iter().find_map(Opened::error);
        let no_file = || format!("{pattern}: no file matches; give a glob that matches, in quotes");
        StartError::BadArgument(error.unwrap_or_else(no_file))
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
