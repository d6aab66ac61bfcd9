//! Makes the body of a message what arrays are built from: decompressed, within the memory budget, and
//! with numbers that fit this machine.

use arrow_data::{BufferSpec, layout};
use arrow_schema::DataType;

use crate::check::compression::decompressed_layout;
use crate::check::integers::{Integer, integers};
use crate::table::Content;
use crate::wire::{
    AlignedBody, Arena, ArraySlot, BatchHeader, BufferRole, DecodeError, Limits, SchemaField,
    decompress_body, read_layout,
};

/// The memory that a message takes in addition to its body: its decompressed buffers, and copies of
/// buffers that are not aligned for their type.
///
/// # Errors
/// What is wrong with the header or a compressed buffer.
pub(super) fn additional_bytes(
    header: &BatchHeader,
    body: &[u8],
    fields: &[SchemaField],
    limits: &Limits,
) -> Result<u64, DecodeError> {
    let slots = read_layout(header, fields)?;
    if header.compression.is_some() {
        let (_, end) = decompressed_layout(header, body, limits.max_decompressed_bytes)?;
        return Ok(end);
    }
    Ok(unaligned_bytes(&slots, fields))
}

/// The content of a message of `fields`, and where its arrays lie in it.
///
/// # Errors
/// What is wrong with the header or a compressed buffer; `MemoryBudgetExceeded` if the allocator
/// refuses.
pub(super) fn content(
    header: BatchHeader,
    body: AlignedBody,
    fields: &[SchemaField],
    arena: &mut Arena,
    limits: &Limits,
) -> Result<(Content, Vec<ArraySlot>), DecodeError> {
    let mut slots = read_layout(&header, fields)?;
    let (header, mut body) = match header.compression {
        None => (header, body),
        Some(codec) => {
            let cap_bytes = limits.max_decompressed_bytes;
            let (header, body) = decompress_body(header, &body, codec, arena, cap_bytes)?;
            slots = read_layout(&header, fields)?;
            (header, body)
        }
    };
    cap_run_ends(&slots, fields, &mut body);
    let copies = arena.count(unaligned_bytes(&slots, fields));
    let body = body.into_buffer();
    let content = Content {
        header,
        body,
        copies,
    };
    Ok((content, slots))
}

/// Bytes of the buffers that have to be copied, because they are not aligned for their type.
fn unaligned_bytes(slots: &[ArraySlot], fields: &[SchemaField]) -> u64 {
    let mut num_bytes = 0;
    for (slot, field) in slots.iter().zip(fields) {
        let specs = layout(field.field.data_type()).buffers;
        let buffers = slot.buffers.iter();
        let buffers = buffers.filter(|(role, _)| *role != BufferRole::Validity);
        for ((role, range), spec) in buffers.zip(specs) {
            // A body begins at a multiple of 64.
            if let BufferSpec::FixedWidth { alignment, .. } = spec
                && !range.offset.is_multiple_of(alignment)
            {
                num_bytes += role.least_bytes(slot.node);
            }
        }
        num_bytes += unaligned_bytes(&slot.children, &field.children);
    }
    num_bytes
}

/// Lowers run ends of 64 bits behind the last row, so that every run end fits the address space of any
/// machine. They still ascend.
fn cap_run_ends(slots: &[ArraySlot], fields: &[SchemaField], body: &mut [u8]) {
    for (slot, field) in slots.iter().zip(fields) {
        let has_long_ends = matches!(
            field.field.data_type(),
            DataType::RunEndEncoded(ends, _) if *ends.data_type() == DataType::Int64
        );
        let ends = slot.children.first().filter(|_| has_long_ends);
        if let Some((BufferRole::Fixed(_), range)) = ends.and_then(|ends| ends.buffers.last()) {
            let num_rows = slot.node.num_rows as i64;
            let bytes = &mut body[range.offset..range.offset + range.length];
            if integers::<i64>(bytes).any(|end| end > i64::from(i32::MAX)) {
                for (run, end) in bytes.as_chunks_mut().0.iter_mut().enumerate() {
                    *end = i64::read(end).min(num_rows + run as i64).to_le_bytes();
                }
            }
        }
        cap_run_ends(&slot.children, &field.children, body);
    }
}
