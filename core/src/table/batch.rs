//! A batch as it arrived, and the arrays that are built from it.

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::{ArrayData, ArrayDataBuilder, BufferSpec, layout};
use arrow_schema::DataType;

use super::content::Content;
use super::dictionary::DictionariesById;
use super::gather::{look_up, retyped, zeroed};
use crate::check::{ColumnStart, read_column};
use crate::wire::{ArraySlot, BufferRole, DecodeError, FieldNode, SchemaField};

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
    /// [`look_up`].
    ///
    /// # Errors
    /// As that function.
    pub(super) fn array(
        &self,
        field: &SchemaField,
        start: ColumnStart,
    ) -> Result<ArrayRef, DecodeError> {
        self.array_data(field, start).map(make_array)
    }

    pub(super) fn array_data(
        &self,
        field: &SchemaField,
        start: ColumnStart,
    ) -> Result<ArrayData, DecodeError> {
        let Content { header, body, .. } = &self.content;
        let slot = read_column(header, field, start)?;
        // SAFETY: `new_unchecked` requires it of its caller.
        unsafe { array_data(&slot, field, body, &self.dictionaries) }
    }
}

/// The array of a slot in `body`.
///
/// # Errors
/// As [`look_up`].
///
/// # Safety
/// `check_array` has accepted the slot, with these dictionaries and this body.
pub(crate) unsafe fn array_data(
    slot: &ArraySlot,
    field: &SchemaField,
    body: &Buffer,
    dictionaries: &DictionariesById,
) -> Result<ArrayData, DecodeError> {
    let data_type = field.field.data_type();
    let mut nulls = None;
    let specs = layout(data_type).buffers;
    let mut buffers = Vec::with_capacity(slot.buffers.len());
    for (role, range) in &slot.buffers {
        let buffer = body.slice_with_length(range.offset, range.length);
        if *role != BufferRole::Validity {
            let spec = specs.get(buffers.len());
            buffers.push(exact(&buffer, *role, slot.node, spec)?);
        } else if slot.has_nulls(data_type) {
            let bits = BooleanBuffer::new(buffer, 0, slot.node.num_rows);
            nulls = Some(NullBuffer::new(bits));
        }
    }
    let builder = ArrayDataBuilder::new(data_type.clone())
        .len(slot.node.num_rows)
        .nulls(nulls);
    if let (DataType::Dictionary(key_type, _), Some(encoding), [keys]) =
        (data_type, &field.dictionary, buffers.as_slice())
    {
        let builder = match dictionaries.get(&encoding.id) {
            Some(dictionary) => look_up(dictionary, builder, keys, &slot.node, key_type)?,
            None => builder
                .add_buffer(keys.clone())
                .add_child_data(ArrayData::new_empty(&encoding.value_type)),
        };
        // SAFETY: as below.
        return Ok(unsafe { builder.build_unchecked() });
    }
    let children = slot.children.iter().zip(&field.children);
    let children = children
        // SAFETY: the children of an accepted slot are accepted too.
        .map(|(child, field)| unsafe { array_data(child, field, body, dictionaries) })
        .collect::<Result<Vec<_>, _>>()?;
    let data_type = retyped(data_type, &children);
    let builder = builder.data_type(data_type).buffers(buffers);
    // SAFETY: the caller guarantees what the buffers hold.
    Ok(unsafe { builder.child_data(children).build_unchecked() })
}

/// Exactly the bytes that the rows need, aligned as `spec` requires. A typed buffer cannot have padding
/// that is not a whole element. An array of no rows may arrive without its single offset, which arrow-rs
/// requires.
fn exact(
    buffer: &Buffer,
    role: BufferRole,
    node: FieldNode,
    spec: Option<&BufferSpec>,
) -> Result<Buffer, DecodeError> {
    let num_bytes = match role {
        BufferRole::Offsets(width) if node.num_rows == 0 => {
            return Ok(Buffer::from_vec(vec![0i64]).slice_with_length(0, width as usize));
        }
        BufferRole::Offsets(_) | BufferRole::Fixed(_) => role.least_bytes(node) as usize,
        BufferRole::Validity | BufferRole::Bits | BufferRole::Values => buffer.len(),
    };
    let buffer = buffer.slice_with_length(0, num_bytes);
    match spec {
        Some(BufferSpec::FixedWidth { alignment, .. })
            if !buffer.as_ptr().addr().is_multiple_of(*alignment) =>
        {
            let mut aligned = zeroed(num_bytes)?;
            aligned.as_slice_mut().copy_from_slice(&buffer);
            Ok(aligned.into())
        }
        _ => Ok(buffer),
    }
}
