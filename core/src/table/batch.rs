//! A batch as it arrived, and the arrays that are built from it.

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::DataType;

use super::content::Content;
use super::dictionary::DictionariesById;
use crate::wire::{ArraySlot, BufferRole, ColumnStart, FieldNode, SchemaField, read_column};

/// A batch whose header and buffers have been checked ([`crate::decode`]).
#[derive(Debug)]
pub(crate) struct Batch {
    content: Content,
    dictionaries: DictionariesById,
}

impl Batch {
    /// A batch that has passed all checks.
    ///
    /// # Safety
    /// `read_layout` has accepted the header, which has no compression. `check_array` has accepted
    /// every column, with these dictionaries and this body.
    pub(crate) unsafe fn new_unchecked(content: Content, dictionaries: DictionariesById) -> Self {
        Self {
            content,
            dictionaries,
        }
    }

    pub(crate) fn num_rows(&self) -> usize {
        self.content.header.num_rows
    }

    #[cfg(feature = "kernels")]
    pub(crate) fn content(&self) -> &Content {
        &self.content
    }

    #[cfg(feature = "kernels")]
    pub(crate) fn dictionaries(&self) -> &DictionariesById {
        &self.dictionaries
    }

    /// The array of `field`, whose nodes and buffers begin at `start`. Nothing is checked, and only
    /// buffers that are not aligned for their type are copied. Nulls are counted. For the cost of dictionaries see
    /// [`Dictionary::look_up`](super::dictionary::Dictionary::look_up).
    pub(super) fn array(&self, field: &SchemaField, start: ColumnStart) -> ArrayRef {
        make_array(self.array_data(field, start))
    }

    pub(super) fn array_data(&self, field: &SchemaField, start: ColumnStart) -> ArrayData {
        let Content { header, body } = &self.content;
        match read_column(header, field, start) {
            // SAFETY: `new_unchecked` requires it of its caller.
            Ok(slot) => unsafe { array_data(&slot, field, body, &self.dictionaries) },
            // Unreachable: the header was read before.
            Err(_) => ArrayData::new_null(field.field.data_type(), header.num_rows),
        }
    }
}

/// The array of a slot in `body`.
///
/// # Safety
/// `check_array` has accepted the slot, with these dictionaries and this body.
pub(crate) unsafe fn array_data(
    slot: &ArraySlot,
    field: &SchemaField,
    body: &Buffer,
    dictionaries: &DictionariesById,
) -> ArrayData {
    let data_type = field.field.data_type();
    let mut nulls = None;
    let mut buffers = Vec::with_capacity(slot.buffers.len());
    for (role, range) in &slot.buffers {
        let buffer = body.slice_with_length(range.offset, range.length);
        if *role != BufferRole::Validity {
            buffers.push(exact(buffer, *role, slot.node));
        } else if has_nulls(slot, data_type) {
            let bits = BooleanBuffer::new(buffer, 0, slot.node.num_rows);
            nulls = Some(NullBuffer::new(bits));
        }
    }
    let builder = ArrayDataBuilder::new(data_type.clone())
        .len(slot.node.num_rows)
        .nulls(nulls);
    if let (Some(encoding), [keys]) = (&field.dictionary, buffers.as_slice()) {
        let builder = match dictionaries.get(&encoding.id) {
            Some(dictionary) => dictionary.look_up(builder, keys, &slot.node, data_type),
            None => builder
                .add_buffer(keys.clone())
                .add_child_data(ArrayData::new_empty(&encoding.value_type)),
        };
        // SAFETY: as below.
        return unsafe { build(builder) };
    }
    let children = slot.children.iter().zip(&field.children);
    let children = children
        // SAFETY: the children of an accepted slot are accepted too.
        .map(|(child, field)| unsafe { array_data(child, field, body, dictionaries) })
        .collect();
    // SAFETY: the caller guarantees what the buffers hold.
    unsafe { build(builder.buffers(buffers).child_data(children)) }
}

/// # Safety
/// The data is valid for its type, except for its alignment.
unsafe fn build(builder: ArrayDataBuilder) -> ArrayData {
    // SAFETY: as above; nothing reads the values before they are aligned.
    let mut data = unsafe { builder.build_unchecked() };
    data.align_buffers();
    data
}

/// Whether the slot's validity counts. Before V5, unions had a validity buffer too; it is ignored.
pub(crate) fn has_nulls(slot: &ArraySlot, data_type: &DataType) -> bool {
    slot.node.null_count > 0 && !matches!(data_type, DataType::Union(..))
}

/// Exactly the bytes that the rows need. A typed buffer cannot have padding that is not a whole
/// element. An array of no rows may arrive without its single offset, which arrow-rs requires.
fn exact(buffer: Buffer, role: BufferRole, node: FieldNode) -> Buffer {
    match role {
        BufferRole::Offsets(width) if node.num_rows == 0 => {
            Buffer::from_vec(vec![0u8; width as usize])
        }
        BufferRole::Offsets(_) | BufferRole::Fixed(_) => {
            buffer.slice_with_length(0, role.least_bytes(node) as usize)
        }
        BufferRole::Validity | BufferRole::Bits | BufferRole::Values => buffer,
    }
}
