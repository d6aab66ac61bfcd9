use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use arrow_buffer::{Buffer, MutableBuffer};
use arrow_data::transform::MutableArrayData;
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::DataType;

use super::content::Content;
use crate::wire::{DecodeError, DecodeErrorKind, FieldNode};

/// The dictionaries that a batch was sent with, by their ids.
pub(crate) type DictionariesById = Arc<HashMap<i64, Arc<Dictionary>>>;

/// The values of one dictionary, as the chunks in which they arrived: the first one and its deltas.
/// Chunks are never joined, so a delta costs only its own size. The keys of a batch keep their meaning
/// when more chunks arrive.
#[derive(Debug)]
pub(crate) struct Dictionary {
    value_type: DataType,
    chunks: RwLock<Vec<DictionaryChunk>>,
}

#[derive(Debug)]
struct DictionaryChunk {
    #[cfg_attr(not(feature = "kernels"), allow(dead_code))]
    content: Content,
    /// The number of dictionary messages before this one.
    #[cfg_attr(not(feature = "kernels"), allow(dead_code))]
    position: u64,
    values: ArrayData,
    /// The key of the first value.
    start: usize,
    /// Bytes of the bodies of this chunk and those before it.
    end_bytes: u64,
}

impl DictionaryChunk {
    fn end(&self) -> usize {
        self.start + self.values.len()
    }
}

impl Dictionary {
    /// A dictionary with the values of `content`, which is the message at `position` among the
    /// dictionary batches.
    pub(crate) fn new(values: ArrayData, content: Content, position: u64) -> Self {
        let value_type = values.data_type().clone();
        let first = DictionaryChunk {
            start: 0,
            end_bytes: content.body.len() as u64,
            values,
            content,
            position,
        };
        Self {
            value_type,
            chunks: RwLock::new(vec![first]),
        }
    }

    /// Appends values.
    ///
    /// # Errors
    /// `OverLimit` if the values of all chunks could exceed what an array can hold.
    pub(crate) fn append(
        &self,
        values: ArrayData,
        content: Content,
        position: u64,
    ) -> Result<(), DecodeError> {
        let mut chunks = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
        let start = chunks.last().map_or(0, DictionaryChunk::end);
        let end_bytes =
            chunks.last().map_or(0, |chunk| chunk.end_bytes) + content.body.len() as u64;
        let max_bytes = i32::MAX as u64;
        if end_bytes > max_bytes || (start + values.len()) as u64 > max_bytes {
            return Err(DecodeError::new(
                DecodeErrorKind::OverLimit,
                format!("a dictionary grows beyond {max_bytes} bytes or values"),
            ));
        }
        chunks.push(DictionaryChunk {
            values,
            content,
            position,
            start,
            end_bytes,
        });
        Ok(())
    }

    /// The chunks from `index` on, each with its position.
    #[cfg(feature = "kernels")]
    pub(crate) fn chunks_from(&self, index: usize) -> Vec<(u64, Content)> {
        let chunks = self.chunks.read().unwrap_or_else(PoisonError::into_inner);
        let chunks = chunks.iter().skip(index);
        chunks
            .map(|chunk| (chunk.position, chunk.content.clone()))
            .collect()
    }

    /// Type of the values.
    pub(crate) fn value_type(&self) -> &DataType {
        &self.value_type
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        let chunks = self.chunks.read().unwrap_or_else(PoisonError::into_inner);
        chunks.last().map_or(0, DictionaryChunk::end)
    }

    /// Adds keys and values to `builder`, an array of `node` with checked keys. If the keys reach
    /// beyond the first chunk, the array gets a dictionary of only the values that it uses, with new
    /// keys. This takes O(rows · log rows), whatever the size of the dictionary.
    pub(super) fn look_up(
        &self,
        builder: ArrayDataBuilder,
        keys: &Buffer,
        node: &FieldNode,
        data_type: &DataType,
    ) -> ArrayDataBuilder {
        let chunks = self.chunks.read().unwrap_or_else(PoisonError::into_inner);
        let width = match data_type {
            DataType::Dictionary(key, _) => key.primitive_width().unwrap_or(8),
            _ => 8,
        };
        let end = chunks.last().map_or(0, DictionaryChunk::end);
        let read = |key: &[u8]| {
            let mut wide = [0; 8];
            wide[..width].copy_from_slice(key);
            // The key of a null may be anything.
            usize::try_from(u64::from_le_bytes(wide))
                .ok()
                .filter(|&key| key < end)
        };
        let keys_of_rows = || keys.chunks_exact(width).map(read);
        let is_in_first = |key: Option<usize>| key.is_none_or(|key| key < chunks[0].end());
        if chunks.len() == 1 || keys_of_rows().all(is_in_first) {
            return builder
                .add_buffer(keys.clone())
                .add_child_data(chunks[0].values.clone());
        }
        let mut used: Vec<usize> = keys_of_rows().flatten().collect();
        used.sort_unstable();
        used.dedup();
        let mut new_keys = MutableBuffer::with_capacity(node.num_rows * width);
        for key in keys_of_rows() {
            let new_key = key
                .and_then(|key| used.binary_search(&key).ok())
                .unwrap_or(0);
            new_keys.extend_from_slice(&(new_key as u64).to_le_bytes()[..width]);
        }
        builder
            .add_buffer(new_keys.into())
            .add_child_data(gather(&chunks, &used))
    }
}

/// The values at `keys`, which are in ascending order.
fn gather(chunks: &[DictionaryChunk], keys: &[usize]) -> ArrayData {
    let chunk_of = |key| chunks.partition_point(|chunk| chunk.end() <= key);
    // Ranges of consecutive keys in one chunk.
    let mut ranges: Vec<(usize, usize, usize)> = Vec::new();
    for &key in keys {
        match ranges.last_mut() {
            Some((chunk, _, end)) if *end == key && key < chunks[*chunk].end() => *end += 1,
            _ => ranges.push((chunk_of(key), key, key + 1)),
        }
    }
    let mut sources: Vec<usize> = ranges.iter().map(|(chunk, ..)| *chunk).collect();
    sources.dedup();
    let values = sources.iter().map(|&chunk| &chunks[chunk].values).collect();
    let mut gathered = MutableArrayData::new(values, false, keys.len());
    for (chunk, start, end) in ranges {
        let source = sources.partition_point(|&other| other < chunk);
        let first = chunks[chunk].start;
        // Cannot fail: `append` keeps all chunks together below what an array can hold.
        let _ = gathered.try_extend(source, start - first, end - first);
    }
    gathered.freeze()
}
