use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use arrow_buffer::Buffer;
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::DataType;

use super::content::Content;
use super::gather::{RowRange, Source, gather, integers, push_range, sort, with_room};
use crate::wire::{ArraySlot, DecodeError, DecodeErrorKind, FieldNode, SchemaField};

/// The dictionaries that a batch was sent with, by their ids.
pub(crate) type DictionariesById = Arc<HashMap<i64, Arc<Dictionary>>>;

/// The values of one dictionary, as the chunks in which they arrived: the first one and its deltas.
/// Chunks are never joined, so a delta costs only its own size. The keys of a batch keep their meaning
/// when more chunks arrive.
#[derive(Debug)]
pub(crate) struct Dictionary {
    /// The field of the values.
    field: SchemaField,
    first_values: ArrayData,
    chunks: RwLock<Vec<Arc<DictionaryChunk>>>,
}

/// The values of a dictionary message, which have passed `check_array`.
#[derive(Debug)]
pub(crate) struct DictionaryChunk {
    pub(crate) content: Content,
    /// Where the values lie in the content.
    pub(crate) slot: ArraySlot,
    /// The dictionaries to which the values refer.
    pub(crate) dictionaries: DictionariesById,
    /// The number of dictionary messages before this one.
    #[cfg_attr(not(feature = "kernels"), allow(dead_code))]
    pub(crate) position: u64,
    /// The key of the first value.
    start: usize,
    /// Bytes of the bodies of this chunk and those before it.
    end_bytes: u64,
}

impl DictionaryChunk {
    /// The chunk of `content`, the message at `position` among the dictionary batches.
    pub(crate) fn new(
        content: Content,
        slot: ArraySlot,
        dictionaries: DictionariesById,
        position: u64,
    ) -> Self {
        Self {
            end_bytes: content.body.len() as u64,
            content,
            slot,
            dictionaries,
            position,
            start: 0,
        }
    }

    fn end(&self) -> usize {
        self.start + self.slot.node.num_rows
    }
}

impl Dictionary {
    /// A dictionary whose first chunk has the array `first_values`, of `field`.
    pub(crate) fn new(field: SchemaField, first: DictionaryChunk, first_values: ArrayData) -> Self {
        Self {
            field,
            first_values,
            chunks: RwLock::new(vec![Arc::new(first)]),
        }
    }

    /// Appends values.
    ///
    /// # Errors
    /// `OverLimit` if the values of all chunks could exceed what an array can hold.
    pub(crate) fn append(&self, mut chunk: DictionaryChunk) -> Result<(), DecodeError> {
        let mut chunks = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = chunks.last() {
            chunk.start = last.end();
            chunk.end_bytes += last.end_bytes;
        }
        let max_bytes = i32::MAX as u64;
        if chunk.end_bytes > max_bytes || chunk.end() as u64 > max_bytes {
            return Err(DecodeError::new(
                DecodeErrorKind::OverLimit,
                format!("a dictionary grows beyond {max_bytes} bytes or values"),
            ));
        }
        chunks.push(Arc::new(chunk));
        Ok(())
    }

    fn chunks(&self) -> RwLockReadGuard<'_, Vec<Arc<DictionaryChunk>>> {
        self.chunks.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The chunks from `index` on.
    #[cfg(feature = "kernels")]
    pub(crate) fn chunks_from(&self, index: usize) -> Vec<Arc<DictionaryChunk>> {
        self.chunks().iter().skip(index).cloned().collect()
    }

    /// Type of the values.
    pub(crate) fn value_type(&self) -> &DataType {
        self.field.field.data_type()
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.chunks().last().map_or(0, |chunk| chunk.end())
    }

    /// Adds keys and values to `builder`, an array of `node` with checked keys. If the keys reach
    /// beyond the first chunk, the array gets a dictionary of only the values that it uses, with new
    /// keys. This takes O(rows · log rows), whatever the size of the dictionary.
    ///
    /// # Errors
    /// As [`gather`].
    pub(super) fn look_up(
        &self,
        builder: ArrayDataBuilder,
        keys: &Buffer,
        node: &FieldNode,
        key_type: &DataType,
    ) -> Result<ArrayDataBuilder, DecodeError> {
        let width = key_type.primitive_width().unwrap_or(8);
        let end = self.len();
        let keys_of_rows = || keys.chunks_exact(width).map(|key| read_key(key, end));
        let first_end = self.first_values.len();
        if keys_of_rows().flatten().all(|key| key < first_end) {
            return Ok(builder
                .add_buffer(keys.clone())
                .add_child_data(self.first_values.clone()));
        }
        let mut used = with_room(node.num_rows)?;
        used.extend(keys_of_rows().flatten().map(|key| RowRange::of_row(0, key)));
        sort(&mut used);
        let mut new_keys = with_room(node.num_rows)?;
        for key in keys_of_rows() {
            let new_key = key.and_then(|key| used.binary_search(&RowRange::of_row(0, key)).ok());
            new_keys.push(new_key.unwrap_or(0));
        }
        let new_keys = integers(&new_keys, width)?;
        let values = Self::gather(&[self], &used)?;
        // The values can have wider run ends or keys than in the schema.
        let value_type = values.data_type().clone();
        Ok(builder
            .data_type(DataType::Dictionary(
                key_type.clone().into(),
                value_type.into(),
            ))
            .add_buffer(new_keys)
            .add_child_data(values))
    }

    /// The values `used`, each as the index of a dictionary and the key in it, in ascending order. There
    /// is at least one dictionary, and all have values of one type.
    ///
    /// # Errors
    /// As [`gather`].
    pub(super) fn gather(
        dictionaries: &[&Self],
        used: &[RowRange],
    ) -> Result<ArrayData, DecodeError> {
        let (mut chunks, mut ranges) = (Vec::new(), Vec::new());
        let mut left = used.iter().peekable();
        for (index, dictionary) in dictionaries.iter().enumerate() {
            let all = dictionary.chunks();
            while let Some(first) = left.peek().filter(|value| value.source == index) {
                let chunk = &all[all.partition_point(|chunk| chunk.end() <= first.start)];
                let is_in = |value: &&RowRange| value.source == index && value.end <= chunk.end();
                while let Some(value) = left.next_if(is_in) {
                    let row = value.start - chunk.start;
                    push_range(&mut ranges, RowRange::of_row(chunks.len(), row))?;
                }
                chunks.push(Arc::clone(chunk));
            }
        }
        let sources: Vec<Source> = chunks
            .iter()
            .map(|chunk| Source {
                slot: &chunk.slot,
                body: &chunk.content.body,
                dictionaries: &chunk.dictionaries,
            })
            .collect();
        gather(&dictionaries[0].field, &sources, &ranges)
    }
}

/// A key, if it is one of `num_values`. The key of a null may be anything.
pub(super) fn read_key(key: &[u8], num_values: usize) -> Option<usize> {
    let mut wide = [0; 8];
    wide[..key.len()].copy_from_slice(key);
    usize::try_from(u64::from_le_bytes(wide))
        .ok()
        .filter(|&key| key < num_values)
}
