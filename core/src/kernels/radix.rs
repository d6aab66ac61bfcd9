use super::error::{KernelError, with_room};

/// The number of bits of a digit.
const DIGIT_BITS: u32 = 11;
const NUM_DIGITS: usize = 1 << DIGIT_BITS;

/// The number of pairs that one step counts or moves.
const STEP_PAIRS: usize = 65_536;

/// A stable sort of rows by their keys, digit by digit from the least significant. Digits that are
/// equal in all keys are skipped.
#[derive(Debug)]
pub(super) struct Radix {
    keys: Vec<u64>,
    rows: Vec<u32>,
    /// The output of a pass; swapped with `keys` and `rows` after it.
    spare_keys: Vec<u64>,
    spare_rows: Vec<u32>,
    /// The bit positions of the digits that are left; the next one is last.
    shifts: Vec<u32>,
    num_shifts: usize,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Finds the bits that differ, and whether everything is already sorted.
    Survey {
        at: usize,
        varying: u64,
        is_sorted: bool,
    },
    /// Fills the output of the passes with zeros.
    Room,
    Next,
    Count {
        shift: u32,
        at: usize,
        counts: Vec<u32>,
    },
    Move {
        shift: u32,
        at: usize,
        starts: Vec<u32>,
    },
    Done,
}

impl Radix {
    /// A sort of `rows`, where `rows[i]` has the key `keys[i]`.
    pub(super) fn new(keys: Vec<u64>, rows: Vec<u32>) -> Self {
        Self {
            keys,
            rows,
            spare_keys: Vec::new(),
            spare_rows: Vec::new(),
            shifts: Vec::new(),
            num_shifts: 1,
            phase: Phase::Survey {
                at: 0,
                varying: 0,
                is_sorted: true,
            },
        }
    }

    /// Works for a few milliseconds at most. Returns true when everything is sorted.
    pub(super) fn step(&mut self) -> Result<bool, KernelError> {
        let len = self.keys.len();
        let end = |at: usize| len.min(at + STEP_PAIRS);
        self.phase = match std::mem::replace(&mut self.phase, Phase::Next) {
            Phase::Survey {
                at,
                mut varying,
                mut is_sorted,
            } => {
                let first = self.keys.first().copied().unwrap_or(0);
                let mut before = self.keys[..at].last().copied().unwrap_or(0);
                for &key in &self.keys[at..end(at)] {
                    varying |= key ^ first;
                    is_sorted &= before <= key;
                    before = key;
                }
                if end(at) < len {
                    Phase::Survey {
                        at: end(at),
                        varying,
                        is_sorted,
                    }
                } else if is_sorted {
                    Phase::Done
                } else {
                    self.plan(varying)?;
                    Phase::Room
                }
            }
            Phase::Room => {
                let room = end(self.spare_rows.len());
                self.spare_keys.resize(room, 0);
                self.spare_rows.resize(room, 0);
                if room < len { Phase::Room } else { Phase::Next }
            }
            Phase::Next => match self.shifts.pop() {
                None => Phase::Done,
                Some(shift) => Phase::Count {
                    shift,
                    at: 0,
                    counts: vec![0; NUM_DIGITS],
                },
            },
            Phase::Count {
                shift,
                at,
                mut counts,
            } => {
                for &key in &self.keys[at..end(at)] {
                    counts[digit(key, shift)] += 1;
                }
                if end(at) < len {
                    Phase::Count {
                        shift,
                        at: end(at),
                        counts,
                    }
                } else {
                    let mut start = 0;
                    for count in &mut counts {
                        (*count, start) = (start, start + *count);
                    }
                    Phase::Move {
                        shift,
                        at: 0,
                        starts: counts,
                    }
                }
            }
            Phase::Move {
                shift,
                at,
                mut starts,
            } => {
                let pairs = self.keys[at..end(at)].iter().zip(&self.rows[at..end(at)]);
                for (&key, &row) in pairs {
                    let to = &mut starts[digit(key, shift)];
                    self.spare_keys[*to as usize] = key;
                    self.spare_rows[*to as usize] = row;
                    *to += 1;
                }
                if end(at) < len {
                    Phase::Move {
                        shift,
                        at: end(at),
                        starts,
                    }
                } else {
                    std::mem::swap(&mut self.keys, &mut self.spare_keys);
                    std::mem::swap(&mut self.rows, &mut self.spare_rows);
                    Phase::Next
                }
            }
            Phase::Done => Phase::Done,
        };
        Ok(matches!(self.phase, Phase::Done))
    }

    pub(super) fn fraction(&self) -> f64 {
        let whole = self.num_shifts - self.shifts.len().min(self.num_shifts);
        let begun = match self.phase {
            Phase::Survey { .. } | Phase::Room => return 0.0,
            Phase::Next | Phase::Done => whole,
            Phase::Count { .. } | Phase::Move { .. } => whole - 1,
        };
        begun as f64 / self.num_shifts as f64
    }

    /// The rows in the order of their keys.
    pub(super) fn finish(self) -> Vec<u32> {
        self.rows
    }

    fn plan(&mut self, varying: u64) -> Result<(), KernelError> {
        let mut shift = varying.trailing_zeros();
        while shift < 64 {
            self.shifts.push(shift);
            let rest = varying.checked_shr(shift + DIGIT_BITS).unwrap_or(0);
            if rest == 0 {
                break;
            }
            shift += DIGIT_BITS + rest.trailing_zeros();
        }
        self.shifts.reverse();
        self.num_shifts = self.shifts.len().max(1);
        self.spare_keys = with_room(self.keys.len())?;
        self.spare_rows = with_room(self.rows.len())?;
        Ok(())
    }
}

fn digit(key: u64, shift: u32) -> usize {
    (key >> shift) as usize & (NUM_DIGITS - 1)
}
