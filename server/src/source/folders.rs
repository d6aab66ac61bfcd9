//! Files that are added to served folders and globs.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::source::discover::{discover, listed};
use crate::source::gather::Found;
use crate::source::{Table, TypesFrom};

/// The least time between two looks.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// The time between two looks is at least so many times the duration of the last one.
const PAUSE_FACTOR: u32 = 10;

/// A request waits so long for a look.
const GRACE: Duration = Duration::from_millis(100);

/// The folders and globs on disk that are served, and the files that they had.
#[derive(Debug)]
pub struct Folders {
    sources: Vec<String>,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug)]
struct State {
    files: Vec<PathBuf>,
    tables: HashMap<Key, Known>,
    next: Instant,
    is_looking: bool,
}

/// A table of a source: the source's index, and the long name that it gives the table.
type Key = (usize, String);

#[derive(Debug)]
struct Known {
    name: String,
    labels: Vec<String>,
}

impl Folders {
    /// The sources, and the tables that were found in them: each with the index of its source and its name.
    pub(super) fn new<'a>(
        sources: &[String],
        tables: impl Iterator<Item = (usize, &'a Found, &'a str)>,
    ) -> Self {
        let files = sources.iter().flat_map(|source| listed(source)).collect();
        let tables = tables.map(|(index, found, name)| {
            let known = Known {
                name: name.to_owned(),
                labels: labels(found),
            };
            ((index, found.long_name.clone()), known)
        });
        Self {
            sources: sources.to_vec(),
            state: Mutex::new(State {
                files,
                tables: tables.collect(),
                next: Instant::now() + MIN_PAUSE,
                is_looking: false,
            }),
            ended: Condvar::new(),
        }
    }

    /// Whether the caller shall look for files now, by [`Folders::look`].
    pub(super) fn begin(&self) -> bool {
        let mut state = self.state();
        let begins = !state.is_looking && Instant::now() >= state.next;
        state.is_looking |= begins;
        begins
    }

    /// Waits a short time until nobody is looking for files. Blocks.
    pub(super) fn wait(&self) {
        let is_looking = |state: &mut State| state.is_looking;
        let waited = self
            .ended
            .wait_timeout_while(self.state(), GRACE, is_looking);
        drop(waited);
    }

    /// Passes each table to `put` that has new files or other files than before. A new one gets a name that
    /// is not `taken`.
    pub(super) fn look(&self, is_taken: impl Fn(&str) -> bool, put: impl Fn(Table)) {
        let began = Instant::now();
        let files: Vec<_> = self
            .sources
            .iter()
            .flat_map(|source| listed(source))
            .collect();
        let is_same = self.state().files == files;
        if !is_same {
            for (index, source) in self.sources.iter().enumerate() {
                // A folder that has become empty is no error.
                for found in discover(source).unwrap_or_default() {
                    if let Some(table) = self.load_if_new(index, found, &is_taken) {
                        put(table);
                    }
                }
            }
        }
        let mut state = self.state();
        state.files = files;
        state.next = Instant::now() + (began.elapsed() * PAUSE_FACTOR).max(MIN_PAUSE);
        state.is_looking = false;
        self.ended.notify_all();
    }

    fn load_if_new(
        &self,
        index: usize,
        found: Found,
        is_taken: impl Fn(&str) -> bool,
    ) -> Option<Table> {
        let key = (index, found.long_name.clone());
        let labels = labels(&found);
        let name = match self.state().tables.get(&key) {
            Some(known) if known.labels == labels => return None,
            Some(known) => known.name.clone(),
            None => free_name(&found, is_taken),
        };
        let known = Known {
            name: name.clone(),
            labels,
        };
        self.state().tables.insert(key, known);
        tracing::info!("table {name:?} has new files");
        Some(load(&name, found))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The table of these files; [`Table::unreadable`] if they cannot be read.
pub(super) fn load(name: &str, found: Found) -> Table {
    let Found {
        kind,
        files,
        options,
        ..
    } = found;
    let loaded = Table::load(name, kind, files.clone(), &options, TypesFrom::Sample);
    loaded.unwrap_or_else(|error| {
        tracing::warn!("cannot be read: {error}");
        Table::unreadable(name, kind, files, &options, error)
    })
}

fn free_name(found: &Found, is_taken: impl Fn(&str) -> bool) -> String {
    let names = [found.short_name.clone(), found.long_name.clone()].into_iter();
    let numbered = (2..).map(|number| format!("{}_{number}", found.long_name));
    let mut names = names.chain(numbered).filter(|name| !is_taken(name));
    names.next().unwrap_or_default()
}

fn labels(found: &Found) -> Vec<String> {
    found.files.iter().map(|file| file.label.clone()).collect()
}
