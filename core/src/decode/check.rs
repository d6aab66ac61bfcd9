//! Checks the contents of an array's buffers once, when they arrive. Arrays are later built from them
//! without further checks. Whatever passes here passes arrow-rs's `validate_full`.
//!
//! Buffer extents are already checked by [`crate::wire::read_layout`]. Fixed-width values need no
//! check.
//!
//! The checks of each type are functions of their own (`inline(never)`): this code runs for every column of every batch,
//! so browsers soon compile it well, and that takes them long for a large function.

use arrow_schema::{DataType, Field, UnionFields, UnionMode};

use super::integers::{Integer, check_offsets, integers};
use super::problem::{Checked, not_valid};
use super::text::{check_binary, check_text, check_views};
use crate::table::DictionariesById;
use crate::wire::{ArraySlot, BufferRole, DecodeError, SchemaField};

/// Checks the values of `field`, whose buffers lie in `body`.
///
/// # Errors
/// `InvalidData`.
pub(super) fn check_array(
    slot: &ArraySlot,
    field: &SchemaField,
    body: &[u8],
    dictionaries: &DictionariesById,
) -> Result<(), DecodeError> {
    let check = Check { body, dictionaries };
    check
        .array(slot, field)
        .map_err(|problem| not_valid(field, &problem))
}

/// The `index`th bit.
fn bit(bits: &[u8], index: usize) -> bool {
    bits[index / 8] >> (index % 8) & 1 == 1
}

struct Check<'a> {
    body: &'a [u8],
    dictionaries: &'a DictionariesById,
}

impl<'a> Check<'a> {
    /// The `index`th buffer after the validity buffer, cut to the length that its rows need.
    fn buffer(&self, slot: &ArraySlot, index: usize) -> &'a [u8] {
        let mut buffers = slot
            .buffers
            .iter()
            .filter(|(role, _)| *role != BufferRole::Validity);
        let Some((role, range)) = buffers.nth(index) else {
            return &[];
        };
        let length = match role {
            BufferRole::Offsets(_) | BufferRole::Fixed(_) => role.least_bytes(slot.node) as usize,
            BufferRole::Validity | BufferRole::Bits | BufferRole::Values => range.length,
        };
        &self.body[range.offset..range.offset + length]
    }

    /// The validity bitmap, one bit per row; `None` if the array has no nulls.
    fn validity(&self, slot: &ArraySlot, data_type: &DataType) -> Option<&'a [u8]> {
        let (_, range) = slot
            .buffers
            .iter()
            .find(|(role, _)| *role == BufferRole::Validity)
            .filter(|_| slot.has_nulls(data_type))?;
        Some(&self.body[range.offset..range.offset + range.length])
    }

    fn array(&self, slot: &ArraySlot, field: &SchemaField) -> Checked {
        let data_type = field.field.data_type();
        let has_children =
            data_type.is_nested() || matches!(data_type, DataType::RunEndEncoded(..));
        if !slot.children.is_empty() && !has_children {
            return Err(format!("arrays of {data_type} cannot have children"));
        }
        let first = || self.buffer(slot, 0);
        let second = || self.buffer(slot, 1);
        let child_rows = slot.children.first().map_or(0, |child| child.node.num_rows);
        match data_type {
            DataType::Utf8 => check_text::<i32>(first(), second())?,
            DataType::LargeUtf8 => check_text::<i64>(first(), second())?,
            DataType::Binary => check_binary::<i32>(first(), second())?,
            DataType::LargeBinary => check_binary::<i64>(first(), second())?,
            DataType::Utf8View | DataType::BinaryView => {
                let num_buffers = slot.buffers.len() - 2;
                let data: Vec<_> = (1..=num_buffers)
                    .map(|index| self.buffer(slot, index))
                    .collect();
                check_views(first(), &data, *data_type == DataType::Utf8View)?;
            }
            DataType::List(child) => {
                check_offsets::<i32>(first(), child_rows)?;
                self.check_nulls(slot, field, child, 0, None)?;
            }
            DataType::LargeList(child) => {
                check_offsets::<i64>(first(), child_rows)?;
                self.check_nulls(slot, field, child, 0, None)?;
            }
            DataType::Map(entries, _) => {
                check_map(entries)?;
                check_offsets::<i32>(first(), child_rows)?;
                self.check_nulls(slot, field, entries, 0, None)?;
            }
            DataType::ListView(_) => check_sized::<i32>(first(), second(), child_rows)?,
            DataType::LargeListView(_) => check_sized::<i64>(first(), second(), child_rows)?,
            DataType::FixedSizeList(child, size) => {
                self.check_nulls(slot, field, child, 0, Some(size.unsigned_abs() as usize))?;
            }
            DataType::Struct(fields) => {
                for (index, child) in fields.iter().enumerate() {
                    self.check_nulls(slot, field, child, index, Some(1))?;
                }
            }
            DataType::Union(fields, mode) => check_union(slot, fields, *mode, first(), second())?,
            DataType::RunEndEncoded(ends, _) => self.check_runs(slot, ends)?,
            DataType::Dictionary(key, _) => self.check_keys(slot, field, key)?,
            _ => {}
        }
        let children = slot.children.iter().zip(&field.children);
        for (child, field) in children {
            self.array(child, field)
                .map_err(|problem| format!("\"{}\": {problem}", field.field.name()))?;
        }
        Ok(())
    }

    /// Refuses a null in a non-nullable child, unless its parent is null in the same row. Each row of
    /// the parent has `group` rows of the child. With `group` `None`, nulls of the parent are ignored.
    #[inline(never)]
    fn check_nulls(
        &self,
        slot: &ArraySlot,
        field: &SchemaField,
        child: &Field,
        index: usize,
        group: Option<usize>,
    ) -> Checked {
        let child_slot = &slot.children[index];
        if child.is_nullable() {
            return Ok(());
        }
        let Some(bits) = self.validity(child_slot, child.data_type()) else {
            return Ok(());
        };
        let (num_rows, parent) = match group {
            None => (child_slot.node.num_rows, None),
            Some(group) => (
                slot.node.num_rows * group,
                self.validity(slot, field.field.data_type()),
            ),
        };
        let is_excused =
            |row: usize| parent.is_some_and(|parent| !bit(parent, row / group.unwrap_or(1).max(1)));
        match (0..num_rows).find(|&row| !bit(bits, row) && !is_excused(row)) {
            Some(row) => Err(format!(
                "\"{}\" is null at row {row}, but is not nullable",
                child.name()
            )),
            None => Ok(()),
        }
    }

    #[inline(never)]
    fn check_keys(&self, slot: &ArraySlot, field: &SchemaField, key: &DataType) -> Checked {
        let Some(encoding) = &field.dictionary else {
            return Err("it has no dictionary id".to_owned());
        };
        let num_values = match self.dictionaries.get(&encoding.id) {
            Some(dictionary) => {
                let (wanted, found) = (&encoding.value_type, dictionary.value_type());
                if wanted != found {
                    let id = encoding.id;
                    return Err(format!(
                        "its dictionary {id} holds {found}; expected {wanted}"
                    ));
                }
                dictionary.len() as u64
            }
            // Spec: a dictionary may be missing where no value refers to it.
            None if slot.node.null_count == slot.node.num_rows => 0,
            None => return Err(format!("its dictionary {} is missing", encoding.id)),
        };
        let keys = self.buffer(slot, 0);
        let validity = self.validity(slot, field.field.data_type());
        // Keys are read as unsigned, so that a negative key exceeds every valid positive key.
        match key {
            DataType::Int8 => check_keys::<u8>(keys, validity, num_values.min(1 << 7)),
            DataType::Int16 => check_keys::<u16>(keys, validity, num_values.min(1 << 15)),
            DataType::Int32 => check_keys::<u32>(keys, validity, num_values.min(1 << 31)),
            DataType::UInt8 => check_keys::<u8>(keys, validity, num_values),
            DataType::UInt16 => check_keys::<u16>(keys, validity, num_values),
            DataType::UInt32 => check_keys::<u32>(keys, validity, num_values),
            _ => check_keys::<u64>(keys, validity, num_values),
        }
    }

    #[inline(never)]
    fn check_runs(&self, slot: &ArraySlot, ends: &Field) -> Checked {
        let [ends_slot, values] = slot.children.as_slice() else {
            return Err("its children are not run ends and values".to_owned());
        };
        if ends.is_nullable() || ends_slot.node.null_count > 0 {
            return Err("its run ends are nullable".to_owned());
        }
        let (num_runs, num_values) = (ends_slot.node.num_rows, values.node.num_rows);
        if num_runs != num_values {
            return Err(format!(
                "it has {num_runs} run ends, but {num_values} values"
            ));
        }
        let bytes = self.buffer(ends_slot, 0);
        match ends.data_type() {
            DataType::Int16 => check_run_ends::<i16>(bytes, slot.node.num_rows),
            DataType::Int32 => check_run_ends::<i32>(bytes, slot.node.num_rows),
            _ => check_run_ends::<i64>(bytes, slot.node.num_rows),
        }
    }
}

#[inline(never)]
fn check_keys<T: Integer>(keys: &[u8], validity: Option<&[u8]>, num_values: u64) -> Checked {
    let is_in = |key: T| key.unsigned().is_some_and(|key| key < num_values);
    let max = integers::<T>(keys).fold(T::default(), T::max);
    if keys.is_empty() || is_in(max) {
        return Ok(());
    }
    // The key of a null may be anything.
    let is_valid = |row| validity.is_none_or(|bits| bit(bits, row));
    match integers::<T>(keys)
        .enumerate()
        .find(|&(row, key)| !is_in(key) && is_valid(row))
    {
        Some((row, _)) => Err(format!(
            "the key at row {row} lies outside its dictionary of {num_values} values"
        )),
        None => Ok(()),
    }
}

#[inline(never)]
fn check_run_ends<T: Integer>(bytes: &[u8], num_rows: usize) -> Checked {
    let mut last = T::default();
    for (run, end) in integers::<T>(bytes).enumerate() {
        if end <= last {
            return Err(format!("run {run} does not end after the previous run"));
        }
        last = end;
    }
    let end = last.unsigned().unwrap_or(0);
    if end < num_rows as u64 {
        return Err(format!(
            "its runs end at row {end}, but it has {num_rows} rows"
        ));
    }
    Ok(())
}

#[inline(never)]
fn check_sized<T: Integer>(offsets: &[u8], sizes: &[u8], limit: usize) -> Checked {
    let rows = integers::<T>(offsets).zip(integers::<T>(sizes));
    for (row, (offset, size)) in rows.enumerate() {
        let end = offset
            .unsigned()
            .zip(size.unsigned())
            .and_then(|(offset, size)| offset.checked_add(size));
        if end.is_none_or(|end| end > limit as u64) {
            return Err(format!("the list at row {row} lies outside 0 to {limit}"));
        }
    }
    Ok(())
}

#[inline(never)]
fn check_map(entries: &Field) -> Checked {
    match entries.data_type() {
        DataType::Struct(fields)
            if !entries.is_nullable() && fields.first().is_some_and(|key| !key.is_nullable()) =>
        {
            Ok(())
        }
        _ => Err("its entries or their keys are nullable".to_owned()),
    }
}

#[inline(never)]
fn check_union(
    slot: &ArraySlot,
    fields: &UnionFields,
    mode: UnionMode,
    type_ids: &[u8],
    offsets: &[u8],
) -> Checked {
    // The number of rows of each child, by type id.
    let mut child_rows = [None; 128];
    for ((id, _), child) in fields.iter().zip(&slot.children) {
        child_rows[usize::from(id.unsigned_abs())] = Some(child.node.num_rows as u64);
    }
    let mut offsets = integers::<i32>(offsets);
    for (row, &id) in type_ids.iter().enumerate() {
        let Some(num_rows) = child_rows.get(usize::from(id)).copied().flatten() else {
            return Err(format!(
                "the type id {id} at row {row} is not one of the union"
            ));
        };
        if mode == UnionMode::Dense {
            let offset = offsets.next().and_then(i32::unsigned);
            if offset.is_none_or(|offset| offset >= num_rows) {
                return Err(format!("the offset at row {row} lies outside its child"));
            }
        }
    }
    Ok(())
}
