use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::content::Content;
use crate::check::KnownDictionaries;
use crate::wire::{ArraySlot, DecodeError, DecodeErrorKind, SchemaField};

/// The dictionaries that a batch was sent with, by their ids.
pub(crate) type DictionariesById = Arc<HashMap<i64, Arc<Dictionary>>>;

impl KnownDictionaries for HashMap<i64, Arc<Dictionary>> {
    fn values(&self, id: i64) -> Option<(&DataType, u64)> {
        self.get(&id)
            .map(|dictionary| (dictionary.value_type(), dictionary.len() as u64))
    }
}

/// The values of one dictionary, as the chunks in which they arrived: the first one and its deltas.
/// Chunks are never joined, so a delta costs only its own size. The keys of a batch keep their meaning
/// when more chunks arrive.
#[derive(Debug)]
pub(crate) struct Dictionary {
    /// The field of the values.
    pub(super) field: SchemaField,
    pub(super) first_values: ArrayData,
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
    pub(super) start: usize,
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

    pub(super) fn end(&self) -> usize {
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

    pub(super) fn chunks(&self) -> RwLockReadGuard<'_, Vec<Arc<DictionaryChunk>>> {
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
}

/// A key, if it is one of `num_values`. The key of a null may be anything.
pub(super) fn read_key(key: &[u8], num_values: usize) -> Option<usize> {
    let mut wide = [0; 8];
    wide[..key.len()].copy_from_slice(key);
    usize::try_from(u64::from_le_bytes(wide))
        .ok()
        .filter(|&key| key < num_values)
}
