//! Checks that the messages of a response follow one another without gap, overlap or damage. The checks
//! use the entries that the producer adds to each message ([`crate::wire::integrity`]).

use crate::wire::integrity::xxh3_64;
use crate::wire::{DecodeError, DecodeErrorKind, Footer, Frame, Message};

type Result<T> = std::result::Result<T, DecodeError>;

/// What the next message of a response must state. Where a producer states nothing, nothing is checked.
#[derive(Debug, Default)]
pub(super) struct Continuity {
    /// The row number, in the producer's result, of the table's row 0. It is known from the first
    /// message that states its row, or from the row at which the response was requested to begin.
    base_row: Option<u64>,
    /// The producer states the row and sequence number of every message.
    is_numbered: bool,
    /// Dictionary and record batches of this response so far.
    num_messages: u64,
    /// Record batches among them.
    num_batches: u64,
    /// The message with the totals has arrived.
    has_totals: bool,
    /// The snapshot of the source that the rows come from.
    snapshot: Option<u64>,
    /// Number of dictionary batches and of record batches in a file's footer.
    footer: Option<(u64, u64)>,
}

impl Continuity {
    /// The state for a file, whose messages are those listed in its footer.
    pub(super) fn of_file(footer: &Footer) -> Self {
        let [dictionaries, batches] =
            [&footer.dictionaries, &footer.batches].map(|blocks| blocks.len() as u64);
        Self {
            footer: Some((dictionaries, batches)),
            ..Self::default()
        }
    }

    /// Whether the messages are those of a file, in the order of its footer.
    pub(super) fn is_file(&self) -> bool {
        self.footer.is_some()
    }

    /// The state for a response that was requested from `first_row` of the result on. `num_rows` is the
    /// number of rows that earlier responses brought into the table.
    pub(super) fn resumed(&self, first_row: u64, num_rows: u64) -> Self {
        Self {
            snapshot: self.snapshot,
            base_row: Some(first_row.saturating_sub(num_rows)),
            is_numbered: true,
            ..Self::default()
        }
    }

    /// Checks a dictionary or record batch before it is decoded; the table has `num_rows` rows.
    pub(super) fn check(&mut self, frame: &Frame, num_rows: u64) -> Result<()> {
        let said = frame.integrity;
        if self.has_totals {
            return Err(wrong_total(
                "a message follows the last one, which has the totals",
            ));
        }
        self.is_numbered |= said.first_row.is_some() || said.seq.is_some();
        if self.is_numbered {
            let (Some(first_row), Some(seq)) = (said.first_row, said.seq) else {
                return Err(DecodeError::new(
                    DecodeErrorKind::InvalidHeader,
                    "the message lacks its first row or its sequence number; expected both",
                ));
            };
            self.check_row(first_row, num_rows)?;
            if seq != self.num_messages {
                return Err(DecodeError::new(
                    DecodeErrorKind::MessageGap,
                    format!(
                        "the response has message {seq} where message {} was expected",
                        self.num_messages
                    ),
                ));
            }
        }
        if let Some(snapshot) = said.snapshot
            && *self.snapshot.get_or_insert(snapshot) != snapshot
        {
            return Err(DecodeError::new(
                DecodeErrorKind::SourceChanged,
                format!(
                    "the source has changed: the rows from {} on are from another state than the rows before",
                    self.row(num_rows)
                ),
            ));
        }
        if let Some(expected) = said.xxh3 {
            let hash = xxh3_64(&frame.body);
            if hash != expected {
                return Err(DecodeError::new(
                    DecodeErrorKind::ChecksumMismatch,
                    format!(
                        "the message from row {} on is damaged: its body's hash is {hash:016x}, expected {expected:016x}",
                        self.row(num_rows)
                    ),
                ));
            }
        }
        let batch_rows = match &frame.message {
            Message::Batch(header) => header.num_rows as u64,
            Message::Schema(_) | Message::Dictionary(_) => 0,
        };
        let end_row = self.row(num_rows.saturating_add(batch_rows));
        if let Some(total) = said.total_rows
            && total != end_row
        {
            return Err(wrong_total(format!(
                "the response ends at row {end_row}, expected {total}"
            )));
        }
        if let Some(total) = said.total_batches
            && total != self.num_batches
        {
            return Err(wrong_total(format!(
                "the response has {} record batches, expected {total}",
                self.num_batches
            )));
        }
        self.has_totals = said.total_rows.is_some();
        self.num_messages += 1;
        self.num_batches += u64::from(matches!(frame.message, Message::Batch(_)));
        Ok(())
    }

    /// The number in the result of the table's row `table_row`.
    fn row(&self, table_row: u64) -> u64 {
        self.base_row.unwrap_or(0).saturating_add(table_row)
    }

    fn check_row(&mut self, first_row: u64, num_rows: u64) -> Result<()> {
        self.base_row
            .get_or_insert(first_row.saturating_sub(num_rows));
        let expected = self.row(num_rows);
        if first_row == expected {
            return Ok(());
        }
        let (kind, what) = if first_row < expected {
            (DecodeErrorKind::RowOverlap, "would be duplicated")
        } else {
            (DecodeErrorKind::RowGap, "are missing")
        };
        let (start, end) = (first_row.min(expected), first_row.max(expected));
        Err(DecodeError::new(
            kind,
            format!(
                "a message begins at row {first_row} where row {expected} was expected: rows {start} to {end} {what}"
            ),
        ))
    }

    /// Checks the totals, after the end-of-stream marker.
    pub(super) fn finish(&self) -> Result<()> {
        if self.is_numbered && !self.has_totals {
            return Err(wrong_total(
                "the response ended without its totals, so rows may be missing",
            ));
        }
        let seen = (self.num_messages - self.num_batches, self.num_batches);
        if let Some(named) = self.footer.filter(|&named| named != seen) {
            return Err(wrong_total(format!(
                "the file's footer lists {} dictionary and {} record batches, but the file has {} and {}",
                named.0, named.1, seen.0, seen.1
            )));
        }
        Ok(())
    }
}

fn wrong_total(message: impl Into<String>) -> DecodeError {
    DecodeError::new(DecodeErrorKind::WrongTotal, message)
}
