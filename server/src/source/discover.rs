//! Finds the tables of one source on the command line.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use colonnade_text::TextOptions;

use crate::error::StartError;
use crate::source::gather::{
    self, Contents, Discovered, Found, Opened, WILDCARDS, no_glob, reason,
};
use crate::source::lake::Lake;
use crate::source::skipped::{SkippedNames, below, is_skipped};
use crate::source::{
    Compression, FileFormat, FileKind, MAX_FILES, OptionsFrom, SourceFile, naming, read_as, remote,
};

/// A source on the command line: `name=location?options`.
struct Source<'a> {
    given_name: Option<&'a str>,
    location: &'a str,
    options: Option<Arc<TextOptions>>,
}

impl<'a> Source<'a> {
    fn parse(source: &'a str) -> Result<Self, StartError> {
        let (given_name, location) = match source.split_once('=') {
            Some((name, rest)) if naming::is_identifier(name) && !Path::new(source).exists() => {
                (Some(name), rest)
            }
            _ => (None, source),
        };
        let (location, options) = match split_options(location)? {
            Some((file, options)) => (file, Some(options)),
            None => (location, None),
        };
        Ok(Self {
            given_name,
            location,
            options,
        })
    }
}

/// The tables of `source`, in order.
///
/// # Errors
/// One line: what is wrong and what would be right.
pub(super) fn discover(source: &str) -> Result<Discovered, StartError> {
    let source = Source::parse(source)?;
    let mut found = discover_at(source.location, source.given_name, source.options.as_ref())?;
    if let Some(options) = source.options {
        for found in &mut found.tables {
            found.set_options(OptionsFrom::Given(Arc::clone(&options)));
        }
    }
    Ok(found)
}

/// The paths of the files and lakes that `source` has at present, if it is a folder or a glob on disk.
pub(super) fn listed(source: &str) -> Vec<PathBuf> {
    let Ok(Source { location, .. }) = Source::parse(source) else {
        return Vec::new();
    };
    let path = Path::new(location);
    let mut listed = Listed::default();
    if path.is_dir() {
        listed.lakes.extend(Lake::above(path));
        // The files in a lake are no tables. What was listed before an error is enough to notice new files.
        if listed.lakes.is_empty() {
            let _ = listed.walk(path, 0);
        }
    } else if location.contains(WILDCARDS) && !path.exists() {
        listed.files = matches(location).map(Iterator::collect).unwrap_or_default();
        listed.lakes.extend(lakes_of(&listed.files));
    }
    let lakes = listed.lakes.into_iter().map(|(folder, _)| folder);
    listed.files.into_iter().chain(lakes).collect()
}

/// Splits `FILE?key=value&…` at the last question mark, if no file has that path and the first key is an
/// option of text files.
fn split_options(location: &str) -> Result<Option<(&str, Arc<TextOptions>)>, StartError> {
    let is_web = location.starts_with("http://") || location.starts_with("https://");
    match read_as::split_options(location) {
        Some((file, pairs)) if !is_web && !Path::new(location).exists() => {
            let wrong = |error| StartError::BadArgument(format!("{location}: {error}"));
            let options = read_as::parse_options(pairs).map_err(wrong)?;
            Ok(Some((file, Arc::new(options))))
        }
        _ => Ok(None),
    }
}

fn discover_at(
    location: &str,
    given_name: Option<&str>,
    options: Option<&Arc<TextOptions>>,
) -> Result<Discovered, StartError> {
    if let Some((scheme, _)) = location.split_once("://") {
        return match scheme {
            "http" | "https" => remote::find_by_http(location, given_name).map(Discovered::from),
            "s3" | "gs" => remote::find_in_bucket(location, given_name),
            _ => Err(StartError::BadArgument(format!(
                "{location}: {scheme}:// is not a supported source; give a file, a directory, a quoted glob, or an address with s3://, gs:// or https://"
            ))),
        };
    }
    let path = Path::new(location);
    let metadata = fs::metadata(path);
    match metadata {
        Ok(metadata) if metadata.is_dir() => find_in_directory(path, given_name),
        Ok(metadata) if !metadata.is_file() => Err(StartError::BadArgument(format!(
            "{location}: neither a file nor a directory; give one of them, or a quoted glob"
        ))),
        Ok(_) => {
            // Whoever gives options knows that the file is text.
            let fallback = options.map(|_| FileKind {
                format: FileFormat::Csv,
                compression: Compression::None,
            });
            find_file(path, location, given_name, fallback).map(Discovered::from)
        }
        Err(_) if location.contains(WILDCARDS) => {
            find_by_glob(location, given_name).map(Discovered::from)
        }
        Err(error) => Err(StartError::BadArgument(match error.kind() {
            io::ErrorKind::NotFound => {
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

fn find_file(
    path: &Path,
    location: &str,
    given_name: Option<&str>,
    fallback: Option<FileKind>,
) -> Result<Found, StartError> {
    let label = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    let opened = SourceFile::open(path, &label, None);
    gather::file(location, given_name, opened, fallback)
}

/// Opens files in `folder`; their labels are their paths below it.
fn open_all(paths: &[PathBuf], folder: &Path, root: &Path) -> Vec<Opened> {
    let opened = paths.iter().map(|path| {
        let label = path.strip_prefix(folder).unwrap_or(path).to_string_lossy();
        Opened::new(SourceFile::opened(path, &label, Some(root)), None)
    });
    opened.collect()
}

fn find_in_directory(folder: &Path, given_name: Option<&str>) -> Result<Discovered, StartError> {
    let location = folder.display().to_string();
    let unreadable = |error: io::Error| {
        StartError::BadArgument(format!(
            "{location}: {}; give a directory that can be read",
            reason(&error)
        ))
    };
    let root = fs::canonicalize(folder).map_err(unreadable)?;
    let name = name_of_folder(&root);
    let lake_at = |label: &str, lake| gather::lake(&name, given_name, label, lake);
    if let Some((_, lake)) = Lake::above(&root) {
        return Ok(lake_at("", lake).into());
    }
    let mut listed = Listed::default();
    listed.walk(folder, 0).map_err(unreadable)?;
    if listed.files.len() > MAX_FILES {
        return Err(StartError::BadArgument(format!(
            "{location}: more than {MAX_FILES} files; give a smaller directory, or a glob for one table"
        )));
    }
    let lakes = listed.lakes.iter().map(|(path, lake)| {
        let label = path.strip_prefix(folder).unwrap_or(path);
        lake_at(&label.to_string_lossy(), *lake)
    });
    let lakes = lakes.collect();
    let opened = open_all(&listed.files, folder, &root);
    gather::folder(&location, &name, given_name, opened, lakes)
}

fn name_of_folder(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy());
    name.map_or_else(|| "files".to_owned(), std::borrow::Cow::into_owned)
}

/// What is in a folder on disk.
#[derive(Default)]
struct Listed {
    files: Vec<PathBuf>,
    /// Folders in table formats; their files are not listed.
    lakes: Vec<(PathBuf, Lake)>,
}

impl Listed {
    fn walk(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            // Links to files are followed. Links to folders are not, because they could form a cycle.
            let is_folder = match entry.file_type() {
                Ok(kind) => kind.is_dir(),
                // It was deleted after it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let name = entry.file_name();
            if is_skipped(&name.to_string_lossy(), is_folder) || self.files.len() > MAX_FILES {
                continue;
            }
            if !is_folder {
                if fs::metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
                    self.files.push(path);
                }
            } else if let Some(lake) = Lake::of_folder(&path) {
                self.lakes.push((path, lake));
            } else if depth < 64
                && let Err(error) = self.walk(&path, depth + 1)
            {
                tracing::warn!("{}: {}, skipped", path.display(), reason(&error));
            }
        }
        Ok(())
    }
}

/// The paths that a glob matches.
fn matches(pattern: &str) -> Result<impl Iterator<Item = PathBuf>, glob::PatternError> {
    let options = glob::MatchOptions {
        require_literal_leading_dot: true,
        ..glob::MatchOptions::default()
    };
    Ok(glob::glob_with(pattern, options)?.filter_map(Result::ok))
}

/// The folders in table formats in which these files are.
fn lakes_of(paths: &[PathBuf]) -> impl Iterator<Item = (PathBuf, Lake)> {
    let folders: BTreeSet<_> = paths.iter().filter_map(|path| path.parent()).collect();
    folders.into_iter().filter_map(Lake::above)
}

fn find_by_glob(pattern: &str, given_name: Option<&str>) -> Result<Found, StartError> {
    let matches = matches(pattern).map_err(|error| no_glob(pattern, &error))?;
    // The folder before the first wildcard is the table's name and its root: links must not lead
    // outside it.
    let literal: PathBuf = Path::new(pattern)
        .components()
        .take_while(|c| !c.as_os_str().to_string_lossy().contains(WILDCARDS))
        .collect();
    let absolute = std::path::absolute(Path::new(".").join(&literal)).unwrap_or(literal.clone());
    let root = fs::canonicalize(&absolute).unwrap_or(absolute.clone());
    let skipped = SkippedNames::of_glob(pattern);
    let mut paths: Vec<PathBuf> = matches
        .filter(|path| !skipped.has(&below(path, &literal)) && path.is_file())
        .take(MAX_FILES + 1)
        .collect();
    paths.sort();
    if paths.len() > MAX_FILES {
        return Err(StartError::BadArgument(format!(
            "{pattern}: more than {MAX_FILES} files match; write a narrower glob"
        )));
    }
    let name = given_name.map_or_else(|| name_of_folder(&absolute), str::to_owned);
    if let Some((folder, lake)) = lakes_of(&paths).next() {
        let contents = Contents::Lake(lake, name_of_folder(&folder));
        return Ok(Found::named(&name, contents));
    }
    gather::glob(pattern, &name, open_all(&paths, &literal, &root))
}
