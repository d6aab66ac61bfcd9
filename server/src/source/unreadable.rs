//! Why tables cannot be read.

use crate::error::ErrorKind;

/// Why a table cannot be read since it was found.
#[derive(Debug, Clone)]
pub struct Unreadable {
    /// The kind of the error that its readers get.
    pub kind: ErrorKind,
    /// What is wrong, in one line.
    pub reason: String,
    /// What would be right, in one line.
    pub hint: &'static str,
}

impl Unreadable {
    /// The files cannot be read. The server tries it again.
    pub(super) fn files(reason: String) -> Self {
        Self {
            kind: ErrorKind::SourceUnreadable,
            reason,
            hint: "correct the file; the server then reads it",
        }
    }

    /// Whether the server tries again to read the table.
    pub(super) fn may_pass(&self) -> bool {
        self.kind == ErrorKind::SourceUnreadable
    }
}
