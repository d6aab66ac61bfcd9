use super::{DecodeError, DecodeErrorKind};

/// The limits on what a stream may claim. Every claim is compared as a 64-bit number, before any cast
/// and before any allocation.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of metadata of one message. 16 MiB are enough for a schema of about 100,000 columns.
    pub max_metadata_bytes: u64,
    /// Bytes of the body of one message.
    pub max_body_bytes: u64,
    /// Bytes of the body of one message after decompression, all buffers together.
    pub max_decompressed_bytes: u64,
    /// Rows of one batch; Arrow's own recommendation for interchange (2^31 - 1).
    pub max_batch_rows: u64,
    /// Fields of the schema, including nested ones.
    pub max_fields: usize,
    /// Nesting depth of a field.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_metadata_bytes: 16 << 20,
            max_body_bytes: 256 << 20,
            max_decompressed_bytes: 256 << 20,
            max_batch_rows: i32::MAX as u64,
            max_fields: 100_000,
            max_depth: 64,
        }
    }
}

impl Limits {
    /// Limits for a decoder whose memory budget alone bounds the bodies.
    #[must_use]
    pub fn of_memory() -> Self {
        Self {
            max_body_bytes: u64::MAX,
            max_decompressed_bytes: u64::MAX,
            ..Self::default()
        }
    }
}

/// `value` as an unsigned number, if it is not negative and at most `limit`.
pub(crate) fn within(value: i64, limit: u64, what: &str) -> Result<u64, DecodeError> {
    match u64::try_from(value) {
        Ok(value) if value <= limit => Ok(value),
        Ok(value) => Err(DecodeError::new(
            DecodeErrorKind::OverLimit,
            format!("a message claims a {what} of {value}; at most {limit} is possible here"),
        )),
        Err(_) => Err(DecodeError::header(format!(
            "a message claims a {what} of {value}; it cannot be negative"
        ))),
    }
}
