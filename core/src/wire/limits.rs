use super::{DecodeError, DecodeErrorKind};

/// What a stream may claim before it is refused. Every claim is compared as a 64-bit number, before
/// any cast and before anything is allocated.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Metadata of one message. 16 MiB holds a schema of some 100,000 columns.
    pub max_metadata_bytes: u64,
    /// Body of one message.
    pub max_body_bytes: u64,
    /// Body of one message after decompression, all buffers together.
    pub max_decompressed_bytes: u64,
    /// Rows of one batch; Arrow's own recommendation for interchange (2^31 - 1).
    pub max_batch_rows: u64,
    /// Fields of the schema, nested ones included.
    pub max_fields: usize,
    /// Depth of nesting of a field.
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

/// `value` as unsigned, if it is not negative and at most `limit`.
pub(super) fn within(value: i64, limit: u64, what: &str) -> Result<u64, DecodeError> {
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
