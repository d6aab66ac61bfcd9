use super::key::{Key, Key256, Keyed};
use super::literal::Literal;
use super::predicate::Test;
use crate::semantics::Comparison;

/// A bit for each item, from the lowest bit of the first word on.
#[inline]
pub(super) fn packed<T>(
    items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    mut holds: impl FnMut(T) -> bool,
) -> Vec<u64> {
    let mut items = items.into_iter();
    let mut words = Vec::with_capacity(items.len().div_ceil(64));
    while items.len() > 0 {
        let mut word = 0;
        for (bit, item) in (0..64).zip(&mut items) {
            word |= u64::from(holds(item)) << bit;
        }
        words.push(word);
    }
    words
}

/// Rows that are tested before their answers are packed.
const PACKED_ROWS: usize = 1024;

/// As [`packed`], for simple tests, of which the compiler then makes several at once.
fn packed_blocks<T: Copy>(items: &[T], mut holds: impl FnMut(T) -> bool) -> Vec<u64> {
    let mut words = Vec::with_capacity(items.len().div_ceil(64));
    let mut answers = [0u8; PACKED_ROWS];
    for block in items.chunks(PACKED_ROWS) {
        let answers = &mut answers[..block.len().next_multiple_of(64)];
        for (answer, item) in answers.iter_mut().zip(block) {
            *answer = u8::from(holds(*item));
        }
        answers[block.len()..].fill(0);
        words.extend(answers.chunks_exact(64).map(|answers| {
            let bytes = answers.as_chunks().0.iter().rev().map(|bits| {
                // The lowest bits of eight bytes, moved to the highest byte.
                u64::from_le_bytes(*bits).wrapping_mul(0x0102_0408_1020_4080) >> 56
            });
            bytes.fold(0, |word, byte| word << 8 | byte)
        }));
    }
    words
}

/// A key that a literal of the same width can become.
pub(super) trait LiteralKey: Key {
    const LEAST: Self;
    const MOST: Self;
    fn of(literal: &Literal) -> Option<Self>;
    fn is_between(self, least: Self, most: Self) -> bool;

    /// A bit for each value, whether its key is between `least` and `most`.
    // Its own function, because browsers compile a small one sooner.
    #[inline(never)]
    fn between<N: Keyed<Key = Self>>(values: &[N], least: Self, most: Self) -> Vec<u64> {
        packed_blocks(values, |value| value.key().is_between(least, most))
    }
}

impl LiteralKey for u64 {
    const LEAST: Self = 0;
    const MOST: Self = Self::MAX;
    fn of(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Narrow(key) => Some(*key),
            _ => None,
        }
    }
    #[inline]
    fn is_between(self, least: Self, most: Self) -> bool {
        self.wrapping_sub(least) <= most - least
    }
}

impl LiteralKey for u128 {
    const LEAST: Self = 0;
    const MOST: Self = Self::MAX;
    fn of(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Wide(key) => Some(*key),
            _ => None,
        }
    }
    #[inline]
    fn is_between(self, least: Self, most: Self) -> bool {
        self.wrapping_sub(least) <= most - least
    }

    /// Most decimals are numbers of 64 bits, so only their lower halves are compared, unless an upper half is
    /// more than the sign.
    // Its own function, as above.
    #[inline(never)]
    fn between<N: Keyed<Key = Self>>(values: &[N], least: Self, most: Self) -> Vec<u64> {
        let number = |key: u128| (key ^ (1 << 127)) as i128;
        let from = number(least).max(i64::MIN.into());
        let to = number(most).min(i64::MAX.into());
        if from <= to {
            let (from, span) = (from as u64, (to - from) as u64);
            let mut beyond = 0;
            let words = packed_blocks(values, |value| {
                let number = number(value.key());
                let low = number as i64;
                beyond |= (number >> 64) as i64 ^ (low >> 63);
                (low as u64).wrapping_sub(from) <= span
            });
            if beyond == 0 {
                return words;
            }
        }
        packed(values, |value| value.key().is_between(least, most))
    }
}

impl LiteralKey for Key256 {
    const LEAST: Self = (0, 0);
    const MOST: Self = (u128::MAX, u128::MAX);
    fn of(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Widest(key) => Some(*key),
            _ => None,
        }
    }
    fn is_between(self, least: Self, most: Self) -> bool {
        least <= self && self <= most
    }
}

/// A test of keys.
pub(super) enum KeyTest<K> {
    Constant(bool),
    Between(K, K),
    NotBetween(K, K),
    /// Keys in ascending order.
    In(Vec<K>),
}

impl<K: LiteralKey> KeyTest<K> {
    /// The test of a predicate for keys of one width.
    pub(super) fn new(test: &Test) -> Self {
        match test {
            Test::Compare(op, literal) => Self::compare(*op, literal),
            Test::In(literals) => Self::In(literals.iter().filter_map(K::of).collect()),
            _ => Self::Constant(false),
        }
    }

    fn compare(op: Comparison, literal: &Literal) -> Self {
        match literal {
            Literal::Below => Self::Constant(matches!(
                op,
                Comparison::Ne | Comparison::Gt | Comparison::Ge
            )),
            Literal::Above => Self::Constant(matches!(
                op,
                Comparison::Ne | Comparison::Lt | Comparison::Le
            )),
            Literal::After(before) => match (op, K::of(before)) {
                (Comparison::Lt | Comparison::Le, Some(key)) => Self::Between(K::LEAST, key),
                (Comparison::Gt | Comparison::Ge, Some(key)) => Self::NotBetween(K::LEAST, key),
                _ => Self::Constant(op == Comparison::Ne),
            },
            literal => match (op, K::of(literal)) {
                (_, None) => Self::Constant(false),
                (Comparison::Eq, Some(key)) => Self::Between(key, key),
                (Comparison::Ne, Some(key)) => Self::NotBetween(key, key),
                (Comparison::Lt, Some(key)) => Self::NotBetween(key, K::MOST),
                (Comparison::Le, Some(key)) => Self::Between(K::LEAST, key),
                (Comparison::Gt, Some(key)) => Self::NotBetween(K::LEAST, key),
                (Comparison::Ge, Some(key)) => Self::Between(key, K::MOST),
            },
        }
    }

    #[inline]
    pub(super) fn holds(&self, key: K) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Between(least, most) => key.is_between(*least, *most),
            Self::NotBetween(least, most) => !key.is_between(*least, *most),
            Self::In(keys) => keys.binary_search(&key).is_ok(),
        }
    }

    /// A bit for each value, whether it is null or not.
    pub(super) fn packed<N: Keyed<Key = K>>(&self, values: &[N]) -> Vec<u64> {
        match self {
            Self::Between(least, most) => K::between(values, *least, *most),
            Self::NotBetween(least, most) => {
                let mut words = K::between(values, *least, *most);
                words.iter_mut().for_each(|word| *word = !*word);
                words
            }
            _ => packed(values, |value| self.holds(value.key())),
        }
    }
}
