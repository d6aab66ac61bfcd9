//! Files that are added to served folders and globs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::source::discover::{discover, listed};
use crate::source::gather::{Contents, Discovered, Found};
use crate::source::left_out::LeftOut;
use crate::source::table::MAX_FILES_LOOKED_AT;
use crate::source::{LeftOutFile, Table, TypesFrom};

/// The folders and globs on disk that are served, and the files that they had.
#[derive(Debug)]
pub struct Folders {
    sources: Vec<String>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The files that each source had.
    files: Vec<Vec<PathBuf>>,
    /// The files of each source that are no tables.
    left_out: Vec<Vec<LeftOut>>,
    tables: HashMap<Key, Known>,
}

impl State {
    /// Whether a source had these files, and those of them that are no tables are as they were: one may have been looked
    /// at while it was written.
    fn is_known(&self, index: usize, files: &[PathBuf]) -> bool {
        let mut left_out = self.left_out[index].iter().take(MAX_FILES_LOOKED_AT);
        self.files[index] == files && !left_out.any(|left_out| left_out.file.has_changed(true))
    }
}

/// A table of a source: the source's index, and the long name that it gives the table.
type Key = (usize, String);

#[derive(Debug, PartialEq)]
struct Known {
    name: String,
    labels: Vec<String>,
    is_lake: bool,
}

impl Known {
    fn of(name: &str, found: &Found) -> Self {
        Self {
            name: name.to_owned(),
            labels: found.labels(),
            is_lake: found.lake_folder().is_some(),
        }
    }
}

/// What has changed in the folders.
pub(super) enum Change {
    /// A table is new, or has other files.
    Loaded(Box<Table>),
    /// A table has other files, and cannot be read any more: the table, and why.
    Unreadable(Arc<Table>, String),
    /// The table with this name is none any more.
    Removed(String),
}

impl Folders {
    /// The sources with the files that they had, those that are no tables, and the tables that were then found in them:
    /// each with the index of its source and its name.
    pub(super) fn new<'a>(
        sources: &[String],
        files: Vec<Vec<PathBuf>>,
        left_out: Vec<Vec<LeftOut>>,
        found: impl Iterator<Item = (usize, &'a Found, &'a str)>,
    ) -> Self {
        let tables = found.map(|(index, found, name)| {
            let key = (index, found.long_name.clone());
            (key, Known::of(name, found))
        });
        let tables = tables.collect();
        Self {
            sources: sources.to_vec(),
            state: Mutex::new(State {
                files,
                left_out,
                tables,
            }),
        }
    }

    /// Reports each table that has new files or other files than before, each table whose files are now in a lake, and
    /// each lake that is none any more. `known` returns the present table of a name.
    pub(super) fn look(&self, known: impl Fn(&str) -> Option<Arc<Table>>, report: impl Fn(Change)) {
        for (index, source) in self.sources.iter().enumerate() {
            let files = listed(source);
            if self.state().is_known(index, &files) {
                continue;
            }
            // A folder that has become empty is no error.
            let Discovered {
                tables: found,
                left_out,
            } = discover(source).unwrap_or_default();
            self.state().left_out[index] = left_out;
            for name in self.forget(index, &found) {
                report(Change::Removed(name));
            }
            let mut is_loaded = true;
            for found in found {
                if let Some(change) = self.load_if_new(index, found, &known) {
                    is_loaded &= !matches!(change, Change::Unreadable(..));
                    report(change);
                }
            }
            if is_loaded {
                self.state().files[index] = files;
            }
        }
    }

    /// The files that are no tables.
    pub(super) fn left_out(&self) -> Vec<LeftOutFile> {
        let state = self.state();
        let left_out = state.left_out.iter().flatten();
        left_out.map(LeftOutFile::from).collect()
    }

    /// Forgets tables of a source, and returns their names: files that are now in a lake, and lakes that are none
    /// any more, but have files.
    fn forget(&self, index: usize, found: &[Found]) -> Vec<String> {
        let is_in_lake = |label: &String| {
            let mut lakes = found.iter().filter_map(Found::lake_folder);
            lakes.any(|lake| Path::new(label).starts_with(lake))
        };
        let is_found = |name: &String| found.iter().any(|found| found.long_name == *name);
        let mut state = self.state();
        let tables = state.tables.extract_if(|(source, long_name), known| {
            let is_gone = match known.is_lake {
                true => !found.is_empty() && !is_found(long_name),
                false => !is_found(long_name) && known.labels.iter().all(is_in_lake),
            };
            *source == index && is_gone
        });
        tables.map(|(_, known)| known.name).collect()
    }

    /// Loads a table of a source, unless it has its files already.
    fn load_if_new(
        &self,
        index: usize,
        found: Found,
        known: impl Fn(&str) -> Option<Arc<Table>>,
    ) -> Option<Change> {
        let key = (index, found.long_name.clone());
        let name = match self.state().tables.get(&key) {
            Some(known) if *known == Known::of(&known.name, &found) => return None,
            Some(known) => known.name.clone(),
            None => free_name(&found, |name| known(name).is_some()),
        };
        tracing::info!("table {name:?} has new files");
        let now = Known::of(&name, &found);
        let before = known(&name).filter(|table| table.file_table().is_some());
        let loaded = match (before, found.contents) {
            (Some(before), Contents::Files(files)) => match before.load_again(files) {
                Ok(table) => table,
                Err(error) => return Some(Change::Unreadable(before, error)),
            },
            (_, contents) => load(&name, contents),
        };
        self.state().tables.insert(key, now);
        Some(Change::Loaded(Box::new(loaded)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The table that was found; [`Table::unreadable`] if it cannot be read.
pub(super) fn load(name: &str, contents: Contents) -> Table {
    let files = match contents {
        Contents::Files(files) => files,
        Contents::Lake(lake, folder) => {
            let why = lake.unreadable(&folder);
            tracing::warn!("table {name:?} cannot be read: {}", why.reason);
            return Table::without_columns(name, lake.name(), why);
        }
    };
    let loaded = Table::load(name, files.clone(), &|_| false, TypesFrom::Sample);
    loaded.unwrap_or_else(|error| {
        tracing::warn!("cannot be read: {error}");
        Table::unreadable(name, files, error)
    })
}

fn free_name(found: &Found, is_taken: impl Fn(&str) -> bool) -> String {
    let names = [found.short_name.clone(), found.long_name.clone()].into_iter();
    let numbered = (2..).map(|number| format!("{}_{number}", found.long_name));
    let mut names = names.chain(numbered).filter(|name| !is_taken(name));
    names.next().unwrap_or_default()
}
