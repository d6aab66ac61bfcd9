use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::DataType;

use crate::semantics::Pattern;

/// Bytes of text that one sort key holds. The lowest byte of the key states how many of them there are,
/// and is greater if the text goes on.
pub(super) const TEXT_BYTES: usize = 7;
pub(super) const GOES_ON: u64 = TEXT_BYTES as u64 + 1;

/// The values of an array of text or binary, for access in any order.
#[derive(Debug)]
pub(super) struct Texts {
    nulls: Option<NullBuffer>,
    layout: Layout,
}

#[derive(Debug)]
enum Layout {
    Small(ScalarBuffer<i32>, Buffer),
    Large(ScalarBuffer<i64>, Buffer),
    Views(ScalarBuffer<u128>, Vec<Buffer>),
    /// Values of this number of bytes.
    Fixed(usize, Buffer),
}

impl Texts {
    /// The values of an array of type [`Physical::Bytes`](super::key::Physical::Bytes).
    pub(super) fn of(array: &ArrayRef) -> Self {
        let layout = match array.data_type() {
            DataType::Utf8 => {
                let array = array.as_string::<i32>();
                Layout::Small(array.offsets().inner().clone(), array.values().clone())
            }
            DataType::Binary => {
                let array = array.as_binary::<i32>();
                Layout::Small(array.offsets().inner().clone(), array.values().clone())
            }
            DataType::LargeUtf8 => {
                let array = array.as_string::<i64>();
                Layout::Large(array.offsets().inner().clone(), array.values().clone())
            }
            DataType::LargeBinary => {
                let array = array.as_binary::<i64>();
                Layout::Large(array.offsets().inner().clone(), array.values().clone())
            }
            DataType::Utf8View => {
                let array = array.as_string_view();
                Layout::Views(array.views().clone(), array.data_buffers().to_vec())
            }
            DataType::BinaryView => {
                let array = array.as_binary_view();
                Layout::Views(array.views().clone(), array.data_buffers().to_vec())
            }
            _ => {
                let array = array.as_fixed_size_binary();
                let num_bytes = array.value_length() as usize;
                Layout::Fixed(num_bytes, array.values().clone())
            }
        };
        Self {
            nulls: array.nulls().cloned(),
            layout,
        }
    }

    /// The value at `index`; `None` for null.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&[u8]> {
        if self.is_null(index) {
            return None;
        }
        Some(match &self.layout {
            Layout::Small(offsets, values) => {
                &values[offsets[index] as usize..offsets[index + 1] as usize]
            }
            Layout::Large(offsets, values) => {
                &values[offsets[index] as usize..offsets[index + 1] as usize]
            }
            Layout::Views(views, buffers) => {
                let num_bytes = views[index] as u32;
                if num_bytes <= MAX_INLINE_VIEW_LEN {
                    &views.inner().as_slice()[16 * index + 4..][..num_bytes as usize]
                } else {
                    let view = ByteView::from(views[index]);
                    let start = view.offset as usize;
                    &buffers[view.buffer_index as usize][start..start + num_bytes as usize]
                }
            }
            Layout::Fixed(num_bytes, values) => &values[index * num_bytes..][..*num_bytes],
        })
    }

    /// Whether the value at `index` is null.
    #[inline]
    pub(super) fn is_null(&self, index: usize) -> bool {
        self.nulls
            .as_ref()
            .is_some_and(|nulls| nulls.is_null(index))
    }

    /// Where the value at `index` starts in one buffer of all values, which also has those of null. The
    /// number of values is an index, too. `None` if there is no such buffer.
    #[inline]
    pub(super) fn start_of(&self, index: usize) -> Option<usize> {
        match &self.layout {
            Layout::Small(offsets, _) => Some(offsets[index] as usize),
            Layout::Large(offsets, _) => Some(offsets[index] as usize),
            Layout::Views(..) | Layout::Fixed(..) => None,
        }
    }

    /// The bytes of the values `[first, last)`, also of null, if they are in one buffer.
    fn joined(&self, rows: Range<usize>) -> Option<&[u8]> {
        let bytes = self.start_of(rows.start)?..self.start_of(rows.end)?;
        match &self.layout {
            Layout::Small(_, values) | Layout::Large(_, values) => Some(&values[bytes]),
            Layout::Views(..) | Layout::Fixed(..) => None,
        }
    }

    /// How many of `rows` have at most `left_bytes` together, and the first one beyond. Takes their bytes from
    /// `left_bytes`, which is 0 if there is one beyond.
    pub(super) fn num_within(&self, rows: Range<usize>, left_bytes: &mut usize) -> usize {
        let num_rows = rows.len();
        if let (Some(start), Some(end)) = (self.start_of(rows.start), self.start_of(rows.end))
            && *left_bytes > end - start
        {
            *left_bytes -= end - start;
            return num_rows;
        }
        for (at, index) in rows.enumerate() {
            if *left_bytes == 0 {
                return at;
            }
            let num_bytes = self.get(index).map_or(0, <[u8]>::len);
            *left_bytes = left_bytes.saturating_sub(num_bytes);
        }
        num_rows
    }

    /// Visits those of `rows`, which are UTF-8, that contain the pattern. `room` is overwritten.
    pub(super) fn find(
        &self,
        rows: Range<usize>,
        pattern: &Pattern,
        room: &mut Vec<u8>,
        mut visit: impl FnMut(usize),
    ) {
        let joined = self.joined(rows.clone());
        let Some(bytes) = joined.and_then(|bytes| pattern.searchable(bytes, room)) else {
            let mut letters = Vec::new();
            for index in rows {
                let text = self.get(index).map(String::from_utf8_lossy);
                if text.is_some_and(|text| pattern.is_in(&text, &mut letters)) {
                    visit(index);
                }
            }
            return;
        };
        let offset = self.start_of(rows.start).unwrap_or(0);
        let end_of = |index: usize| self.start_of(index + 1).unwrap_or(0) - offset;
        let (mut index, mut start) = (rows.start, 0);
        while let Some(found) = pattern.find_from(bytes, start) {
            // The first text that ends behind the start of what was found.
            let (mut low, mut high) = (index, rows.end);
            while low < high {
                let middle = low.midpoint(high);
                match end_of(middle) <= found.start {
                    true => low = middle + 1,
                    false => high = middle,
                }
            }
            index = low;
            if found.end <= end_of(index) {
                if !self.is_null(index) {
                    visit(index);
                }
                start = end_of(index);
                index += 1;
            } else {
                start = found.start + 1;
            }
        }
    }
}

/// Up to seven bytes from `start` on, and how many there are: a text that ends comes before one that
/// goes on with zeros.
#[inline]
pub(super) fn text_key(bytes: &[u8], start: usize) -> u64 {
    let rest = bytes.get(start..).unwrap_or_default();
    if let Some(first) = rest.first_chunk::<8>() {
        return u64::from_be_bytes(*first) & !0xFF | GOES_ON;
    }
    let mut first = [0; 8];
    first[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(first) | rest.len() as u64
}
