use crate::kernels::leading::Leading;
use crate::kernels::seen::Seen;
use crate::kernels::sort_key::Level;

/// The maximum number of bits of a digit.
const MAX_DIGIT_BITS: u32 = 11;

/// The rows that a digit should leave in a group.
const TARGET_ROWS: usize = 4;

/// Rows with equal keys before `level`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) level: Level,
    pub(super) state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// There are no items yet: the rows are those of the base.
    Unlisted,
    /// The items have no keys of this level.
    Unread,
    /// The items have keys. None is null.
    Read,
    /// The same, and each item is at most [`SMALL_ROWS`](super::SMALL_ROWS) from its place.
    Nearly,
}

/// The division of a group by a digit.
#[derive(Debug)]
pub(super) struct Division {
    pub(super) group: Group,
    pub(super) phase: Phase,
    /// The number of rows that the phase has dealt with.
    pub(super) at: usize,
    pub(super) seen: Seen,
    /// The rows whose value is null.
    pub(super) nulls: Vec<u32>,
    pub(super) shift: u32,
    /// For each digit: the number of its rows, then where its next row goes. Empty if the group stays
    /// whole.
    pub(super) places: Vec<usize>,
}

/// What the division of a group does, in this order. Some groups need only some of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Finds what many texts have in common.
    Sample,
    /// Reads the keys of items, and finds the least and the greatest.
    Load,
    /// Finds the least and the greatest of the keys.
    Survey,
    /// Counts the rows of each digit.
    Count,
    /// Moves rows to their digits.
    Move,
    /// Copies the moved items back.
    Copy,
    /// Makes items of the rows of the base.
    List,
    Done,
}

impl Division {
    pub(super) fn new(group: Group, phase: Phase) -> Self {
        Self {
            group,
            phase,
            at: 0,
            seen: Seen::default(),
            nulls: Vec::new(),
            shift: 0,
            places: Vec::new(),
        }
    }

    /// The rows that come first, once all keys have been seen.
    pub(super) fn take_leading(&mut self) -> Option<Leading> {
        let is_seen = self.phase > Phase::Survey;
        is_seen.then(|| self.seen.leading.take()).flatten()
    }

    pub(super) fn num_values(&self) -> usize {
        self.group.len - self.nulls.len()
    }

    /// The number of rows that the phase has to deal with.
    pub(super) fn num_rows(&self) -> usize {
        match (self.phase, self.group.state) {
            (Phase::Count | Phase::Move, State::Unlisted) => self.group.len,
            (Phase::Count | Phase::Move | Phase::Copy, _) => self.num_values(),
            _ => self.group.len,
        }
    }

    #[inline]
    pub(super) fn digit(&self, key: u64) -> usize {
        ((key - self.seen.least) >> self.shift) as usize
    }

    /// The number of bits of the digit that leaves small groups soonest.
    pub(super) fn digit_bits(&self) -> u32 {
        let bits = (self.num_values() / TARGET_ROWS).max(2).ilog2();
        let num_digits = bits.div_ceil(MAX_DIGIT_BITS);
        bits.div_ceil(num_digits)
    }

    pub(super) fn fraction(&self) -> f64 {
        let num_phases = Phase::List as u8 + 1;
        let within = self.at as f64 / self.num_rows().max(1) as f64;
        (f64::from(self.phase as u8) + within) / f64::from(num_phases)
    }
}
