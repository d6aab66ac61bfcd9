use std::collections::HashMap;
use std::sync::Arc;

use crate::check::{check_array, check_inner_rows};
use crate::table::{Content, DictionariesById, Dictionary, DictionaryChunk, array_data};
use crate::wire::{ArraySlot, DecodeError, DecodeErrorKind, SchemaField};

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

    /// Adds the message of dictionary `id`, whose values have `field` and the layout `slots`.
    pub(super) fn accept(
        &mut self,
        id: i64,
        is_delta: bool,
        field: SchemaField,
        content: Content,
        mut slots: Vec<ArraySlot>,
    ) -> Result<(), DecodeError> {
        let Some(slot) = slots.pop() else {
            return Err(DecodeError::new(
                DecodeErrorKind::InvalidHeader,
                "a dictionary batch does not have exactly one column",
            ));
        };
        let body = &content.body;
        check_inner_rows(slot.node, &field)?;
        check_array(&slot, &field, body, self.by_id.as_ref())?;
        let position = self.num_messages;
        self.num_messages += 1;
        let inner = Arc::new(self.inner(&field.children));
        match self.by_id.get(&id) {
            Some(dictionary) if is_delta => {
                dictionary.append(DictionaryChunk::new(content, slot, inner, position))
            }
            _ => {
                // SAFETY: the slot has passed `check_array`.
                let values = unsafe { array_data(&slot, &field, body, &self.by_id) }?;
                let first = DictionaryChunk::new(content, slot, inner, position);
                let dictionary = Arc::new(Dictionary::new(field, first, values));
                Arc::make_mut(&mut self.by_id).insert(id, dictionary);
                Ok(())
            }
        }
    }

    /// The current dictionaries of `fields`, without those inside of them.
    fn inner(&self, fields: &[SchemaField]) -> HashMap<i64, Arc<Dictionary>> {
        let mut inner = HashMap::new();
        for field in fields {
            match &field.dictionary {
                Some(encoding) => {
                    let dictionary = self.by_id.get(&encoding.id);
                    inner.extend(dictionary.map(|one| (encoding.id, Arc::clone(one))));
                }
                None => inner.extend(self.inner(&field.children)),
            }
        }
        inner
    }
}
