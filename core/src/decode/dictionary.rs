use std::collections::HashMap;
use std::sync::Arc;

use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;

use super::array::{Body, build_array};
use crate::wire::{
    DecodeError, DecodeErrorKind, DictionaryHeader, StreamSchema, check_inner_rows, read_layout,
};

/// The dictionaries of a stream as they stand now. Batches hold on to those that they were decoded
/// with, so a replacement changes only what comes after it.
#[derive(Debug, Default)]
pub(super) struct Dictionaries {
    by_id: HashMap<i64, ArrayData>,
}

impl Dictionaries {
    pub(super) fn get(&self, id: i64) -> Option<&ArrayData> {
        self.by_id.get(&id)
    }

    /// Takes a dictionary batch in.
    pub(super) fn accept(
        &mut self,
        header: &DictionaryHeader,
        body: &mut Body,
        schema: &Arc<StreamSchema>,
    ) -> Result<(), DecodeError> {
        let field = schema.dictionary_field(header.id).ok_or_else(|| {
            DecodeError::new(
                DecodeErrorKind::InvalidHeader,
                format!("no field uses dictionary {}", header.id),
            )
        })?;
        let values = field.dictionary_values();
        let slots = read_layout(&header.values, std::slice::from_ref(&values))?;
        let [slot] = slots.as_slice() else {
            return Err(DecodeError::new(
                DecodeErrorKind::InvalidHeader,
                "a dictionary batch has other than one column",
            ));
        };
        check_inner_rows(slot.node, &values)?;
        let added = build_array(slot, &values, body, self)?;
        let all = match self.by_id.get(&header.id) {
            Some(earlier) if header.is_delta => {
                let mut joined = MutableArrayData::new(
                    vec![earlier, &added],
                    false,
                    earlier.len() + added.len(),
                );
                for (source, part) in [earlier, &added].into_iter().enumerate() {
                    joined.try_extend(source, 0, part.len()).map_err(|error| {
                        DecodeError::new(DecodeErrorKind::OverLimit, error.to_string())
                    })?;
                }
                joined.freeze()
            }
            _ => added,
        };
        self.by_id.insert(header.id, all);
        Ok(())
    }
}
