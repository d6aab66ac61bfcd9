//! Builds one column's array from its slot of a batch.
//!
//! The slot's extents were checked as 64-bit numbers before ([`crate::wire::read_layout`]); what the
//! buffers hold is checked here by arrow-rs's full validation.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{DataType, UnionMode};

use super::dictionary::Dictionaries;
use crate::wire::{
    AlignedBody, ArraySlot, BatchHeader, BufferRange, BufferRole, Codec, DecodeError,
    DecodeErrorKind, FieldNode, SchemaField, decompress,
};

/// The body of a message, whose buffers may be compressed.
pub(super) struct Body {
    bytes: Buffer,
    compression: Option<Codec>,
    /// Bytes that may still come out of decompression.
    decompression_cap_bytes: u64,
    decompressed_bytes: u64,
}

impl Body {
    pub(super) fn new(body: AlignedBody, header: &BatchHeader, cap_bytes: u64) -> Self {
        Self {
            bytes: body.into_buffer(),
            compression: header.compression,
            decompression_cap_bytes: cap_bytes,
            decompressed_bytes: 0,
        }
    }

    /// Memory that the arrays of this body hold on to.
    pub(super) fn kept_bytes(&self) -> u64 {
        match self.compression {
            None => self.bytes.len() as u64,
            Some(_) => self.decompressed_bytes,
        }
    }

    fn buffer(&mut self, range: BufferRange) -> Result<Buffer, DecodeError> {
        let stored = self.bytes.slice_with_length(range.offset, range.length);
        let Some(codec) = self.compression else {
            return Ok(stored);
        };
        let plain = decompress(&stored, codec, self.decompression_cap_bytes)?;
        self.decompression_cap_bytes -= plain.len() as u64;
        self.decompressed_bytes += plain.len() as u64;
        let mut aligned = AlignedBody::try_new(plain.len())?;
        aligned.copy_from_slice(&plain);
        Ok(aligned.into_buffer())
    }
}

fn invalid(field: &SchemaField, what: impl std::fmt::Display) -> DecodeError {
    DecodeError::new(
        DecodeErrorKind::InvalidData,
        format!("column \"{}\" is not valid: {what}", field.field.name()),
    )
}

/// The array of `field` in a batch, validated.
pub(super) fn build_array(
    slot: &ArraySlot,
    field: &SchemaField,
    body: &mut Body,
    dictionaries: &Dictionaries,
) -> Result<ArrayData, DecodeError> {
    let data = assemble(slot, field, body, dictionaries)?;
    // Full validation walks all values once; a parent's covers its children.
    data.validate_full()
        .map_err(|error| invalid(field, error))?;
    Ok(data)
}

fn assemble(
    slot: &ArraySlot,
    field: &SchemaField,
    body: &mut Body,
    dictionaries: &Dictionaries,
) -> Result<ArrayData, DecodeError> {
    let data_type = field.field.data_type();
    let mut nulls = None;
    let mut buffers = Vec::with_capacity(slot.buffers.len());
    for (role, range) in &slot.buffers {
        let buffer = body.buffer(*range)?;
        let has_validity = *role == BufferRole::Validity;
        if has_validity && (slot.node.null_count == 0 || matches!(data_type, DataType::Union(..))) {
            continue;
        }
        crate::wire::check_size(*role, slot.node, buffer.len() as u64, field)?;
        if has_validity {
            nulls = Some(NullBuffer::new(BooleanBuffer::new(
                buffer,
                0,
                slot.node.num_rows,
            )));
        } else {
            buffers.push(exact(buffer, *role, slot.node));
        }
    }
    let mut children = slot
        .children
        .iter()
        .zip(&field.children)
        .map(|(child, field)| assemble(child, field, body, dictionaries))
        .collect::<Result<Vec<_>, _>>()?;
    trim_children(data_type, slot.node, &mut children);
    if let Some(dictionary) = &field.dictionary {
        let all_null = slot.node.null_count == slot.node.num_rows;
        children = vec![match dictionaries.get(dictionary.id) {
            Some(values) => values.clone(),
            // Spec: a dictionary may be missing where no value refers to it.
            None if all_null => ArrayData::new_empty(&dictionary.value_type),
            None => {
                return Err(invalid(
                    field,
                    format!("its dictionary {} never came", dictionary.id),
                ));
            }
        }];
    }
    let builder = ArrayDataBuilder::new(data_type.clone())
        .len(slot.node.num_rows)
        .nulls(nulls)
        .buffers(buffers)
        .child_data(children)
        .align_buffers(true);
    // SAFETY: nothing reads the values of this `ArrayData` before `build_array` has validated it.
    let data = unsafe { builder.skip_validation(true) }.build();
    data.map_err(|error| invalid(field, error))
}

/// Exactly the bytes that the rows need: padding that is no whole element would not pass for a typed
/// buffer, and an array of no rows may come without its one offset, which arrow-rs wants.
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

/// Children may be longer than their parent needs; arrow-rs wants them equal.
fn trim_children(data_type: &DataType, node: FieldNode, children: &mut [ArrayData]) {
    let len = match data_type {
        DataType::Struct(_) | DataType::Union(_, UnionMode::Sparse) => node.num_rows,
        DataType::FixedSizeList(_, size) => node.num_rows.saturating_mul(*size as usize),
        _ => return,
    };
    for child in children {
        if child.len() > len {
            *child = child.slice(0, len);
        }
    }
}
