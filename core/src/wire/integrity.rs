//! The statements of a Colonnade server about each message, by which a client detects missing,
//! duplicated and damaged messages. They are entries of `Message.custom_metadata`, which other readers
//! ignore.
//!
//! Spec: `format/Message.fbs`, `format/Schema.fbs` (`KeyValue`).

use super::flatbuffer::Table;
use super::flatbuffer_writer::{MessageTable, string_bytes};
use super::{DecodeError, DecodeErrorKind};

type Result<T> = std::result::Result<T, DecodeError>;

/// Number of the message's first row in the result, decimal. A message without rows has the number of
/// the next row.
pub const FIRST_ROW: &str = "colonnade.first_row";
/// Position among the dictionary and record batches of this response, from 0, decimal.
pub const SEQ: &str = "colonnade.seq";
/// On the last record batch: the row after the last row of this response, decimal.
pub const TOTAL_ROWS: &str = "colonnade.total_rows";
/// On the last record batch: the number of record batches before it in this response, decimal.
pub const TOTAL_BATCHES: &str = "colonnade.total_batches";
/// [`xxh3_64`] of the body as it is sent, 16 lower-case hexadecimal digits.
pub const XXH3: &str = "colonnade.xxh3";

/// On the first message of a response: the snapshot of the source that its rows come from, 16
/// lower-case hexadecimal digits. Responses with different snapshots must not be joined.
pub const SNAPSHOT: &str = "colonnade.snapshot";

/// On messages of a statement: how far it has come, as the JSON of `progress` in `GET /v1/query/{id}`.
pub const PROGRESS: &str = "colonnade.progress";

const PREFIX: &[u8] = b"colonnade.";

/// The maximum number of entries that are read. The server's own entries come first.
const MAX_ENTRIES: usize = 64;

/// The entries of one message. Messages of other producers have none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Integrity {
    /// [`FIRST_ROW`].
    pub first_row: Option<u64>,
    /// [`SEQ`].
    pub seq: Option<u64>,
    /// [`TOTAL_ROWS`].
    pub total_rows: Option<u64>,
    /// [`TOTAL_BATCHES`].
    pub total_batches: Option<u64>,
    /// [`XXH3`].
    pub xxh3: Option<u64>,
    /// [`SNAPSHOT`].
    pub snapshot: Option<u64>,
}

impl Integrity {
    /// Reads the entries of one message's metadata (without continuation and length).
    ///
    /// # Errors
    /// `InvalidHeader` if the vector points outside the metadata, or if an entry of Colonnade has an
    /// invalid value.
    pub fn read(metadata: &[u8]) -> Result<Self> {
        let entries = Table::root(metadata)?.vector(4, 4)?;
        let mut integrity = Self::default();
        for index in 0..entries.len().min(MAX_ENTRIES) {
            let entry = entries.table(index)?;
            let Some(key) = entry
                .string_bytes(0)?
                .filter(|key| key.starts_with(PREFIX))
                .and_then(|key| std::str::from_utf8(key).ok())
            else {
                continue;
            };
            let value = entry.string_bytes(1)?.unwrap_or_default();
            let (slot, number, expected) = match key {
                FIRST_ROW => (&mut integrity.first_row, decimal(value), "a decimal number"),
                SEQ => (&mut integrity.seq, decimal(value), "a decimal number"),
                TOTAL_ROWS => (
                    &mut integrity.total_rows,
                    decimal(value),
                    "a decimal number",
                ),
                TOTAL_BATCHES => (
                    &mut integrity.total_batches,
                    decimal(value),
                    "a decimal number",
                ),
                XXH3 => (
                    &mut integrity.xxh3,
                    hexadecimal(value),
                    "16 lower-case hexadecimal digits",
                ),
                SNAPSHOT => (
                    &mut integrity.snapshot,
                    hexadecimal(value),
                    "16 lower-case hexadecimal digits",
                ),
                _ => continue,
            };
            if number.is_none() || slot.is_some() {
                return Err(DecodeError::header(format!(
                    "the message's {key} is invalid; expected {expected}, exactly once"
                )));
            }
            *slot = number;
        }
        Ok(integrity)
    }
}

/// Digits only; `parse` would accept a sign, too.
fn decimal(text: &[u8]) -> Option<u64> {
    text.iter().all(u8::is_ascii_digit).then_some(())?;
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn hexadecimal(text: &[u8]) -> Option<u64> {
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == 16 && text.iter().all(is_hex)).then_some(())?;
    u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()
}

/// XXH3-64 with seed 0. <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>
#[must_use]
pub fn xxh3_64(body: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(body)
}

/// Positions in the front, after its Message: vtable of KeyValue, vector of entries.
const KEY_VALUE_VTABLE: [u16; 4] = [8, 12, 4, 8];
const KEY_VALUE: usize = MessageTable::END_WITH_ENTRIES;
const ENTRIES: usize = KEY_VALUE + 8;
/// Keeps the alignment of the following bytes, up to that of the body.
const FRONT_ALIGNMENT: usize = 64;

/// Bytes that add `entries` to a message as custom metadata, before the entries that it has. They are
/// put in front of the unchanged `header`, which is the metadata of the message as it was written: the
/// bytes between continuation and length, and body, including padding.
///
/// Offsets in a FlatBuffer are relative and, from root, table or vector, point forward, so `header`
/// needs no change. The front holds a new root and Message, whose header lies in the old bytes. The
/// length of the front is a multiple of 64. A message is sent as `FFFFFFFF`, length of front and header
/// together, front, header, body.
///
/// # Errors
/// `InvalidHeader` if `header` is not the metadata of a message; `OverLimit` beyond 2 GiB.
pub fn front(header: &[u8], entries: &[(&str, &str)]) -> Result<Vec<u8>> {
    let old = Table::root(header)?;
    let old_header = old
        .table(2)?
        .ok_or_else(|| DecodeError::header("a message has no header"))?
        .position();
    let old_entries = old.vector(4, 4)?;
    let num_entries = entries.len() + old_entries.len();

    let key_values = ENTRIES + 4 + 4 * num_entries;
    let strings = key_values + 12 * entries.len();
    let end = entries.iter().fold(strings, |end, (key, value)| {
        end + string_bytes(key) + string_bytes(value)
    });
    let front_bytes = end.next_multiple_of(FRONT_ALIGNMENT);
    if front_bytes + header.len() > i32::MAX as usize {
        return Err(DecodeError::new(
            DecodeErrorKind::OverLimit,
            "a message's metadata with its entries would be longer than 2 GiB",
        ));
    }

    let message = MessageTable {
        version: old.i16(0, 0)?,
        header_type: old.u8(1, 0)?,
        header: front_bytes + old_header,
        body_bytes: old.i64(3, 0)?,
        entries: Some(ENTRIES),
    };
    let mut front = message.write(front_bytes);
    front.u16s(KEY_VALUE, &KEY_VALUE_VTABLE);
    front.u32(ENTRIES, num_entries);
    let mut string_at = strings;
    for (index, (key, value)) in entries.iter().enumerate() {
        let at = key_values + 12 * index;
        front.offset(ENTRIES + 4 + 4 * index, at);
        front.u32(at, at - KEY_VALUE);
        for (slot, text) in [(at + 4, key), (at + 8, value)] {
            front.offset(slot, string_at);
            string_at = front.string(string_at, text);
        }
    }
    for index in 0..old_entries.len() {
        let slot = ENTRIES + 4 + 4 * (entries.len() + index);
        front.offset(slot, front_bytes + old_entries.table(index)?.position());
    }
    Ok(front.into_bytes())
}
