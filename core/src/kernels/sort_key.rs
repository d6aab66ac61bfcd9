use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{Buffer, NullBuffer};

use super::column::{Column, NO_VALUE, push_codes};
use super::error::{KernelError, with_room};
use super::key::{Key, Keyed, Physical, each_boolean, with_native};
use super::prefixes::Prefixes;
use super::seen::Seen;
use super::sort_item::Item;
use super::texts::{GOES_ON, TEXT_BYTES, Texts, text_key};

/// The rank of NaN, whose key is the greatest, whatever the direction. Other ranks begin with 1, so that no
/// inverted rank is equal to that key.
pub(super) const NAN_RANK: u64 = u64::MAX;

/// A part of the keys of a sort, from the most significant part on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    /// The index of the column among those to sort by; their number behind the last part.
    pub(super) column: usize,
    /// The number of 64-bit parts before this one.
    pub(super) part: usize,
    /// Of text the offset in bytes, unless a code stands for the first ones.
    pub(super) depth: usize,
}

impl Level {
    pub(super) fn of_column(column: usize) -> Self {
        Self {
            column,
            part: 0,
            depth: 0,
        }
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
    /// For values of more than 64 bits: the number of chunks that were compared, and the limbs of a value.
    num_checked: usize,
    known_limbs: Option<Vec<u64>>,
    /// The number of 64-bit parts of a key.
    num_parts: usize,
    /// Codes of what the texts have in common.
    prefixes: Option<Prefixes>,
    /// The second keys of texts, by row of the table; empty if no text goes on behind its first.
    ahead: Vec<u64>,
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
            known_limbs: None,
            num_parts: physical.num_limbs().max(1),
            prefixes: None,
            ahead: Vec::new(),
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
        let part = level.part + 1;
        if self.is_text() {
            if let Some(depth) = self.depth_after(level, key ^ self.flip) {
                return Level {
                    part,
                    depth,
                    ..level
                };
            }
        } else if part < self.num_parts {
            return Level { part, ..level };
        }
        Level::of_column(level.column + 1)
    }

    /// The number of bytes of a text before and in a key; `None` if the text has no others.
    #[inline]
    fn depth_after(&self, level: Level, key: u64) -> Option<usize> {
        match &self.prefixes {
            Some(prefixes) if level.part == 0 => prefixes.depth_after(key),
            _ => (key & 0xFF == GOES_ON).then_some(level.depth + TEXT_BYTES),
        }
    }

    /// Compares the upper limbs of the next values of more than 64 bits. If they are the same in all values,
    /// as in most columns of decimals, the lowest one is the key. Returns true at the end.
    pub(super) fn narrow(&mut self) -> bool {
        let is_narrow = self.num_parts == 1 || self.num_checked == self.natives.len();
        // The limbs of an interval's key are in another order than those of the value.
        if is_narrow || self.column.physical() == Physical::MonthDayNano {
            return true;
        }
        let (values, validity) = &self.natives[self.num_checked];
        let limbs = values.typed_data::<u64>();
        let is_valid = |index| validity.as_ref().is_none_or(|bits| bits.is_valid(index));
        let mut differences = 0;
        if let Some(index) = (0..limbs.len() / self.num_parts).find(|&index| is_valid(index)) {
            let known = &limbs[index * self.num_parts..][..self.num_parts];
            let known = self.known_limbs.get_or_insert_with(|| known.to_vec());
            for (part, known) in known.iter().enumerate().skip(1) {
                let uppers = limbs[part..].iter().step_by(self.num_parts).enumerate();
                differences = uppers.fold(differences, |all, (index, upper)| {
                    let is_counted = validity.is_none() || is_valid(index);
                    all | (upper ^ known) & u64::from(is_counted).wrapping_neg()
                });
            }
        }
        self.num_checked += 1;
        if differences != 0 {
            self.num_checked = self.natives.len();
        } else if self.num_checked == self.natives.len() {
            self.num_parts = 1;
        }
        self.num_checked == self.natives.len()
    }

    /// Whether the values are of a fixed size, and none is null.
    pub(super) fn is_plain(&self) -> bool {
        !self.natives.is_empty() && self.natives.iter().all(|(_, nulls)| nulls.is_none())
    }

    /// Assumes what [`narrow`](Self::narrow) finds in most columns, until [`survey`](Self::survey).
    pub(super) fn assume_narrow(&mut self) {
        self.num_parts = self.num_parts.min(1);
        self.num_checked = self.natives.len();
    }

    /// Reads the keys of rows of the table, none of which is null, at a part. Returns false if the column
    /// was assumed to be narrow and is not.
    pub(super) fn survey(&mut self, part: usize, rows: Range<u32>, seen: &mut Seen) -> bool {
        let is_narrow = with_native!(self.physical, N => {
            self.survey_natives::<N>(part, rows, seen)
        }, _ => true);
        if !is_narrow {
            self.num_parts = self.physical.num_limbs();
        }
        is_narrow
    }

    #[inline(never)]
    fn survey_natives<N: Keyed>(&self, part: usize, rows: Range<u32>, seen: &mut Seen) -> bool {
        let num_limbs = size_of::<N>() / size_of::<u64>();
        let mut chunks = self
            .natives
            .iter()
            .map(|(values, _)| values.typed_data::<N>());
        let first = chunks
            .find_map(<[N]>::first)
            .copied()
            .unwrap_or_default()
            .key();
        let mut differences = 0;
        let mut row = rows.start;
        self.column.each_chunk(rows, |chunk, start, end| {
            let values = &self.natives[chunk].0.typed_data::<N>()[start..end];
            let keys = values.iter().map(|value| {
                for limb in 1..num_limbs {
                    differences |= value.key().limb(limb) ^ first.limb(limb);
                }
                self.key(*value, part)
            });
            seen.see(keys.zip(row..));
            row += values.len() as u32;
        });
        self.num_parts > 1 || differences == 0
    }

    /// The key of a value that is not null.
    #[inline]
    fn key<N: Keyed>(&self, value: N, part: usize) -> u64 {
        match value.is_nan() {
            // NaN is last, whatever the direction.
            true => u64::MAX,
            false => value.key().limb(self.num_parts - 1 - part) ^ self.flip,
        }
    }

    /// Whether [`set_prefixes`](Self::set_prefixes) makes the keys shorter.
    pub(super) fn wants_prefixes(&self) -> bool {
        self.is_text() && self.prefixes.is_none()
    }

    /// Looks for what texts have in common in those of some rows.
    pub(super) fn set_prefixes(&mut self, rows: &[u32]) {
        let mut sample = Vec::new();
        self.column.each_chunk_run(rows, |chunk, first, last| {
            sample.extend((first..last).filter_map(|index| self.texts[chunk].get(index)));
        });
        self.prefixes = Some(Prefixes::of(&sample));
    }

    /// Reads the second keys of the table's next rows, which the block has with their first ones. Later, this costs no
    /// visits to texts in random order.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub(super) fn read_ahead(&mut self, level: Level, block: &Block) -> Result<(), KernelError> {
        let mut values = block.values();
        let goes_on = values.any(|(key, _)| self.depth_after(level, key ^ self.flip).is_some());
        let mut ahead = std::mem::take(&mut self.ahead);
        if ahead.is_empty() {
            if !goes_on {
                return Ok(());
            }
            ahead = with_room(self.column.num_rows() as usize)?;
            ahead.resize(block.rows[0] as usize, 0);
        }
        let mut keys = block.keys.iter();
        self.column
            .each_chunk_run(&block.rows, |chunk, first, last| {
                let texts = (first..last).map(|index| self.texts[chunk].get(index));
                ahead.extend(texts.zip(keys.by_ref()).map(|(text, key)| {
                    let depth = text.and_then(|_| self.depth_after(level, key ^ self.flip));
                    let key = depth.map_or(0, |depth| text_key(text.unwrap_or_default(), depth));
                    key ^ self.flip
                }));
            });
        self.ahead = ahead;
        Ok(())
    }

    /// Reads the keys of texts, none of which is null, at a level behind the first.
    pub(super) fn read_texts_of(&self, level: Level, items: &mut [Item]) {
        let is_ahead = level.part == 1 && !self.ahead.is_empty();
        for item in items {
            item.key = if is_ahead {
                self.ahead[item.row as usize]
            } else {
                let (chunk, index) = self.column.position(item.row);
                let text = self.texts[chunk].get(index).unwrap_or_default();
                text_key(text, level.depth) ^ self.flip
            };
        }
    }

    /// Reads the keys of the block's rows at a level.
    pub(super) fn read(&self, level: Level, block: &mut Block) {
        block.keys.clear();
        block.nulls.clear();
        if let Some(ranks) = &self.ranks {
            self.read_ranks(ranks, block);
        } else if level.part == 1 && !self.ahead.is_empty() {
            // Null has no key at the level before.
            let keys = block.rows.iter().map(|&row| self.ahead[row as usize]);
            block.keys.extend(keys);
        } else {
            with_native!(self.physical, N => {
                self.read_natives::<N>(level.part, block);
                self.read_nulls(block);
            }, _ => {
                match self.physical {
                    Physical::Boolean => self.read_booleans(block),
                    _ => self.read_texts(level, block),
                }
            });
        }
    }

    fn read_ranks(&self, ranks: &Ranks, block: &mut Block) {
        let Block {
            rows,
            keys,
            nulls,
            codes,
        } = block;
        self.column.each_chunk_run(rows, |chunk, first, last| {
            let dictionary = self.column.dictionary_of(chunk);
            let start = dictionary.map_or(0, |index| ranks.starts[index]);
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
    }

    /// Whether each of the block's rows is null.
    fn read_nulls(&self, Block { rows, nulls, .. }: &mut Block) {
        if self.natives.iter().all(|(_, validity)| validity.is_none()) {
            return;
        }
        let is_null = |row: &u32| {
            let (chunk, index) = self.column.position(*row);
            let (_, validity) = &self.natives[chunk];
            validity.as_ref().is_some_and(|bits| bits.is_null(index))
        };
        nulls.extend(rows.iter().map(is_null));
        if !nulls.contains(&true) {
            nulls.clear();
        }
    }

    // A function for each type, because browsers compile a function when it is first called.
    #[inline(never)]
    fn read_natives<N: Keyed>(&self, part: usize, Block { rows, keys, .. }: &mut Block) {
        let natives = |chunk: usize| self.natives[chunk].0.typed_data::<N>();
        if let Some(range) = consecutive(rows) {
            self.column.each_chunk(range, |chunk, first, last| {
                let values = natives(chunk)[first..last].iter();
                keys.extend(values.map(|&value| self.key(value, part)));
            });
        } else {
            keys.extend(rows.iter().map(|&row| {
                let (chunk, index) = self.column.position(row);
                self.key(natives(chunk)[index], part)
            }));
        }
    }

    fn read_booleans(&self, block: &mut Block) {
        let Block {
            rows, keys, nulls, ..
        } = block;
        self.column.each_chunk_run(rows, |chunk, first, last| {
            let array = self.column.chunks()[chunk].as_boolean();
            each_boolean(array, first, last, |value| {
                put(keys, nulls, value.map(|value| u64::from(value) ^ self.flip));
            });
        });
    }

    fn read_texts(&self, level: Level, block: &mut Block) {
        match &self.prefixes {
            Some(prefixes) if level.part == 0 => {
                self.read_keys_of_texts(block, |text| prefixes.key(text));
            }
            _ => self.read_keys_of_texts(block, |text| text_key(text, level.depth)),
        }
    }

    #[inline]
    fn read_keys_of_texts(&self, block: &mut Block, key: impl Fn(&[u8]) -> u64) {
        let Block {
            rows, keys, nulls, ..
        } = block;
        self.column.each_chunk_run(rows, |chunk, first, last| {
            let texts = &self.texts[chunk];
            for index in first..last {
                let key = texts.get(index).map(|text| key(text) ^ self.flip);
                put(keys, nulls, key);
            }
        });
    }
}

/// Some rows, with their keys at one level.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) rows: Vec<u32>,
    pub(super) keys: Vec<u64>,
    /// For each row, whether the value is null; empty if none is.
    nulls: Vec<bool>,
    codes: Vec<u32>,
}

impl Block {
    /// The key and the row of each value that is not null.
    #[inline]
    pub(super) fn values(&self) -> impl Iterator<Item = (u64, u32)> {
        let values = self.keys.iter().copied().zip(self.rows.iter().copied());
        let num_nulls = self.nulls.len();
        values.zip(0..).filter_map(move |(value, index)| {
            (num_nulls == 0 || !self.nulls[index]).then_some(value)
        })
    }

    /// The rows whose value is null.
    pub(super) fn null_rows(&self) -> impl Iterator<Item = u32> {
        let rows = self.rows.iter().zip(&self.nulls);
        rows.filter_map(|(&row, &is_null)| is_null.then_some(row))
    }
}

/// The range of rows, if each is the one after the row before it.
fn consecutive(rows: &[u32]) -> Option<Range<u32>> {
    let mut pairs = rows.iter().zip(&rows[rows.len().min(1)..]);
    let are_consecutive = pairs.all(|(row, next)| row + 1 == *next);
    let first = rows.first().filter(|_| are_consecutive)?;
    Some(*first..first + rows.len() as u32)
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
