use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::DataType;

use super::batch_header::BatchHeader;
use super::compression::{decompress, decompressed_layout};
use super::counts::check_counts;
use super::flatbuffer::Table;
use super::layout::{ArraySlot, check_inner_rows, read_layout};
use super::limits::within;
use super::message::{DictionaryHeader, Message};
use super::problem::not_valid;
use super::schema::{SchemaField, StreamSchema};
use super::values::{KnownDictionaries, check_array};
use super::{DecodeError, Limits};

/// Checks the messages of one stream, in their order. It keeps the schema, and type and length of each
/// dictionary, because later messages depend on them.
#[derive(Debug)]
pub struct MessageChecker {
    limits: Limits,
    schema: Option<Arc<StreamSchema>>,
    dictionaries: Lengths,
    /// Bytes and rows of the messages so far.
    num_bytes: u64,
    num_rows: u64,
}

/// Type and number of the values of each dictionary, by its id.
type Lengths = HashMap<i64, (DataType, u64)>;

impl KnownDictionaries for Lengths {
    fn values(&self, id: i64) -> Option<(&DataType, u64)> {
        self.get(&id)
            .map(|(data_type, num_values)| (data_type, *num_values))
    }
}

impl MessageChecker {
    /// A checker at the start of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            schema: None,
            dictionaries: Lengths::new(),
            num_bytes: 0,
            num_rows: 0,
        }
    }

    /// Checks the next message, given as its metadata (without continuation and length, with padding)
    /// and its body. Returns its header, whose buffers are positions in `body`.
    ///
    /// # Errors
    /// What is wrong: `InvalidHeader`, `InvalidData`, `OverLimit` or `Unsupported`. `byte` is the
    /// position of the message in the stream if each message has a prefix of 8 bytes, and `row` the
    /// number of rows before it. The message then counts as not read, and another one can be checked in
    /// its place.
    pub fn check(&mut self, metadata: &[u8], body: &[u8]) -> Result<Message, DecodeError> {
        let message = self
            .next(metadata, body)
            .map_err(|error| error.at_byte(self.num_bytes).at_row(self.num_rows))?;
        self.num_bytes += 8 + metadata.len() as u64 + body.len() as u64;
        if let Message::Batch(header) = &message {
            self.num_rows += header.num_rows as u64;
        }
        Ok(message)
    }

    fn next(&mut self, metadata: &[u8], body: &[u8]) -> Result<Message, DecodeError> {
        let max_bytes = self.limits.max_metadata_bytes;
        within(metadata.len() as i64, max_bytes, "metadata length")?;
        let (message, body_bytes) = Message::read(metadata, &self.limits)?;
        check_custom_metadata(metadata)?;
        if body.len() as u64 != body_bytes {
            let len = body.len();
            return Err(DecodeError::header(format!(
                "a message states a body of {body_bytes} bytes, but its body has {len}"
            )));
        }
        match (&message, &self.schema) {
            (Message::Schema(schema), None) => self.schema = Some(Arc::clone(schema)),
            (Message::Schema(_), Some(_)) => {
                return Err(DecodeError::header("the stream has a second schema"));
            }
            (_, None) => return Err(DecodeError::header("the first message is not a schema")),
            (Message::Batch(header), Some(schema)) => {
                self.check_columns(header, body, &schema.fields)?;
            }
            (Message::Dictionary(dictionary), Some(schema)) => {
                let id = dictionary.id;
                let field = schema
                    .dictionary_field(id)
                    .ok_or_else(|| DecodeError::header(format!("no field uses dictionary {id}")))?;
                let field = field.dictionary_values();
                let slots =
                    self.check_columns(&dictionary.values, body, std::slice::from_ref(&field))?;
                check_inner_rows(slots[0].node, &field)?;
                self.add_dictionary(dictionary, &field);
            }
        }
        Ok(message)
    }

    /// Checks a batch of `fields`; returns the slots of its decompressed body.
    fn check_columns(
        &self,
        header: &BatchHeader,
        body: &[u8],
        fields: &[SchemaField],
    ) -> Result<Vec<ArraySlot>, DecodeError> {
        let max_bytes = self.limits.max_decompressed_bytes;
        let (header, body) = decompressed(header, body, max_bytes)?;
        let slots = read_layout(&header, fields)?;
        check_slots(&slots, fields, &body, &self.dictionaries)?;
        Ok(slots)
    }

    fn add_dictionary(&mut self, message: &DictionaryHeader, field: &SchemaField) {
        let num_values = message.values.num_rows as u64;
        let entry = self.dictionaries.entry(message.id);
        let (_, length) = entry.or_insert_with(|| (field.field.data_type().clone(), 0));
        *length = match message.is_delta {
            true => length.saturating_add(num_values),
            false => num_values,
        };
    }
}

/// Checks that the keys and values of a message's own metadata lie inside `metadata`. They can hold any
/// bytes.
fn check_custom_metadata(metadata: &[u8]) -> Result<(), DecodeError> {
    let entries = Table::root(metadata)?.vector(4, 4)?;
    (0..entries.len()).try_for_each(|index| {
        let entry = entries.table(index)?;
        entry.string_bytes(0)?;
        entry.string_bytes(1).map(drop)
    })
}

/// Header and body of a batch after decompression.
fn decompressed<'a>(
    header: &'a BatchHeader,
    body: &'a [u8],
    max_bytes: u64,
) -> Result<(Cow<'a, BatchHeader>, Cow<'a, [u8]>), DecodeError> {
    let Some(codec) = header.compression else {
        return Ok((Cow::Borrowed(header), Cow::Borrowed(body)));
    };
    let (ranges, _) = decompressed_layout(header, body, max_bytes)?;
    let mut out = Vec::new();
    for (from, to) in header.buffers.iter().zip(&ranges) {
        let buffer = &body[from.offset..from.offset + from.length];
        out.resize(to.offset, 0);
        out.extend_from_slice(&decompress(buffer, codec, to.length as u64)?);
    }
    let header = BatchHeader {
        buffers: ranges,
        compression: None,
        ..header.clone()
    };
    Ok((Cow::Owned(header), Cow::Owned(out)))
}

fn check_slots(
    slots: &[ArraySlot],
    fields: &[SchemaField],
    body: &[u8],
    dictionaries: &dyn KnownDictionaries,
) -> Result<(), DecodeError> {
    let mut columns = slots.iter().zip(fields);
    columns.try_for_each(|(slot, field)| {
        check_array(slot, field, body, dictionaries)?;
        check_counts(slot, field, body).map_err(|problem| not_valid(field, &problem))
    })
}

/// Checks values and null counts of an uncompressed batch of columns without dictionaries. `slots` are
/// the layout of the header over `fields`; `body` is the whole body.
///
/// # Errors
/// `InvalidData`.
///
/// # Panics
/// If `body` is shorter than the header states.
pub fn check_batch(
    slots: &[ArraySlot],
    fields: &[SchemaField],
    body: &[u8],
) -> Result<(), DecodeError> {
    check_slots(slots, fields, body, &Lengths::new())
}
