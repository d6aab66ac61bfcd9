use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{Buffer, NullBuffer};

use super::column::{Column, NO_VALUE, push_codes};
use super::error::{KernelError, with_room};
use super::key::{Key, Keyed, Physical, each_boolean, with_native};
use super::texts::Texts;

/// Bytes of text that one sort key holds. The lowest byte of the key states how many of them there are,
/// and is greater if the text goes on.
const TEXT_BYTES: usize = 7;
const GOES_ON: u64 = TEXT_BYTES as u64 + 1;

/// The maximum number of bytes in common that are skipped at once.
const MAX_PREFIX_BYTES: usize = 4096;

/// The rank of NaN, whose key is the greatest, whatever the direction. Other ranks begin with 1, so that no
/// inverted rank is equal to that key.
pub(super) const NAN_RANK: u64 = u64::MAX;

/// A part of the keys of a sort, from the most significant part on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    /// The index of the column among those to sort by; their number behind the last part.
    pub(super) column: usize,
    /// Of text the offset in bytes, of other values the number of 64-bit parts before this one.
    pub(super) depth: usize,
}

impl Level {
    pub(super) fn of_column(column: usize) -> Self {
        Self { column, depth: 0 }
    }
}

/// A column to sort by. Its values are read as 64-bit keys with the order of the sort.
#[derive(Debug)]
pub(super) struct SortColumn {
    column: Column,
    physical: Physical,
    /// All bits are set to invert keys for a descending sort.
    flip: u64,
    /// For values of a fixed size: each chunk's values and nulls.
    natives: Vec<(Buffer, Option<NullBuffer>)>,
    /// For texts: each chunk's.
    texts: Vec<Texts>,
    /// For values of more than 64 bits: the chunks of which the upper bits are known, and these bits as
    /// long as they are the same in all values.
    num_checked: usize,
    upper: Option<(u128, u64)>,
    /// The number of 64-bit parts of a key.
    num_parts: usize,
    /// Keys of texts at one depth, by row of the table.
    ahead: (usize, Vec<u64>),
    ranks: Option<Ranks>,
}

/// The ranks of a column's dictionaries: equal values have equal ranks.
#[derive(Debug)]
struct Ranks {
    /// The rank of each value; `None` is null.
    of_values: Vec<Option<u64>>,
    /// The number of values before each dictionary.
    starts: Vec<usize>,
}

impl SortColumn {
    /// Values of a dictionary or run-end encoding have no keys before [`set_ranks`](Self::set_ranks).
    pub(super) fn new(column: Column, descending: bool) -> Self {
        let physical = column.physical();
        let native_bytes = with_native!(physical, N => size_of::<N>(), _ => 0);
        let natives = match (native_bytes, column.dictionaries()) {
            (1.., []) => {
                let chunks = column.chunks().iter();
                let parts = chunks.map(|chunk| {
                    let data = chunk.to_data();
                    let (offset, len) = (data.offset() * native_bytes, data.len() * native_bytes);
                    let values = data.buffers()[0].slice_with_length(offset, len);
                    (values, chunk.nulls().cloned())
                });
                parts.collect()
            }
            _ => Vec::new(),
        };
        let texts = match (physical, column.dictionaries()) {
            (Physical::Bytes, []) => column.chunks().iter().map(Texts::of).collect(),
            _ => Vec::new(),
        };
        Self {
            column,
            physical,
            flip: if descending { u64::MAX } else { 0 },
            natives,
            texts,
            num_checked: 0,
            upper: None,
            num_parts: physical.num_limbs().max(1),
            ahead: (0, Vec::new()),
            ranks: None,
        }
    }

    /// The dictionaries, if their values have yet to be ranked.
    pub(super) fn unranked(&self) -> Option<&[ArrayRef]> {
        let dictionaries = self.column.dictionaries();
        (self.ranks.is_none() && !dictionaries.is_empty()).then_some(dictionaries)
    }

    /// Takes the ascending ranks of all values of [`unranked`](Self::unranked) dictionaries. Null has
    /// none.
    pub(super) fn set_ranks(&mut self, of_values: Vec<Option<u64>>) {
        let dictionaries = self.column.dictionaries().iter();
        let starts = dictionaries.scan(0, |end, values| {
            *end += values.len();
            Some(*end - values.len())
        });
        self.num_parts = 1;
        self.ranks = Some(Ranks {
            of_values,
            starts: starts.collect(),
        });
    }

    /// Whether the keys are texts: of any length, and slow to read.
    pub(super) fn is_text(&self) -> bool {
        self.physical == Physical::Bytes && self.column.dictionaries().is_empty()
    }

    /// The part of the keys that decides between rows of equal `key` at `level`.
    pub(super) fn after(&self, level: Level, key: u64) -> Level {
        if self.is_text() {
            if self.goes_on(key) {
                let depth = level.depth + TEXT_BYTES;
                return Level { depth, ..level };
            }
        } else if level.depth + 1 < self.num_parts {
            let depth = level.depth + 1;
            return Level { depth, ..level };
        }
        Level::of_column(level.column + 1)
    }

    /// Whether a text with this key has bytes behind those in the key.
    pub(super) fn goes_on(&self, key: u64) -> bool {
        (key ^ self.flip) & 0xFF == GOES_ON
    }

    /// Compares the upper bits of the next values of more than 64 bits. If they are the same in all
    /// values, as in most columns of decimals, the lowest 64 bits are the key. Returns true at the end.
    pub(super) fn narrow(&mut self) -> bool {
        if self.num_parts == 1 || self.num_checked == self.natives.len() {
            return true;
        }
        let (values, validity) = &self.natives[self.num_checked];
        let upper = &mut self.upper;
        let is_same = with_native!(self.physical, N => {
            let mut keys = values.typed_data::<N>().iter().enumerate().filter_map(|(index, value)| {
                let is_valid = validity.as_ref().is_none_or(|nulls| nulls.is_valid(index));
                is_valid.then(|| value.key().widened())
            });
            keys.all(|(high, low)| {
                let bits = (high, (low >> 64) as u64);
                *upper.get_or_insert(bits) == bits
            })
        }, _ => true);
        self.num_checked += 1;
        if !is_same {
            self.num_checked = self.natives.len();
        } else if self.num_checked == self.natives.len() {
            self.num_parts = 1;
        }
        self.num_checked == self.natives.len()
    }

    /// Cuts `prefix` to what the texts of `rows` have in common with it. `None` stands for any text.
    pub(super) fn cut_prefix(&self, prefix: &mut Option<Vec<u8>>, rows: &[u32]) {
        self.column.each_chunk_run(rows, |chunk, first, last| {
            for text in (first..last).filter_map(|index| self.texts[chunk].get(index)) {
                let prefix =
                    prefix.get_or_insert_with(|| text[..text.len().min(MAX_PREFIX_BYTES)].to_vec());
                if !text.starts_with(prefix) {
                    let pairs = prefix.iter().zip(text);
                    prefix.truncate(pairs.take_while(|(a, b)| a == b).count());
                }
            }
        });
    }

    /// Reads the keys that decide between texts with equal keys at `depth`, for the table's next rows.
    /// Later, this costs no visits to texts in random order.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub(super) fn read_ahead(&mut self, depth: usize, rows: &[u32]) -> Result<(), KernelError> {
        let depth = depth + TEXT_BYTES;
        if self.ahead.1.is_empty() {
            self.ahead = (depth, with_room(self.column.num_rows() as usize)?);
        }
        let (column, keys) = (&self.column, &mut self.ahead.1);
        column.each_chunk_run(rows, |chunk, first, last| {
            let texts = (first..last).map(|index| self.texts[chunk].get(index));
            keys.extend(texts.map(|text| text_key(text.unwrap_or_default(), depth) ^ self.flip));
        });
        Ok(())
    }

    /// Reads the keys of the block's rows at a depth.
    pub(super) fn read(&self, depth: usize, block: &mut Block) {
        let Block {
            rows,
            keys,
            nulls,
            codes,
        } = block;
        keys.clear();
        nulls.clear();
        if let Some(ranks) = &self.ranks {
            self.column.each_chunk_run(rows, |chunk, first, last| {
                let start = self
                    .column
                    .dictionary_of(chunk)
                    .map_or(0, |index| ranks.starts[index]);
                codes.clear();
                push_codes(&self.column.chunks()[chunk], first, last, codes);
                for &code in codes.iter() {
                    let known = (code != NO_VALUE).then(|| ranks.of_values[start + code as usize]);
                    let key = known.flatten().map(|rank| match rank {
                        NAN_RANK => u64::MAX,
                        rank => rank ^ self.flip,
                    });
                    put(keys, nulls, key);
                }
            });
            return;
        }
        if !self.ahead.1.is_empty() && self.ahead.0 == depth {
            // Null has no key at the depth before.
            keys.extend(rows.iter().map(|&row| self.ahead.1[row as usize]));
            return;
        }
        let flip = self.flip;
        with_native!(self.physical, N => {
            let limb = self.num_parts - 1 - depth;
            let key = |value: N| match value.is_nan() {
                // NaN is last, whatever the direction.
                true => u64::MAX,
                false => value.key().limb(limb) ^ flip,
            };
            if !are_consecutive(rows) {
                for &row in rows.iter() {
                    let (chunk, index) = self.column.position(row);
                    let (values, validity) = &self.natives[chunk];
                    let is_valid = validity.as_ref().is_none_or(|nulls| nulls.is_valid(index));
                    put(keys, nulls, is_valid.then(|| key(values.typed_data::<N>()[index])));
                }
                return;
            }
            self.column.each_chunk_run(rows, |chunk, first, last| {
                let (values, validity) = &self.natives[chunk];
                let values = values.typed_data::<N>()[first..last].iter();
                match validity {
                    None => {
                        keys.extend(values.map(|&value| key(value)));
                        if !nulls.is_empty() {
                            nulls.resize(keys.len(), false);
                        }
                    }
                    Some(validity) => for (&value, index) in values.zip(first..) {
                        put(keys, nulls, validity.is_valid(index).then(|| key(value)));
                    }
                }
            });
        }, _ => self.column.each_chunk_run(rows, |chunk, first, last| {
            if self.physical == Physical::Boolean {
                let array = self.column.chunks()[chunk].as_boolean();
                each_boolean(array, first, last, |value| {
                    put(keys, nulls, value.map(|value| u64::from(value) ^ flip));
                });
                return;
            }
            let texts = &self.texts[chunk];
            for index in first..last {
                let text = texts.get(index);
                put(keys, nulls, text.map(|text| text_key(text, depth) ^ flip));
            }
        }));
    }
}

/// Some rows, with their keys at one level.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) rows: Vec<u32>,
    pub(super) keys: Vec<u64>,
    /// For each row, whether the value is null; empty if none is.
    pub(super) nulls: Vec<bool>,
    codes: Vec<u32>,
}

impl Block {
    /// The rows whose value is null.
    pub(super) fn null_rows(&self) -> impl Iterator<Item = u32> {
        let rows = self.rows.iter().zip(&self.nulls);
        rows.filter_map(|(&row, &is_null)| is_null.then_some(row))
    }
}

fn are_consecutive(rows: &[u32]) -> bool {
    let pairs = rows.iter().zip(&rows[rows.len().min(1)..]);
    pairs.into_iter().all(|(row, next)| row + 1 == *next)
}

#[inline]
fn put(keys: &mut Vec<u64>, nulls: &mut Vec<bool>, key: Option<u64>) {
    if key.is_none() && nulls.is_empty() {
        nulls.resize(keys.len(), false);
    }
    if key.is_none() || !nulls.is_empty() {
        nulls.push(key.is_none());
    }
    keys.push(key.unwrap_or(0));
}

/// Up to seven bytes from `start` on, and how many there are: a text that ends comes before one that
/// goes on with zeros.
#[inline]
fn text_key(bytes: &[u8], start: usize) -> u64 {
    let rest = bytes.get(start..).unwrap_or_default();
    if let Some(first) = rest.first_chunk::<8>() {
        return u64::from_be_bytes(*first) & !0xFF | GOES_ON;
    }
    let mut first = [0; 8];
    first[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(first) | rest.len() as u64
}
