//! The identity of one state of a file.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The identity of a file in one state; two states of a file have different identities. The default one is that of
/// a file whose state cannot be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The number of the disk; 0 if there is none.
    pub device: u64,
    /// The number of the file on that disk.
    pub inode: u64,
    /// The size of the file.
    pub size_bytes: u64,
    /// The time of the last write, as exactly as the disk or the object store provides it.
    #[serde(with = "signed_time")]
    pub modified: Option<SystemTime>,
    /// The time of the last change of the file's contents or attributes, which no program can set, in
    /// seconds and nanoseconds since 1970; 0 if the system does not state it.
    pub changed: (i64, i64),
    /// The ETag in the object store.
    pub e_tag: Option<String>,
}

/// Why bytes of an expected state of a file cannot be read.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The file is in another state.
    Changed,
    /// The disk or the object store returned an error.
    Failed(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// A time as whole and fractional seconds since, or before, 1970.
mod signed_time {
    use super::{
        Deserialize, Deserializer, Duration, Serialize, Serializer, SystemTime, UNIX_EPOCH,
    };

    pub(super) fn serialize<S: Serializer>(
        time: &Option<SystemTime>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let signed = time.map(|time| match time.duration_since(UNIX_EPOCH) {
            Ok(after) => (false, after),
            Err(before) => (true, before.duration()),
        });
        signed.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SystemTime>, D::Error> {
        let signed = Option::<(bool, Duration)>::deserialize(deserializer)?;
        Ok(signed.and_then(|(is_before, duration)| {
            if is_before {
                UNIX_EPOCH.checked_sub(duration)
            } else {
                UNIX_EPOCH.checked_add(duration)
            }
        }))
    }
}
