//! Reads the integers of a buffer, and checks offsets.

use super::problem::Checked;

/// A little-endian integer.
pub(super) trait Integer: Copy + Ord + Default {
    const WIDTH: usize;
    fn read(bytes: &[u8]) -> Self;
    /// The integers of a buffer.
    fn all(bytes: &[u8]) -> impl ExactSizeIterator<Item = Self>;
    /// The value as an unsigned number; `None` if it is negative.
    fn unsigned(self) -> Option<u64>;
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl Integer for $type {
            const WIDTH: usize = size_of::<$type>();
            fn read(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0, |bytes| Self::from_le_bytes(*bytes))
            }
            fn all(bytes: &[u8]) -> impl ExactSizeIterator<Item = Self> {
                bytes.as_chunks().0.iter().map(|bytes| Self::from_le_bytes(*bytes))
            }
            #[allow(clippy::useless_conversion)]
            fn unsigned(self) -> Option<u64> {
                u64::try_from(self).ok()
            }
        }
    )*};
}
integer!(i16, i32, i64, u8, u16, u32, u64);

/// The integers of a buffer.
pub(super) fn integers<T: Integer>(bytes: &[u8]) -> impl ExactSizeIterator<Item = T> {
    T::all(bytes)
}

/// Checks that offsets ascend from 0 or more to at most `limit`; returns the first and the last.
#[inline(never)]
pub(super) fn check_offsets<T: Integer>(bytes: &[u8], limit: usize) -> Checked<(usize, usize)> {
    if bytes.is_empty() {
        return Ok((0, 0));
    }
    let next = &bytes[T::WIDTH..];
    let pairs = || integers::<T>(bytes).zip(integers::<T>(next));
    // Without a branch, so that the compiler can compare several at once.
    if !pairs().fold(true, |ascend, (start, end)| ascend & (start <= end)) {
        let row = pairs().position(|(start, end)| start > end).unwrap_or(0);
        return Err(format!("the offsets descend after row {row}"));
    }
    let bound = |offset: T| {
        usize::try_from(offset.unsigned()?)
            .ok()
            .filter(|&offset| offset <= limit)
    };
    let first = bound(T::read(bytes));
    let last = bound(T::read(&bytes[bytes.len() - T::WIDTH..]));
    first
        .zip(last)
        .ok_or_else(|| format!("an offset lies outside 0 to {limit}"))
}
