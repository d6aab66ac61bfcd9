//! Tables whose files another process holds.

use serde::{Deserialize, Serialize};

use crate::source::FileKind;
use crate::source::lender::LentFile;

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
    /// The metadata of a schema message with the columns of text files, which would have to be read as a
    /// whole to find them. `None` for files that state their columns.
    pub text_schema: Option<Vec<u8>>,
    /// Whether a text file may be split into ranges of bytes.
    pub splits: bool,
}
