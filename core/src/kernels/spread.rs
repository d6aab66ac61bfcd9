use std::cmp::Reverse;

use arrow_array::{Array, ArrayRef};

use super::key::{Keyed, Physical, each_native, with_native};
use super::numbered::Numbered;
use crate::semantics::{Bins, Distribution, FloatSum, float_key};

/// The assumed average size in bytes of a counted value.
const COUNTED_BYTES: usize = 64;

/// The distribution of the values.
#[derive(Debug)]
pub(super) enum Spread {
    Exact {
        bins: Bins<i128>,
        /// `None` if it exceeded 128 bits.
        sum: Option<i128>,
        values: Distribution,
    },
    Float {
        bins: Bins<f64>,
        sum: FloatSum,
        values: Distribution,
    },
    /// The number of rows for each value; `None` if there are too many values.
    Counts(Option<Counts>),
}

/// The frequency of values.
#[derive(Debug)]
pub(super) struct Counts {
    known: Numbered,
    counts: Vec<u64>,
    /// The number of most frequent values that are reported.
    num_top: usize,
    /// The number of values that can be counted, and their bytes; `None` if no more are added.
    room: Option<(usize, usize)>,
}

/// What counting a value did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    First,
    Again,
    /// The value is not among those that are counted.
    Not,
    /// There are too many values.
    NoRoom,
}

impl Counts {
    /// Counts up to `max_counted` different values, to report the `num_top` most frequent ones.
    pub(super) fn new(max_counted: usize, num_top: usize) -> Self {
        Self {
            known: Numbered::default(),
            counts: Vec::new(),
            num_top,
            room: Some((max_counted, max_counted.saturating_mul(COUNTED_BYTES))),
        }
    }

    #[inline]
    pub(super) fn add(&mut self, value: &[u8], weight: u64) -> Counted {
        if let Some(number) = self.known.get(value) {
            let count = &mut self.counts[number];
            *count += weight;
            return match *count == weight {
                true => Counted::First,
                false => Counted::Again,
            };
        }
        let Some((num_values, num_bytes)) = self.room else {
            return Counted::Not;
        };
        if self.counts.len() == num_values || self.known.num_bytes() + value.len() > num_bytes {
            return Counted::NoRoom;
        }
        self.known.add(value);
        self.counts.push(weight);
        Counted::First
    }

    /// The number of counted values.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// The number of different values, if all are counted.
    pub(super) fn num_distinct(&self) -> Option<usize> {
        self.room.map(|_| self.counts.len())
    }

    /// The most frequent values. Equally frequent ones are in the order of their bytes.
    pub(super) fn top(&self) -> Vec<(&[u8], u64)> {
        let mut top: Vec<(&[u8], u64)> = Vec::new();
        for (number, &count) in self.counts.iter().enumerate() {
            let bytes = self.known.bytes(number);
            let at =
                top.partition_point(|known| (Reverse(known.1), known.0) < (Reverse(count), bytes));
            if at < self.num_top {
                top.truncate(self.num_top - 1);
                top.insert(at, (bytes, count));
            }
        }
        top
    }

    /// The most frequent values with counts of 0. No other values are added.
    fn emptied(&self) -> Self {
        let mut known = Numbered::default();
        let top = self.top();
        top.iter().for_each(|(value, _)| known.add(value));
        Self {
            known,
            counts: vec![0; top.len()],
            num_top: self.num_top,
            room: None,
        }
    }
}

/// How often a value counts: its weight, or once without weights.
pub(super) fn weight_of(weights: Option<&[u64]>, index: usize) -> u64 {
    weights.map_or(1, |weights| weights[index])
}

impl Spread {
    /// Whether values are counted in the same bins.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact { bins, .. }, Self::Exact { bins: others, .. }) => {
                bins.edges == others.edges
            }
            (Self::Float { bins, .. }, Self::Float { bins: others, .. }) => {
                bins.edges == others.edges
            }
            (Self::Counts(_), Self::Counts(_)) => true,
            _ => false,
        }
    }

    /// The same bins, or the same most frequent values, with counts of 0.
    pub(super) fn emptied(&self) -> Option<Self> {
        Some(match self {
            Self::Exact { bins, .. } => Self::Exact {
                bins: Bins::new(bins.edges.clone()),
                sum: Some(0),
                values: Distribution::default(),
            },
            Self::Float { bins, .. } => Self::Float {
                bins: Bins::new(bins.edges.clone()),
                sum: FloatSum::default(),
                values: Distribution::default(),
            },
            Self::Counts(counts) => Self::Counts(Some(counts.as_ref()?.emptied())),
        })
    }

    /// Counts values `[start, end)` of a plain array, each as often as its weight states. Stored floats
    /// are divided by `unit`.
    pub(super) fn add(
        &mut self,
        array: &ArrayRef,
        start: usize,
        end: usize,
        weights: Option<&[u64]>,
        unit: f64,
    ) {
        let mut index = start;
        match self {
            // Values are counted together with the totals.
            Self::Counts(_) => {}
            Self::Exact { bins, sum, values } => {
                with_native!(Physical::of(array.data_type()), N => {
                let lowest = bins.edges.first().copied().unwrap_or(0);
                // Bins have the same width, except for the last one.
                let width = bins.edges.get(1).map_or(1, |edge| edge.abs_diff(lowest));
                let scale = 1.0 / width as f64;
                let bin_of = |value: i128| (value.wrapping_sub(lowest) as u64 as f64 * scale) as usize;
                each_native::<N>(array, start, end, |value| {
                    let weight = weight_of(weights, index);
                    index += 1;
                    if let (Some(value), 1..) = (value, weight) {
                        let value = value.exact();
                        bins.add_near(&value, weight, bin_of(value));
                        values.add(value, weight);
                        let product = match weight {
                            1 => Some(value),
                            weight => value.checked_mul(i128::from(weight)),
                        };
                        let both = sum.zip(product);
                        *sum = both.and_then(|(sum, product)| sum.checked_add(product));
                    }
                });
            }, _ => {});
            }
            Self::Float { bins, sum, values } => {
                with_native!(Physical::of(array.data_type()), N => {
                let lowest = bins.edges.first().copied().unwrap_or(0.0);
                let span = bins.edges.last().map_or(0.0, |highest| highest - lowest);
                let scale = bins.counts.len() as f64 / span;
                each_native::<N>(array, start, end, |value| {
                    let weight = weight_of(weights, index);
                    index += 1;
                    if let (Some(value), 1..) = (value.filter(|value| value.is_finite()), weight) {
                        let value = value.float() / unit;
                        bins.add_near(&value, weight, ((value - lowest) * scale) as usize);
                        values.add(float_key(value), weight);
                        sum.add_times(value, weight);
                    }
                });
            }, _ => {});
            }
        }
    }
}
