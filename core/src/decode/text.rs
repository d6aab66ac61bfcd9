//! Checks of text and binary values.

use super::integers::{Integer, check_offsets, integers};
use super::problem::Checked;

/// Bytes that are tested at once.
const CHUNK_BYTES: usize = 4096;
/// Bytes of a view. A value of up to `MAX_INLINE_BYTES` is stored in the view itself.
const VIEW_BYTES: usize = 16;
const MAX_INLINE_BYTES: usize = 12;
/// How often overlapping views may read the bytes of a data buffer that is not valid UTF-8 as a whole.
const MAX_OVERLAP: usize = 8;

fn is_ascii(bytes: &[u8]) -> bool {
    // Without a branch inside a chunk, so that the compiler can test many bytes at once.
    bytes
        .chunks(CHUNK_BYTES)
        .all(|chunk| chunk.iter().fold(0, |all, byte| all | byte) < 0x80)
}

fn is_utf8(bytes: &[u8]) -> bool {
    is_ascii(bytes) || simdutf8::basic::from_utf8(bytes).is_ok()
}

/// Whether `index` is a character boundary of valid UTF-8; `index` is at most the length.
fn is_boundary(text: &[u8], index: usize) -> bool {
    text.get(index).is_none_or(|byte| byte & 0xc0 != 0x80)
}

#[inline(never)]
pub(super) fn check_binary<T: Integer>(offsets: &[u8], values: &[u8]) -> Checked {
    check_offsets::<T>(offsets, values.len()).map(drop)
}

#[inline(never)]
pub(super) fn check_text<T: Integer>(offsets: &[u8], values: &[u8]) -> Checked {
    let (first, last) = check_offsets::<T>(offsets, values.len())?;
    let text = &values[..last];
    if is_ascii(&text[first..]) {
        return Ok(());
    }
    let ends = || integers::<T>(offsets).map(|offset| offset.unsigned().unwrap_or(0) as usize);
    let is_text = simdutf8::basic::from_utf8(&text[first..]).is_ok();
    if is_text && ends().all(|end| is_boundary(text, end)) {
        return Ok(());
    }
    let is_bad = |&(start, end): &(usize, usize)| std::str::from_utf8(&text[start..end]).is_err();
    match ends().zip(ends().skip(1)).position(|row| is_bad(&row)) {
        Some(row) => Err(format!("the text at row {row} is not UTF-8")),
        None => Ok(()),
    }
}

/// What is known about one data buffer of views.
struct Data<'a> {
    bytes: &'a [u8],
    is_ascii: bool,
    is_utf8: bool,
    /// Bytes that may still be checked one view at a time.
    left_bytes: usize,
}

impl Data<'_> {
    /// Whether `bytes[start..end]` is UTF-8.
    fn is_text(&mut self, start: usize, end: usize) -> Checked<bool> {
        if self.is_ascii {
            return Ok(true);
        }
        if self.is_utf8 {
            return Ok(is_boundary(self.bytes, start) && is_boundary(self.bytes, end));
        }
        self.left_bytes = self
            .left_bytes
            .checked_sub(end - start)
            .ok_or("too many views overlap in a buffer that is not UTF-8")?;
        Ok(is_utf8(&self.bytes[start..end]))
    }
}

/// Checks views into `data`. If `is_text`, also checks that the values are UTF-8.
#[inline(never)]
pub(super) fn check_views(views: &[u8], data: &[&[u8]], is_text: bool) -> Checked {
    let mut data: Vec<Data> = data
        .iter()
        .map(|&bytes| {
            let is_ascii = is_text && is_ascii(bytes);
            Data {
                bytes,
                is_ascii,
                is_utf8: is_ascii || (is_text && simdutf8::basic::from_utf8(bytes).is_ok()),
                left_bytes: bytes.len().saturating_mul(MAX_OVERLAP),
            }
        })
        .collect();
    for (row, view) in views.chunks_exact(VIEW_BYTES).enumerate() {
        let part = |at: usize| u32::read(&view[at..]) as usize;
        let length = part(0);
        if length <= MAX_INLINE_BYTES {
            let (value, padding) = view[4..].split_at(length);
            if padding.iter().any(|&byte| byte != 0) {
                return Err(format!(
                    "the view at row {row} has non-zero bytes after its value"
                ));
            }
            if is_text && !value.is_ascii() && std::str::from_utf8(value).is_err() {
                return Err(format!("the text at row {row} is not UTF-8"));
            }
            continue;
        }
        let (index, start) = (part(8), part(12));
        let end = start.checked_add(length);
        let found = data
            .get_mut(index)
            .zip(end)
            .filter(|(data, end)| *end <= data.bytes.len());
        let Some((data, end)) = found else {
            return Err(format!("the view at row {row} lies outside its buffers"));
        };
        if !data.bytes[start..end].starts_with(&view[4..8]) {
            return Err(format!(
                "the view at row {row} has another prefix than its value"
            ));
        }
        if is_text && !data.is_text(start, end)? {
            return Err(format!("the text at row {row} is not UTF-8"));
        }
    }
    Ok(())
}
