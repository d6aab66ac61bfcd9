//! Gathers rows of several arrays of one type into one array.
//!
//! The arrays are read where they lie in their messages. A row is copied once, whatever refers to it, so
//! the result is at most as large as all arrays together. Every allocation that grows with the rows can
//! fail.

mod dictionary;
mod nested;

use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, bit_mask};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{DataType, UnionMode};

use super::dictionary::DictionariesById;
use crate::wire::{ArraySlot, BufferRole, DecodeError, DecodeErrorKind, SchemaField};
pub(super) use dictionary::look_up;
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
    pub(super) fn of_row(source: usize, row: usize) -> Self {
        let (start, end) = (row, row + 1);
        Self { source, start, end }
    }

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

/// Zeros, aligned for every type.
///
/// # Errors
/// As [`with_room`].
pub(super) fn zeroed(num_bytes: usize) -> Result<MutableBuffer> {
    let num_words = num_bytes.div_ceil(size_of::<i128>());
    let mut words = with_room(num_words)?;
    words.resize(num_words, 0i128);
    let mut buffer = MutableBuffer::from(words);
    buffer.truncate(num_bytes);
    Ok(buffer)
}

/// Little-endian integers of `width` bytes.
///
/// # Errors
/// As [`with_room`]; `OverLimit` if a number does not fit a signed integer of 32 bits or more.
pub(super) fn integers(numbers: &[usize], width: usize) -> Result<Buffer> {
    let mut buffer = zeroed(numbers.len() * width)?;
    for (bytes, &number) in buffer.as_slice_mut().chunks_exact_mut(width).zip(numbers) {
        if width == 4 && number > i32::MAX as usize {
            return Err(too_large());
        }
        bytes.copy_from_slice(&(number as u64).to_le_bytes()[..width]);
    }
    Ok(buffer.into())
}

/// Sorts ranges and drops those that occur again.
pub(super) fn sort(ranges: &mut Vec<RowRange>) {
    ranges.sort_unstable();
    ranges.dedup();
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

/// The number of rows of `ranges`. Rows can take no bytes, so memory does not bound their number.
///
/// # Errors
/// `OverLimit` if an array cannot hold them.
fn num_rows(ranges: &[RowRange]) -> Result<usize> {
    let num_rows: u64 = ranges.iter().map(|range| range.len() as u64).sum();
    match i32::try_from(num_rows) {
        Ok(_) => Ok(num_rows as usize),
        Err(_) => Err(too_large()),
    }
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
            .filter(|_| self.slot.has_nulls(data_type))?;
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
        num_rows: num_rows(ranges)?,
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
            DataType::Utf8 | DataType::Binary => self.texts(builder, 4)?,
            DataType::LargeUtf8 | DataType::LargeBinary => self.texts(builder, 8)?,
            DataType::Utf8View | DataType::BinaryView => self.views(builder)?,
            DataType::List(_) | DataType::Map(..) => self.lists(builder, 4)?,
            DataType::LargeList(_) => self.lists(builder, 8)?,
            DataType::ListView(_) => self.list_views(builder, 4)?,
            DataType::LargeListView(_) => self.list_views(builder, 8)?,
            DataType::FixedSizeList(_, size) => self.fixed_size_lists(builder, *size)?,
            DataType::Struct(_) => self.each_child(builder)?,
            DataType::Union(_, UnionMode::Sparse) => {
                self.each_child(builder.add_buffer(self.fixed(1)?))?
            }
            DataType::Union(..) => self.dense_union(builder)?,
            DataType::RunEndEncoded(ends, _) => self.runs(builder, ends)?,
            DataType::FixedSizeBinary(width) => {
                builder.add_buffer(self.fixed(width.unsigned_abs() as usize)?)
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
        let mut buffer = zeroed(self.num_rows.div_ceil(8))?;
        let bits = buffer.as_slice_mut();
        let mut row = 0;
        for range in self.ranges {
            match sources[range.source] {
                Some(from) => {
                    bit_mask::set_bits(bits, from, row, range.start, range.len());
                }
                None => (row..row + range.len()).for_each(|row| bits[row / 8] |= 1 << (row % 8)),
            }
            row += range.len();
        }
        Ok(buffer.into())
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

    /// The parts `ranges` of a buffer of each source, whose unit is `width` bytes.
    fn copied(&self, index: usize, ranges: &[RowRange], width: usize) -> Result<MutableBuffer> {
        let buffers = self.buffers(index);
        let mut copied = zeroed(num_rows(ranges)?.checked_mul(width).ok_or_else(too_large)?)?;
        let mut left = copied.as_slice_mut();
        for range in ranges {
            let from = &buffers[range.source][range.start * width..range.end * width];
            let (part, rest) = left.split_at_mut(from.len());
            part.copy_from_slice(from);
            left = rest;
        }
        Ok(copied)
    }

    /// Values of `width` bytes.
    fn fixed(&self, width: usize) -> Result<Buffer> {
        self.copied(0, self.ranges, width).map(Buffer::from)
    }

    /// Offsets of the rows, and the ranges of values to which they refer.
    fn offsets(&self, width: usize) -> Result<(Buffer, Vec<RowRange>)> {
        let buffers = self.buffers(0);
        let data_type = self.field.field.data_type();
        let sources = self.sources.iter();
        let validities: Vec<_> = sources.map(|source| source.validity(data_type)).collect();
        let mut offsets = with_room(self.num_rows + 1)?;
        offsets.push(0);
        let (mut ranges, mut end_offset) = (Vec::new(), 0);
        for (source, row) in self.rows() {
            let is_null = validities[source].is_some_and(|bits| !bit(bits, row));
            let start = number(&buffers[source], width, row);
            let end = number(&buffers[source], width, row + 1);
            if !is_null {
                push_range(&mut ranges, RowRange { source, start, end })?;
                end_offset += end - start;
            }
            offsets.push(end_offset);
        }
        Ok((integers(&offsets, width)?, ranges))
    }

    fn texts(&self, builder: ArrayDataBuilder, width: usize) -> Result<ArrayDataBuilder> {
        let (offsets, ranges) = self.offsets(width)?;
        let bytes = self.copied(1, &ranges, 1)?;
        Ok(builder.add_buffer(offsets).add_buffer(bytes.into()))
    }

    /// Views refer to the data buffers of all sources, which are not copied.
    fn views(&self, builder: ArrayDataBuilder) -> Result<ArrayDataBuilder> {
        let (mut data, mut first_buffers) = (Vec::new(), Vec::new());
        for source in self.sources {
            first_buffers.push(data.len() as u32);
            let count = source.slot.buffers.len() - 2;
            data.extend((1..=count).map(|index| source.buffer(index)));
        }
        let mut views = self.copied(0, self.ranges, 16)?;
        for ((source, _), view) in self.rows().zip(views.as_chunks_mut::<16>().0) {
            if number(view, 4, 0) > arrow_data::MAX_INLINE_VIEW_LEN as usize {
                let index = number(view, 4, 2) as u32 + first_buffers[source];
                view[8..12].copy_from_slice(&index.to_le_bytes());
            }
        }
        Ok(builder.add_buffer(views.into()).add_buffers(data))
    }
}
