use std::sync::Arc;

use super::check::check_array;
use crate::table::{Content, DictionariesById, Dictionary, array_data};
use crate::wire::{DecodeError, DecodeErrorKind, StreamSchema, check_inner_rows, read_layout};

/// The current dictionaries of a stream. A batch keeps the dictionaries that it was sent with, so a
/// replacement affects only later batches.
#[derive(Debug, Default)]
pub(super) struct Dictionaries {
    by_id: DictionariesById,
    num_messages: u64,
}

impl Dictionaries {
    pub(super) fn by_id(&self) -> &DictionariesById {
        &self.by_id
    }

    /// Adds an uncompressed dictionary batch.
    pub(super) fn accept(
        &mut self,
        id: i64,
        is_delta: bool,
        content: Content,
        schema: &Arc<StreamSchema>,
    ) -> Result<(), DecodeError> {
        let field = schema.dictionary_field(id).ok_or_else(|| {
            DecodeError::new(
                DecodeErrorKind::InvalidHeader,
                format!("no field uses dictionary {id}"),
            )
        })?;
        let field = field.dictionary_values();
        let Content { header, body } = &content;
        let slots = read_layout(header, std::slice::from_ref(&field))?;
        let [slot] = slots.as_slice() else {
            return Err(DecodeError::new(
                DecodeErrorKind::InvalidHeader,
                "a dictionary batch does not have exactly one column",
            ));
        };
        check_inner_rows(slot.node, &field)?;
        check_array(slot, &field, body, &self.by_id)?;
        // SAFETY: the slot has passed `check_array`.
        let values = unsafe { array_data(slot, &field, body, &self.by_id) };
        let position = self.num_messages;
        self.num_messages += 1;
        match self.by_id.get(&id) {
            Some(dictionary) if is_delta => dictionary.append(values, content, position),
            _ => {
                let dictionary = Arc::new(Dictionary::new(values, content, position));
                Arc::make_mut(&mut self.by_id).insert(id, dictionary);
                Ok(())
            }
        }
    }
}
