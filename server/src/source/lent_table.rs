//! Tables whose files another process holds.

use serde::{Deserialize, Serialize};

use crate::source::FileKind;
use crate::source::lender::LentFile;
use crate::source::text::TextFiles;

/// A table of files as the borrowing process needs to know it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LentTable {
    /// Its name.
    pub name: String,
    /// A hash that changes when the files change.
    pub version: String,
    /// Whether it was uploaded. Such a table may be deleted, so its files are not kept open.
    pub is_uploaded: bool,
    /// The type of its files.
    pub kind: FileKind,
    /// Its files, in the order of their rows.
    pub files: Vec<LentFile>,
    /// The metadata of a schema message with the columns of text files, and how the files are read: a
    /// borrower would have to read them as a whole to find out. `None` for files that state their columns.
    pub(super) text: Option<(Vec<u8>, TextFiles)>,
}
