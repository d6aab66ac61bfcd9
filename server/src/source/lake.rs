//! Recognises folders of table formats that keep a log: the files in such a folder are no tables, because
//! only the log says which of their rows the table has.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::ErrorKind;
use crate::source::Unreadable;

/// A table format with a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lake {
    /// Delta Lake.
    Delta,
    /// Apache Iceberg.
    Iceberg,
    /// Apache Hudi.
    Hudi,
    /// Lance.
    Lance,
}

impl Lake {
    /// All formats.
    pub(super) const ALL: [Self; 4] = [Self::Delta, Self::Iceberg, Self::Hudi, Self::Lance];

    /// The name of the folder with the log.
    pub(super) fn log_folder(self) -> &'static str {
        match self {
            Self::Delta => "_delta_log",
            Self::Iceberg => "metadata",
            Self::Hudi => ".hoodie",
            Self::Lance => "_versions",
        }
    }

    /// The ends of the names of the files that show the format, if other programs have folders of that name too.
    fn log_file_ends(self) -> Option<[&'static str; 2]> {
        match self {
            Self::Iceberg => Some([".metadata.json", ".metadata.json.gz"]),
            Self::Lance => Some([".manifest", ".manifest"]),
            Self::Delta | Self::Hudi => None,
        }
    }

    /// Whether a file in a folder with that name shows the format.
    fn has_log_file(self, name: &str) -> bool {
        let ends = self.log_file_ends();
        ends.is_none_or(|ends| ends.iter().any(|end| name.ends_with(end)))
    }

    /// Whether an object shows the format, whose path below a folder of that name has these parts.
    pub(super) fn has_log_object(self, below: &[&str]) -> bool {
        match below {
            [] => false,
            [name] => self.has_log_file(name),
            _ => self.log_file_ends().is_none(),
        }
    }

    /// The format of a folder on disk, if it has one.
    pub(super) fn of_folder(folder: &Path) -> Option<Self> {
        Self::ALL.into_iter().find(|lake| {
            let log = folder.join(lake.log_folder());
            if lake.log_file_ends().is_none() {
                return log.is_dir();
            }
            fs::read_dir(log).is_ok_and(|mut entries| {
                entries.any(|entry| {
                    entry.is_ok_and(|e| lake.has_log_file(&e.file_name().to_string_lossy()))
                })
            })
        })
    }

    /// The table in whose folder `path` is, unless it is in the folder of the log: that folder, and the format.
    /// Links in `path` are resolved. An empty path is the working directory.
    pub(super) fn above(path: &Path) -> Option<(PathBuf, Self)> {
        let path = fs::canonicalize(Path::new(".").join(path)).ok()?;
        let mut child = None;
        for folder in path.ancestors() {
            let lake =
                Self::of_folder(folder).filter(|lake| child != Some(lake.log_folder().as_ref()));
            if let Some(lake) = lake {
                return Some((folder.to_owned(), lake));
            }
            child = folder.file_name();
        }
        None
    }

    /// The format that an object of a store shows, and the number of parts of its path before the log's folder.
    pub(super) fn of_object(parts: &[&str]) -> Option<(usize, Self)> {
        let is_log = |lake: &Self, index: usize| {
            parts[index] == lake.log_folder() && lake.has_log_object(&parts[index + 1..])
        };
        let lakes = |index| Self::ALL.into_iter().find(|lake| is_log(lake, index));
        (0..parts.len()).find_map(|index| Some((index, lakes(index)?)))
    }

    /// The name of the format in `/v1/tables`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Iceberg => "iceberg",
            Self::Hudi => "hudi",
            Self::Lance => "lance",
        }
    }

    /// Why the table in `folder` cannot be read.
    pub(super) fn unreadable(self, folder: &str) -> Unreadable {
        let title = match self {
            Self::Delta => "a Delta Lake table",
            Self::Iceberg => "an Apache Iceberg table",
            Self::Hudi => "an Apache Hudi table",
            Self::Lance => "a Lance dataset",
        };
        let folder = match folder {
            "" => "the folder".to_owned(),
            folder => format!("the folder {folder:?}"),
        };
        Unreadable {
            kind: ErrorKind::UnsupportedTableFeature,
            reason: format!(
                "{folder} is {title}, which the server cannot read; its files can have rows that the table does not have any more"
            ),
            hint: "copy the table to Parquet files with a program that reads its format",
        }
    }
}
