//! Gathers rows of several arrays of one type into one array.
//!
//! The arrays are read where they lie in their messages. A row is copied once, whatever refers to it, so
//! the result is at most as large as all arrays together. Every allocation that grows with the rows can
//! fail.

mod nested;

use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, bit_mask, i256};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{DataType, UnionMode};

use super::batch::has_nulls;
use super::dictionary::DictionariesById;
use crate::wire::{ArraySlot, BufferRole, DecodeError, DecodeErrorKind, SchemaField};
pub(super) use nested::retyped;

type Result<T> = std::result::Result<T, DecodeError>;

/// An array that has passed `check_array`, in the body of its message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) slot: &'a ArraySlot,
    pub(super) body: &'a Buffer,
    /// The dictionaries to which its keys refer.
    pub(super) dictionaries: &'a DictionariesById,
}

/// Rows `[start, end)` of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowRange {
    /// The index of the source.
    pub(super) source: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl RowRange {
    fn len(&self) -> usize {
        self.end - self.start
    }
}

/// An empty vector with capacity for `len` items.
///
/// # Errors
/// `MemoryBudgetExceeded` where an allocation would abort.
pub(super) fn with_room<T>(len: usize) -> Result<Vec<T>> {
    let mut items = Vec::new();
    items.try_reserve_exact(len).map_err(|_| no_memory())?;
    Ok(items)
}

/// Appends an item; the capacity doubles when it is used up.
fn push<T>(items: &mut Vec<T>, item: T) -> Result<()> {
    items.try_reserve(1).map_err(|_| no_memory())?;
    items.push(item);
    Ok(())
}

fn no_memory() -> DecodeError {
    let message = "no memory for the values of a dictionary";
    DecodeError::new(DecodeErrorKind::MemoryBudgetExceeded, message)
}

fn too_large() -> DecodeError {
    let message = "the values of a dictionary are more than one array can hold";
    DecodeError::new(DecodeErrorKind::OverLimit, message)
}

/// Appends a range, or extends the last one if the rows follow it.
pub(super) fn push_range(ranges: &mut Vec<RowRange>, range: RowRange) -> Result<()> {
    match ranges.last_mut() {
        Some(last) if last.source == range.source && last.end == range.start => {
            last.end = range.end;
        }
        _ if range.len() > 0 => push(ranges, range)?,
        _ => {}
    }
    Ok(())
}

fn num_rows(ranges: &[RowRange]) -> usize {
    ranges.iter().map(RowRange::len).sum()
}

impl<'a> Source<'a> {
    /// The `index`th buffer after the validity buffer.
    fn buffer(&self, index: usize) -> Buffer {
        let mut buffers = self.slot.buffers.iter();
        let mut left = index;
        let range = buffers.find_map(|(role, range)| match role {
            BufferRole::Validity => None,
            _ if left == 0 => Some(range),
            _ => {
                left -= 1;
                None
            }
        });
        range.map_or_else(Buffer::default, |range| {
            self.body.slice_with_length(range.offset, range.length)
        })
    }

    fn child(&self, index: usize) -> Self {
        let slot = &self.slot.children[index];
        Self { slot, ..*self }
    }

    /// The validity bitmap; `None` if the array has no nulls.
    fn validity(&self, data_type: &DataType) -> Option<&'a [u8]> {
        let (_, range) = self
            .slot
            .buffers
            .iter()
            .find(|(role, _)| *role == BufferRole::Validity)
            .filter(|_| has_nulls(self.slot, data_type))?;
        Some(&self.body.as_slice()[range.offset..range.offset + range.length])
    }
}

/// The unsigned number of `width` bytes at `index`.
fn number(bytes: &[u8], width: usize, index: usize) -> usize {
    let mut wide = [0; 8];
    wide[..width].copy_from_slice(&bytes[index * width..][..width]);
    // Checked numbers fit.
    usize::try_from(u64::from_le_bytes(wide)).unwrap_or(usize::MAX)
}

fn bit(bits: &[u8], index: usize) -> bool {
    bits[index / 8] >> (index % 8) & 1 == 1
}

/// The rows of `ranges`, which are in ascending order and do not overlap.
///
/// # Errors
/// `MemoryBudgetExceeded`; `OverLimit` if the values exceed what an array can hold.
pub(super) fn gather(
    field: &SchemaField,
    sources: &[Source],
    ranges: &[RowRange],
) -> Result<ArrayData> {
    Gather {
        field,
        sources,
        ranges,
        num_rows: num_rows(ranges),
    }
    .array()
}

/// One array to gather.
struct Gather<'a> {
    field: &'a SchemaField,
    sources: &'a [Source<'a>],
    ranges: &'a [RowRange],
    num_rows: usize,
}

impl Gather<'_> {
    fn array(&self) -> Result<ArrayData> {
        let data_type = self.field.field.data_type();
        let builder = ArrayDataBuilder::new(data_type.clone())
            .len(self.num_rows)
            .nulls(self.nulls(data_type)?);
        let builder = match data_type {
            DataType::Null => builder,
            DataType::Boolean => {
                let buffers: Vec<_> = self.buffers(0);
                let bits = buffers.iter().map(|bits| Some(bits.as_slice()));
                builder.add_buffer(self.bits(&bits.collect::<Vec<_>>())?)
            }
            DataType::Dictionary(key, _) => self.dictionary(builder, key)?,
            DataType::Utf8 | DataType::Binary => self.texts::<i32>(builder)?,
            DataType::LargeUtf8 | DataType::LargeBinary => self.texts::<i64>(builder)?,
            DataType::Utf8View | DataType::BinaryView => self.views(builder)?,
            DataType::List(_) | DataType::Map(..) => self.lists::<i32>(builder)?,
            DataType::LargeList(_) => self.lists::<i64>(builder)?,
            DataType::ListView(_) => self.list_views::<i32>(builder)?,
            DataType::LargeListView(_) => self.list_views::<i64>(builder)?,
            DataType::FixedSizeList(_, size) => self.fixed_size_lists(builder, *size)?,
            DataType::Struct(_) => self.each_child(builder)?,
            DataType::Union(_, UnionMode::Sparse) => {
                self.each_child(builder.add_buffer(self.fixed(1)?))?
            }
            DataType::Union(..) => self.dense_union(builder)?,
            DataType::RunEndEncoded(ends, _) => self.runs(builder, ends)?,
            DataType::FixedSizeBinary(width) => {
                builder.add_buffer(self.fixed_bytes(width.unsigned_abs() as usize)?)
            }
            other => builder.add_buffer(self.fixed(other.primitive_width().unwrap_or(8))?),
        };
        // SAFETY: the sources are valid, and every number that refers to a row, a buffer or a child was
        // written anew for the rows that were copied.
        Ok(unsafe { builder.build_unchecked() })
    }

    /// The `index`th buffer of each source.
    fn buffers(&self, index: usize) -> Vec<Buffer> {
        let sources = self.sources.iter();
        sources.map(|source| source.buffer(index)).collect()
    }

    /// The rows with the index of their source.
    fn rows(&self) -> impl Iterator<Item = (usize, usize)> {
        let ranges = self.ranges.iter();
        ranges.flat_map(|range| (range.start..range.end).map(|row| (range.source, row)))
    }

    /// Bits of the rows; `None` means a source with all bits set.
    fn bits(&self, sources: &[Option<&[u8]>]) -> Result<Buffer> {
        let mut bits = with_room(self.num_rows.div_ceil(8))?;
        bits.resize(self.num_rows.div_ceil(8), 0u8);
        let mut row = 0;
        for range in self.ranges {
            match sources[range.source] {
                Some(from) => {
                    bit_mask::set_bits(&mut bits, from, row, range.start, range.len());
                }
                None => (row..row + range.len()).for_each(|row| bits[row / 8] |= 1 << (row % 8)),
            }
            row += range.len();
        }
        Ok(Buffer::from_vec(bits))
    }

    fn nulls(&self, data_type: &DataType) -> Result<Option<NullBuffer>> {
        let validities = self.sources.iter().map(|source| source.validity(data_type));
        let validities: Vec<_> = validities.collect();
        if validities.iter().all(Option::is_none) {
            return Ok(None);
        }
        let bits = BooleanBuffer::new(self.bits(&validities)?, 0, self.num_rows);
        Ok(Some(NullBuffer::new(bits)))
    }

    fn fixed_bytes(&self, width: usize) -> Result<Buffer> {
        let buffers = self.buffers(0);
        let mut bytes = with_room(self.num_rows.saturating_mul(width))?;
        for range in self.ranges {
            let from = &buffers[range.source];
            bytes.extend_from_slice(&from[range.start * width..range.end * width]);
        }
        Ok(Buffer::from_vec(bytes))
    }

    /// Values of `width` bytes, aligned.
    fn fixed(&self, width: usize) -> Result<Buffer> {
        match width {
            1 => self.fixed_bytes(1),
            2 => self.values(u16::from_le_bytes),
            4 => self.values(u32::from_le_bytes),
            8 => self.values(u64::from_le_bytes),
            16 => self.values(i128::from_le_bytes),
            _ => self.values(i256::from_le_bytes),
        }
    }

    fn values<T: ArrowNativeType, const WIDTH: usize>(
        &self,
        read: fn([u8; WIDTH]) -> T,
    ) -> Result<Buffer> {
        let buffers = self.buffers(0);
        let mut values = with_room(self.num_rows)?;
        for range in self.ranges {
            let values_of_source = buffers[range.source].as_chunks().0;
            let copied = values_of_source[range.start..range.end].iter();
            values.extend(copied.map(|bytes| read(*bytes)));
        }
        Ok(Buffer::from_vec(values))
    }

    /// Offsets of the rows, and the ranges of values to which they refer.
    fn offsets<O: ArrowNativeType>(
        &self,
        data_type: &DataType,
    ) -> Result<(Buffer, Vec<RowRange>, usize)> {
        let buffers = self.buffers(0);
        let width = size_of::<O>();
        let validities: Vec<_> = self
            .sources
            .iter()
            .map(|source| source.validity(data_type))
            .collect();
        let mut offsets = with_room(self.num_rows + 1)?;
        offsets.push(O::usize_as(0));
        let (mut ranges, mut end_offset) = (Vec::new(), 0);
        for (source, row) in self.rows() {
            let is_null = validities[source].is_some_and(|bits| !bit(bits, row));
            let start = number(&buffers[source], width, row);
            let end = number(&buffers[source], width, row + 1);
            if !is_null {
                push_range(&mut ranges, RowRange { source, start, end })?;
                end_offset += end - start;
            }
            offsets.push(O::from_usize(end_offset).ok_or_else(too_large)?);
        }
        Ok((Buffer::from_vec(offsets), ranges, end_offset))
    }

    fn texts<O: ArrowNativeType>(&self, builder: ArrayDataBuilder) -> Result<ArrayDataBuilder> {
        let (offsets, ranges, num_bytes) = self.offsets::<O>(self.field.field.data_type())?;
        let buffers = self.buffers(1);
        let mut bytes = with_room(num_bytes)?;
        for range in ranges {
            bytes.extend_from_slice(&buffers[range.source][range.start..range.end]);
        }
        Ok(builder
            .add_buffer(offsets)
            .add_buffer(Buffer::from_vec(bytes)))
    }

    /// Views refer to the data buffers of all sources, which are not copied.
    fn views(&self, builder: ArrayDataBuilder) -> Result<ArrayDataBuilder> {
        let (mut data, mut first_buffers) = (Vec::new(), Vec::new());
        for source in self.sources {
            first_buffers.push(data.len() as u32);
            let count = source.slot.buffers.len() - 2;
            data.extend((1..=count).map(|index| source.buffer(index)));
        }
        let buffers = self.buffers(0);
        let mut views = with_room(self.num_rows)?;
        for (source, row) in self.rows() {
            let mut view = buffers[source].as_chunks::<16>().0[row];
            if number(&view, 4, 0) > arrow_data::MAX_INLINE_VIEW_LEN as usize {
                let index = number(&view, 4, 2) as u32 + first_buffers[source];
                view[8..12].copy_from_slice(&index.to_le_bytes());
            }
            views.push(i128::from_le_bytes(view));
        }
        Ok(builder
            .add_buffer(Buffer::from_vec(views))
            .add_buffers(data))
    }
}
