//! Names that folders and globs skip: programs keep what is no data under names that begin with `_` or `.`.

use std::ffi::OsStr;
use std::path::{Component, Path};

use crate::source::hive;

/// The names that a source skips.
#[derive(Debug, Default)]
pub(super) struct SkippedNames {
    /// Patterns of names that are not skipped.
    except: Vec<glob::Pattern>,
}

impl SkippedNames {
    /// The names that a glob skips: not those for which it has a name that begins with `_` or `.` itself.
    pub(super) fn of_glob(pattern: &str) -> Self {
        let names = pattern.split(['/', std::path::MAIN_SEPARATOR]);
        let named = names.filter(|name| is_skipped(name, false));
        Self {
            except: named
                .filter_map(|name| glob::Pattern::new(name).ok())
                .collect(),
        }
    }

    /// Whether a file is skipped: its path below the source has such a name.
    pub(super) fn has(&self, label: &Path) -> bool {
        let mut names = label.iter().map(OsStr::to_string_lossy);
        let file = names.next_back();
        file.is_some_and(|name| self.has_name(&name, false))
            || names.any(|name| self.has_name(&name, true))
    }

    /// Whether a folder is skipped, which has these names in its path below the source.
    pub(super) fn has_folder<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> bool {
        names.any(|name| self.has_name(name, true))
    }

    fn has_name(&self, name: &str, is_folder: bool) -> bool {
        is_skipped(name, is_folder) && !self.except.iter().any(|named| named.matches(name))
    }
}

/// Whether a name is skipped: it begins with `_` or `.`, and is not a folder such as `_year=2024`.
pub(super) fn is_skipped(name: &str, is_folder: bool) -> bool {
    name.starts_with('.')
        || name.starts_with('_') && !(is_folder && hive::key_value(name).is_some())
}

/// The path of a file below the folder of which a glob begins with the names, `folder`.
pub(super) fn below(path: &Path, folder: &Path) -> std::path::PathBuf {
    let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
    let num_names = folder.components().filter(is_name).count();
    path.components().filter(is_name).skip(num_names).collect()
}
