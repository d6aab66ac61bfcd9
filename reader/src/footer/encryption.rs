//! Detects Parquet files with encrypted columns, which the library reads as if they were damaged.
//!
//! Only the field `encryption_algorithm` of the footer shows them, and the library ignores it. Spec: `FileMetaData` in
//! `parquet.thrift`.

use crate::thrift::Compact;

/// The id of `FileMetaData.encryption_algorithm`.
const ENCRYPTION_ALGORITHM: i16 = 8;

/// Whether columns of a file are encrypted, by the bytes of its footer.
#[must_use]
pub fn has_encrypted_columns(footer: &[u8]) -> bool {
    let mut is_encrypted = false;
    let read = Compact::new(footer).fields(|value, field| {
        is_encrypted |= field.id == ENCRYPTION_ALGORITHM;
        value.skip(field)
    });
    read.is_some() && is_encrypted
}
