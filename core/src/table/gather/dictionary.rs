//! Keys of dictionaries, and the values to which they refer.

use std::ptr;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::DataType;

use super::{Gather, Result, RowRange, Source, gather, integers, push_range, sort, with_room};
use crate::table::dictionary::{Dictionary, read_key};
use crate::wire::FieldNode;

impl Gather<'_> {
    /// The values to which the keys refer, in one dictionary. Keys become 32 bits wide if the sources
    /// have several dictionaries with more values than a key can count.
    pub(super) fn dictionary(
        &self,
        builder: ArrayDataBuilder,
        key: &DataType,
    ) -> Result<ArrayDataBuilder> {
        let Some(encoding) = &self.field.dictionary else {
            return Ok(builder);
        };
        let width = key.primitive_width().unwrap_or(8);
        let keys = self.buffers(0);
        let sources = self.sources.iter();
        let dictionaries: Vec<Option<&Dictionary>> = sources
            .map(|source| source.dictionaries.get(&encoding.id).map(Arc::as_ref))
            .collect();
        let mut distinct: Vec<&Dictionary> = Vec::new();
        for &dictionary in dictionaries.iter().flatten() {
            if index_of(&distinct, dictionary).is_none() {
                distinct.push(dictionary);
            }
        }
        let indexes: Vec<Option<usize>> = dictionaries
            .iter()
            .map(|wanted| wanted.and_then(|wanted| index_of(&distinct, wanted)))
            .collect();
        let lens: Vec<usize> = distinct.iter().map(|one| one.len()).collect();
        let value_of = |(source, row): (usize, usize)| {
            let index = indexes[source]?;
            let key = read_key(&keys[source][row * width..][..width], lens[index])?;
            Some(RowRange::of_row(index, key))
        };
        let mut used = with_room(self.num_rows)?;
        used.extend(self.rows().filter_map(value_of));
        sort(&mut used);
        let used_values = match distinct.as_slice() {
            [] => ArrayData::new_empty(&encoding.value_type),
            distinct => values(distinct, &used)?,
        };
        // A signed key of `width` bytes counts this many values.
        let max_values = 1u64 << (8 * width as u32 - 1);
        let (key, new_width) = match used.len() as u64 <= max_values {
            true => (key.clone(), width),
            false => (DataType::Int32, 4),
        };
        let mut new_keys = with_room(self.num_rows)?;
        for row in self.rows() {
            let value = value_of(row).and_then(|value| used.binary_search(&value).ok());
            new_keys.push(value.unwrap_or(0));
        }
        let new_keys = integers(&new_keys, new_width)?;
        let data_type = DataType::Dictionary(key.into(), used_values.data_type().clone().into());
        Ok(builder
            .data_type(data_type)
            .add_buffer(new_keys)
            .add_child_data(used_values))
    }
}

fn index_of(dictionaries: &[&Dictionary], wanted: &Dictionary) -> Option<usize> {
    dictionaries.iter().position(|&one| ptr::eq(one, wanted))
}

/// Adds keys and values of `dictionary` to `builder`, an array of `node` with checked keys. If the keys
/// reach beyond the first chunk, the array gets a dictionary of only the values that it uses, with new
/// keys. This takes O(rows · log rows), whatever the size of the dictionary.
///
/// # Errors
/// As [`gather`].
pub(in crate::table) fn look_up(
    dictionary: &Dictionary,
    builder: ArrayDataBuilder,
    keys: &Buffer,
    node: &FieldNode,
    key_type: &DataType,
) -> Result<ArrayDataBuilder> {
    let width = key_type.primitive_width().unwrap_or(8);
    let end = dictionary.len();
    let keys_of_rows = || keys.chunks_exact(width).map(|key| read_key(key, end));
    let first_end = dictionary.first_values.len();
    if keys_of_rows().flatten().all(|key| key < first_end) {
        return Ok(builder
            .add_buffer(keys.clone())
            .add_child_data(dictionary.first_values.clone()));
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
    let used_values = values(&[dictionary], &used)?;
    // The values can have wider run ends or keys than in the schema.
    let value_type = used_values.data_type().clone();
    Ok(builder
        .data_type(DataType::Dictionary(
            key_type.clone().into(),
            value_type.into(),
        ))
        .add_buffer(new_keys)
        .add_child_data(used_values))
}

/// The values `used`, each as the index of a dictionary and the key in it, in ascending order. There
/// is at least one dictionary, and all have values of one type.
///
/// # Errors
/// As [`gather`].
fn values(dictionaries: &[&Dictionary], used: &[RowRange]) -> Result<ArrayData> {
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
