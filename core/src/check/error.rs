use std::fmt;

/// The kind of a decoding error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The stream ended between two messages, without the end-of-stream marker.
    MissingEndOfStream,
    /// The stream ended inside a message.
    TruncatedMessage,
    /// The bytes are not an encapsulated Arrow message.
    NotArrow,
    /// A header contradicts the format, itself or its body.
    InvalidHeader,
    /// The header is valid, but the values are not (offsets, UTF-8, keys, compressed data).
    InvalidData,
    /// A claimed length or count exceeds a limit.
    OverLimit,
    /// Valid Arrow that this decoder does not support.
    Unsupported,
    /// The memory budget is used up.
    MemoryBudgetExceeded,
    /// The number in a message shows that rows before it are missing.
    RowGap,
    /// The number in a message shows that its rows have already arrived.
    RowOverlap,
    /// The numbers of the messages show that one is missing or came twice.
    MessageGap,
    /// The body of a message does not match the hash that the message states.
    ChecksumMismatch,
    /// The response has another number of rows or batches than it states.
    WrongTotal,
    /// The schema of a resumed response differs from that of the rows before.
    SchemaChanged,
    /// A resumed response comes from another state of its source.
    SourceChanged,
}

impl DecodeErrorKind {
    /// The stable name that JavaScript and HTTP use.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::MissingEndOfStream => "missing_end_of_stream",
            Self::TruncatedMessage => "truncated_message",
            Self::NotArrow => "not_arrow",
            Self::InvalidHeader => "invalid_header",
            Self::InvalidData => "invalid_data",
            Self::OverLimit => "over_limit",
            Self::Unsupported => "unsupported",
            Self::MemoryBudgetExceeded => "memory_budget_exceeded",
            Self::RowGap => "row_gap",
            Self::RowOverlap => "row_overlap",
            Self::MessageGap => "message_gap",
            Self::ChecksumMismatch => "checksum_mismatch",
            Self::WrongTotal => "wrong_total",
            Self::SchemaChanged => "schema_changed",
            Self::SourceChanged => "source_changed",
        }
    }
}

/// Why a stream could not be read further, and where. What was read before stays readable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// The kind, for programs.
    pub kind: DecodeErrorKind,
    /// Byte offset in the stream of the message that is wrong.
    pub byte: u64,
    /// Number of rows that were read before that message.
    pub row: u64,
    /// What was wrong and what would be right, for people.
    pub message: String,
}

impl DecodeError {
    /// An error without a position; the framing and the decoder add it.
    #[must_use]
    pub fn new(kind: DecodeErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            byte: 0,
            row: 0,
            message: message.into(),
        }
    }

    pub(crate) fn header(message: impl Into<String>) -> Self {
        Self::new(DecodeErrorKind::InvalidHeader, message)
    }

    #[must_use]
    pub(crate) fn at_byte(mut self, byte: u64) -> Self {
        self.byte = byte;
        self
    }

    /// The same error with `row`, the number of rows that were read before it.
    #[must_use]
    pub fn at_row(mut self, row: u64) -> Self {
        self.row = row;
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (byte {}, after {} rows)",
            self.message, self.byte, self.row
        )
    }
}

impl std::error::Error for DecodeError {}
