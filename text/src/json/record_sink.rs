//! The receiver of records.

use super::fault::Parsed;

/// Takes the text of each record; returns true if it needs no more.
pub(super) trait RecordSink {
    fn record(&mut self, text: &str) -> Parsed<bool>;
}
