use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::key::{Keyed, Physical, each_boolean, each_bytes, each_native, with_native};
use crate::semantics::{Bins, FloatSum};

/// Different values that are counted at most; of columns with more, none is told.
const MAX_COUNTED: usize = 1 << 20;

/// How the values are spread.
#[derive(Debug)]
pub(super) enum Spread {
    Exact {
        bins: Bins<i128>,
        /// `None` once it was beyond 128 bits.
        sum: Option<i128>,
    },
    Float {
        bins: Bins<f64>,
        sum: FloatSum,
    },
    /// Rows by value; `None` where there are too many values.
    Counts(Option<HashMap<Vec<u8>, u64>>),
}

/// How often a value counts: once where nothing says otherwise.
pub(super) fn weight_of(weights: Option<&[u64]>, index: usize) -> u64 {
    weights.map_or(1, |weights| weights[index])
}

impl Spread {
    /// Takes values `[start, end)` of a plain array, each as often as its weight says; stored floats
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
                    if let Some(count) = known.get_mut(bytes) {
                        *count += weight;
                    } else if known.len() < MAX_COUNTED {
                        known.insert(bytes.to_vec(), weight);
                    } else {
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
                        sum.add(value * weight as f64);
                    }
                });
            }, _ => {}),
        }
    }
}
