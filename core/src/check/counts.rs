//! Checks what a header counts. The decoder's own arrays are counted anew, but other readers trust the
//! header.

use arrow_buffer::bit_chunk_iterator::UnalignedBitChunk;
use arrow_schema::DataType;

use super::problem::Checked;
use super::{ArraySlot, BufferRole, SchemaField};

/// Checks that an array and its children have as many nulls as their headers state, and that the
/// children of a struct have its number of rows.
pub(super) fn check_counts(slot: &ArraySlot, field: &SchemaField, body: &[u8]) -> Checked {
    let (num_rows, null_count) = (slot.node.num_rows, slot.node.null_count);
    // The validity bitmap may be absent, or too short, if nothing is null.
    let validity = slot.buffers.iter().find(|(role, range)| {
        *role == BufferRole::Validity && range.length >= num_rows.div_ceil(8)
    });
    let num_nulls = match (field.field.data_type(), validity) {
        (DataType::Null, _) => num_rows,
        (_, None) => 0,
        (_, Some((_, range))) => {
            let bits = &body[range.offset..range.offset + range.length];
            num_rows - UnalignedBitChunk::new(bits, 0, num_rows).count_ones()
        }
    };
    if null_count != num_nulls {
        return Err(format!(
            "it has {num_nulls} nulls, but its header states {null_count}"
        ));
    }
    let is_struct = matches!(field.field.data_type(), DataType::Struct(_));
    for (child, field) in slot.children.iter().zip(&field.children) {
        if is_struct && child.node.num_rows != num_rows {
            return Err(format!(
                "\"{}\" has {} rows, but its struct has {num_rows}",
                field.field.name(),
                child.node.num_rows
            ));
        }
        check_counts(child, field, body)?;
    }
    Ok(())
}
