use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::key::{Keyed, Physical, each_boolean, each_bytes, each_native, with_native};
use crate::semantics::{Bins, FloatSum};

/// The number of most frequent values that are reported.
const NUM_TOP: usize = 10;

/// The assumed average size in bytes of a counted value.
const COUNTED_BYTES: usize = 64;

/// The distribution of the values.
#[derive(Debug)]
pub(super) enum Spread {
    Exact {
        bins: Bins<i128>,
        /// `None` if it exceeded 128 bits.
        sum: Option<i128>,
    },
    Float {
        bins: Bins<f64>,
        sum: FloatSum,
    },
    /// The number of rows for each value; `None` if there are too many values.
    Counts(Option<Counts>),
}

/// The frequency of values.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) known: HashMap<Vec<u8>, u64>,
    /// How many more values can be added, and how many bytes of values.
    room: Option<(usize, usize)>,
}

impl Counts {
    /// Counts up to `max_counted` different values.
    pub(super) fn new(max_counted: usize) -> Self {
        Self {
            known: HashMap::new(),
            room: Some((max_counted, max_counted.saturating_mul(COUNTED_BYTES))),
        }
    }

    /// Counts a value. Returns false if there is no room for it.
    fn add(&mut self, value: &[u8], weight: u64) -> bool {
        if let Some(count) = self.known.get_mut(value) {
            *count += weight;
            return true;
        }
        let Some((num_values, num_bytes)) = &mut self.room else {
            return true;
        };
        if *num_values == 0 || *num_bytes < value.len() {
            return false;
        }
        *num_values -= 1;
        *num_bytes -= value.len();
        self.known.insert(value.to_vec(), weight);
        true
    }

    /// The most frequent values. Equally frequent ones are in the order of their bytes.
    pub(super) fn top(&self) -> Vec<(&Vec<u8>, &u64)> {
        let mut counts: Vec<_> = self.known.iter().collect();
        counts.sort_unstable_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        counts.truncate(NUM_TOP);
        counts
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
            },
            Self::Float { bins, .. } => Self::Float {
                bins: Bins::new(bins.edges.clone()),
                sum: FloatSum::default(),
            },
            Self::Counts(counts) => Self::Counts(Some(Counts {
                known: counts
                    .as_ref()?
                    .top()
                    .into_iter()
                    .map(|(value, _)| (value.clone(), 0))
                    .collect(),
                room: None,
            })),
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
            Self::Counts(counts) => {
                let mut visit = |value: Option<&[u8]>| {
                    let weight = weight_of(weights, index);
                    index += 1;
                    let (Some(bytes), 1.., Some(known)) = (value, weight, counts.as_mut()) else {
                        return;
                    };
                    if !known.add(bytes, weight) {
                        *counts = None;
                    }
                };
                if Physical::of(array.data_type()) == Physical::Boolean {
                    each_boolean(array.as_boolean(), start, end, |value| {
                        visit(value.map(|value| if value { &b"true"[..] } else { b"false" }));
                    });
                } else {
                    each_bytes(array, start, end, visit);
                }
            }
            Self::Exact { bins, sum } => with_native!(Physical::of(array.data_type()), N => {
                each_native::<N>(array, start, end, |value| {
                    let weight = weight_of(weights, index);
                    index += 1;
                    if let (Some(value), 1..) = (value, weight) {
                        let value = value.exact();
                        bins.add(&value, weight);
                        *sum = sum.and_then(|sum| {
                            sum.checked_add(value.checked_mul(i128::from(weight))?)
                        });
                    }
                });
            }, _ => {}),
            Self::Float { bins, sum } => with_native!(Physical::of(array.data_type()), N => {
                each_native::<N>(array, start, end, |value| {
                    let weight = weight_of(weights, index);
                    index += 1;
                    if let (Some(value), 1..) = (value.filter(|value| value.is_finite()), weight) {
                        let value = value.float() / unit;
                        bins.add(&value, weight);
                        sum.add_times(value, weight);
                    }
                });
            }, _ => {}),
        }
    }
}
