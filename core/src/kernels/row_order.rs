use std::ops::Range;

use super::error::{KernelError, with_room};

/// The number of bitmap words between two counts of its rank index: 512 rows.
const RANK_WORDS: usize = 8;

/// The rows of a table that a view shows, and their order. Row numbers are the table's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowOrder {
    /// This number of rows from the start of the table.
    All(u32),
    /// A subset in row order.
    Bitmap(Bitmap),
    /// A list in any order.
    List(Vec<u32>),
}

impl RowOrder {
    /// The number of shown rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::All(len) => *len as usize,
            Self::Bitmap(bitmap) => bitmap.count as usize,
            Self::List(rows) => rows.len(),
        }
    }

    /// Whether no row is shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The table's row at `position` of the view; `None` after the last one.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<u32> {
        match self {
            Self::All(len) => (position < *len as usize).then_some(position as u32),
            Self::Bitmap(bitmap) => bitmap.select(position),
            Self::List(rows) => rows.get(position).copied(),
        }
    }

    /// The table's rows at positions `[start, end)` of the view, as far as they exist.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub fn numbers(&self, start: usize, end: usize) -> Result<Vec<u32>, KernelError> {
        let end = end.min(self.len());
        let mut numbers = with_room(end.saturating_sub(start))?;
        self.push_numbers(start..end, &mut numbers);
        Ok(numbers)
    }

    /// Appends the table's rows at `positions` of the view, which exist.
    pub(super) fn push_numbers(&self, positions: Range<usize>, numbers: &mut Vec<u32>) {
        match self {
            _ if positions.is_empty() => {}
            Self::All(_) => numbers.extend(positions.start as u32..positions.end as u32),
            Self::List(rows) => numbers.extend_from_slice(&rows[positions]),
            Self::Bitmap(bitmap) => {
                let end = numbers.len() + positions.len();
                let first = bitmap.select(positions.start).unwrap_or(0);
                let mut word_index = first as usize / 64;
                let mut word = bitmap.words[word_index] & (u64::MAX << (first % 64));
                while numbers.len() < end {
                    if word == 0 {
                        word_index += 1;
                        word = bitmap.words[word_index];
                    } else {
                        numbers.push(word_index as u32 * 64 + word.trailing_zeros());
                        word &= word - 1;
                    }
                }
            }
        }
    }

    /// A bitmap of the table's first `num_rows` rows, with a bit set for each shown row.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub(super) fn words(&self, num_rows: u32) -> Result<Vec<u64>, KernelError> {
        let num_words = num_rows.div_ceil(64) as usize;
        let mut words = with_room(num_words)?;
        if let Self::Bitmap(bitmap) = self {
            words.extend(bitmap.words.iter().take(num_words));
            words.resize(num_words, 0);
            return Ok(words);
        }
        words.resize(num_words, 0);
        for row in (0..self.len()).map_while(|position| self.get(position)) {
            if let Some(word) = words.get_mut((row / 64) as usize) {
                *word |= 1 << (row % 64);
            }
        }
        Ok(words)
    }

    /// The shown rows whose bits are set in `words`, in row order. There can be more bits than rows,
    /// because a table grows after a view of it was made.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub(super) fn intersect(&self, mut words: Vec<u64>) -> Result<Self, KernelError> {
        match self {
            Self::All(len) => {
                words.truncate(len.div_ceil(64) as usize);
                if let (Some(last), 1..) = (words.get_mut((len / 64) as usize), len % 64) {
                    *last &= (1 << (len % 64)) - 1;
                }
            }
            Self::List(_) => {}
            Self::Bitmap(bitmap) => {
                words.truncate(bitmap.words.len());
                for (word, mine) in words.iter_mut().zip(&bitmap.words) {
                    *word &= mine;
                }
            }
        }
        Bitmap::try_new(words).map(Self::Bitmap)
    }
}

/// One bit per row, and the number of set bits before every 512th row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    ranks: Vec<u32>,
    count: u32,
}

impl Bitmap {
    /// A bitmap in which `row` is included if `words[row / 64] >> (row % 64) & 1` is 1.
    fn try_new(words: Vec<u64>) -> Result<Self, KernelError> {
        let mut ranks = with_room(words.len().div_ceil(RANK_WORDS))?;
        let mut count = 0;
        for group in words.chunks(RANK_WORDS) {
            ranks.push(count);
            count += group.iter().map(|word| word.count_ones()).sum::<u32>();
        }
        Ok(Self {
            words,
            ranks,
            count,
        })
    }

    /// The row of the set bit with the number `position`, counted from 0.
    fn select(&self, position: usize) -> Option<u32> {
        if position >= self.count as usize {
            return None;
        }
        let position = position as u32;
        let group = self.ranks.partition_point(|&rank| rank <= position) - 1;
        let mut left = position - self.ranks[group];
        let start = group * RANK_WORDS;
        for (index, &word) in self.words.iter().enumerate().skip(start) {
            let ones = word.count_ones();
            if left < ones {
                let mut word = word;
                for _ in 0..left {
                    word &= word - 1;
                }
                return Some(index as u32 * 64 + word.trailing_zeros());
            }
            left -= ones;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_finds_its_nth_row() {
        let wanted: Vec<u32> = (0..5000)
            .filter(|row| row % 7 == 3 || *row > 4900)
            .collect();
        let mut words = vec![0u64; 5000usize.div_ceil(64)];
        for row in &wanted {
            words[(row / 64) as usize] |= 1 << (row % 64);
        }
        let rows = RowOrder::All(5000).intersect(words).unwrap();
        let by_one: Vec<u32> = (0..).map_while(|position| rows.get(position)).collect();
        assert_eq!(by_one, wanted);
        assert_eq!(rows.len(), wanted.len());
        let odd = rows.intersect(vec![0xAAAA_AAAA_AAAA_AAAA; 79]).unwrap();
        let expected: Vec<u32> = wanted.into_iter().filter(|row| row % 2 == 1).collect();
        let by_one: Vec<u32> = (0..).map_while(|position| odd.get(position)).collect();
        assert_eq!(by_one, expected);
    }
}
