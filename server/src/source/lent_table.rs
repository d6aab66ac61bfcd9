//! Tables whose files another process holds.

use serde::{Deserialize, Serialize};

use crate::source::FileKind;
use crate::source::int96::Int96Unit;
use crate::source::lender::LentFile;
use crate::source::parquet::FooterFacts;
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
    /// The metadata of a schema message with the columns of the files.
    pub(super) schema: Vec<u8>,
    /// What else a plan needs to know about them.
    pub(super) contents: LentContents,
}

/// What the borrowing process would have to read all files for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum LentContents {
    /// What is known about each file.
    Parquet(Vec<FooterFacts>, Int96Unit),
    /// The borrower reads the positions of the messages.
    Arrow,
    /// How text is written.
    Text(TextFiles),
}
