use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;

use super::distinct::Distinct;
use super::key::{
    Key, Key256, Keyed, Physical, each_boolean, each_bytes, each_native, with_native,
};
use super::spread::{Counted, Counts, weight_of};
use crate::semantics::Lengths;

/// The counts and extremes of a column's values.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) num_nulls: u64,
    pub(super) num_nan: u64,
    pub(super) num_infinite: u64,
    pub(super) distinct: Distinct,
    /// Of texts.
    pub(super) lengths: Lengths,
    pub(super) lowest: Option<Extreme>,
    pub(super) highest: Option<Extreme>,
}

/// A value, with an array that holds it.
#[derive(Debug, Clone)]
pub(super) struct Extreme {
    key: Key256,
    bytes: Vec<u8>,
    pub(super) array: ArrayRef,
    pub(super) index: usize,
}

impl Extreme {
    pub(super) fn exact(&self) -> i128 {
        let mut found = 0;
        self.visit(|number, _| found = number);
        found
    }

    pub(super) fn float(&self) -> f64 {
        let mut found = 0.0;
        self.visit(|_, number| found = number);
        found
    }

    fn visit(&self, mut visit: impl FnMut(i128, f64)) {
        with_native!(Physical::of(self.array.data_type()), N => {
            each_native::<N>(&self.array, self.index, self.index + 1, |value| {
                if let Some(value) = value {
                    visit(value.exact(), value.float());
                }
            });
        }, _ => {});
    }
}

impl Totals {
    /// Adds values `[start, end)` of a plain array, each as often as its weight states. Texts and booleans
    /// are counted by `counts`, which becomes `None` if there are too many values.
    pub(super) fn add(
        &mut self,
        array: &ArrayRef,
        start: usize,
        end: usize,
        weights: Option<&[u64]>,
        counts: &mut Option<Counts>,
    ) {
        let physical = Physical::of(array.data_type());
        let is_text = array.data_type().is_string();
        let mut index = start;
        let mut nulls = 0;
        with_native!(physical, N => {
            let num_bytes = 8 * physical.num_limbs();
            let mut lowest: Option<(<N as Keyed>::Key, usize)> = None;
            let mut highest: Option<(<N as Keyed>::Key, usize)> = None;
            each_native::<N>(array, start, end, |value| {
                let weight = weight_of(weights, index);
                match value {
                    _ if weight == 0 => {}
                    None => nulls += weight,
                    Some(value) => {
                        let key = value.key();
                        let mut bytes = [0; 32];
                        for limb in 0..num_bytes / 8 {
                            bytes[limb * 8..limb * 8 + 8].copy_from_slice(&key.limb(limb).to_le_bytes());
                        }
                        self.distinct.add(&bytes[..num_bytes]);
                        if value.is_finite() {
                            if lowest.is_none_or(|(least, _)| key < least) {
                                lowest = Some((key, index));
                            }
                            if highest.is_none_or(|(most, _)| key > most) {
                                highest = Some((key, index));
                            }
                        } else if value.is_nan() {
                            self.num_nan += weight;
                        } else {
                            self.num_infinite += weight;
                        }
                    }
                }
                index += 1;
            });
            for (key, index) in [lowest, highest].into_iter().flatten() {
                self.reach(key.widened(), &[], array, index);
            }
        }, _ => {
            let mut visit = |value: Option<&[u8]>| {
                let weight = weight_of(weights, index);
                match value {
                    _ if weight == 0 => {}
                    None => nulls += weight,
                    Some(bytes) => {
                        if is_text {
                            self.lengths.add(bytes, weight);
                        }
                        let counted = counts.as_mut().map(|counts| counts.add(bytes, weight));
                        if counted == Some(Counted::NoRoom) {
                            *counts = None;
                        }
                        // A counted value is included already.
                        if counted != Some(Counted::Again) {
                            self.distinct.add(bytes);
                            self.reach((0, 0), bytes, array, index);
                        }
                    }
                }
                index += 1;
            };
            if physical == Physical::Boolean {
                each_boolean(array.as_boolean(), start, end, |value| {
                    visit(value.map(|value| if value { &b"true"[..] } else { b"false" }));
                });
            } else {
                each_bytes(array, start, end, visit);
            }
        });
        self.num_nulls += nulls;
    }

    /// Updates the lowest and the highest value.
    fn reach(&mut self, key: Key256, bytes: &[u8], array: &ArrayRef, index: usize) {
        let new = |old: &mut Option<Extreme>| {
            *old = Some(Extreme {
                key,
                bytes: bytes.to_vec(),
                array: Arc::clone(array),
                index,
            });
        };
        let value = (key, bytes);
        if self
            .lowest
            .as_ref()
            .is_none_or(|old| value < (old.key, &old.bytes))
        {
            new(&mut self.lowest);
        }
        if self
            .highest
            .as_ref()
            .is_none_or(|old| value > (old.key, &old.bytes))
        {
            new(&mut self.highest);
        }
    }
}
