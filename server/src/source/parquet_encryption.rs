//! Detects Parquet files with encrypted columns, which the library reads as if they were damaged.
//!
//! Only the field `encryption_algorithm` of the footer shows them, and the library ignores it. Spec:
//! `FileMetaData` in `parquet.thrift`.

use bytes::Bytes;

use crate::source::thrift::{MAX_DEPTH, skip_struct};

/// The id of `FileMetaData.encryption_algorithm`.
const ENCRYPTION_ALGORITHM: i64 = 8;

/// Whether columns of the file with that footer are encrypted.
pub(super) fn has_encrypted_columns(mut footer: Bytes) -> bool {
    let mut is_encrypted = false;
    let read = skip_struct(&mut footer, MAX_DEPTH, |field| {
        is_encrypted |= field == ENCRYPTION_ALGORITHM;
    });
    read.is_some() && is_encrypted
}
