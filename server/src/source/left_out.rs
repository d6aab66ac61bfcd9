//! Files of a folder or a glob that are not in its table.

use serde::{Deserialize, Serialize};

use crate::source::SourceFile;

/// A file that is not in its table, because it could not be read so far.
#[derive(Debug, Clone)]
pub(super) struct LeftOut {
    pub(super) file: SourceFile,
    /// Why, in one line.
    pub(super) detail: String,
}

/// A file that is not in its table, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutFile {
    /// Its path below the source.
    pub path: String,
    /// Why it cannot be read, in one line.
    pub detail: String,
}

impl From<&LeftOut> for LeftOutFile {
    fn from(left_out: &LeftOut) -> Self {
        Self {
            path: left_out.file.label.clone(),
            detail: left_out.detail.clone(),
        }
    }
}

/// Which files a table must have, by their labels. The table cannot be read without them.
pub(super) type IsRequired<'a> = &'a (dyn Fn(&str) -> bool + Sync);

/// Separates the files that can be read from those that are left out.
pub(super) struct Sieve<'a> {
    is_required: IsRequired<'a>,
    pub(super) left_out: Vec<LeftOut>,
}

impl<'a> Sieve<'a> {
    /// Leaves out no file so far.
    pub(super) fn new(is_required: IsRequired<'a>) -> Self {
        Self {
            is_required,
            left_out: Vec::new(),
        }
    }

    /// The files that can be read, with what was `read` of each. The others are left out.
    ///
    /// # Errors
    /// One line: no file can be read, or not a required one.
    pub(super) fn readable<T>(
        &mut self,
        read: impl IntoIterator<Item = (SourceFile, Result<T, String>)>,
    ) -> Result<(Vec<SourceFile>, Vec<T>), String> {
        let (mut files, mut readable) = (Vec::new(), Vec::new());
        let mut unreadable = Vec::new();
        for (file, read) in read {
            match read {
                Ok(read) => {
                    files.push(file);
                    readable.push(read);
                }
                Err(detail) => unreadable.push(LeftOut { file, detail }),
            }
        }
        let is_needed = |file: &SourceFile| files.is_empty() || (self.is_required)(&file.label);
        if let Some(needed) = unreadable.iter().find(|left| is_needed(&left.file)) {
            return Err(format!("{}: {}", needed.file.label, needed.detail));
        }
        for LeftOut { file, detail } in &unreadable {
            tracing::warn!("{}: {detail}; it is left out", file.label);
        }
        self.left_out.extend(unreadable);
        Ok((files, readable))
    }
}
