use std::sync::Arc;

use arrow_buffer::Buffer;

use super::check::check_array;
use crate::table::{DictionariesById, Dictionary, array_data};
use crate::wire::{BatchHeader, DecodeError, DecodeErrorKind, StreamSchema, read_layout};

/// The dictionaries of a stream as they stand now. Batches hold on to those that they were sent with,
/// so a replacement changes only what comes after it.
#[derive(Debug, Default)]
pub(super) struct Dictionaries {
    by_id: DictionariesById,
}

impl Dictionaries {
    pub(super) fn by_id(&self) -> &DictionariesById {
        &self.by_id
    }

    /// Takes in a dictionary batch, uncompressed.
    pub(super) fn accept(
        &mut self,
        id: i64,
        is_delta: bool,
        header: &BatchHeader,
        body: &Buffer,
        schema: &Arc<StreamSchema>,
    ) -> Result<(), DecodeError> {
        let field = schema.dictionary_field(id).ok_or_else(|| {
            DecodeError::new(
                DecodeErrorKind::InvalidHeader,
                format!("no field uses dictionary {id}"),
            )
        })?;
        let field = field.dictionary_values();
        let slots = read_layout(header, std::slice::from_ref(&field))?;
        let [slot] = slots.as_slice() else {
            return Err(DecodeError::new(
                DecodeErrorKind::InvalidHeader,
                "a dictionary batch has other than one column",
            ));
        };
        check_array(slot, &field, body, &self.by_id)?;
        // SAFETY: the slot has passed.
        let values = unsafe { array_data(slot, &field, body, &self.by_id) };
        let num_bytes = body.len() as u64;
        match self.by_id.get(&id) {
            Some(dictionary) if is_delta => dictionary.append(values, num_bytes),
            _ => {
                let dictionary = Arc::new(Dictionary::new(values, num_bytes));
                Arc::make_mut(&mut self.by_id).insert(id, dictionary);
                Ok(())
            }
        }
    }
}
