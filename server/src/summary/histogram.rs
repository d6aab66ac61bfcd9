use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::arrow::error::ArrowError;
use serde::Serialize;

use super::Summary;
use super::number::Exact;
use crate::cells::texts;
use crate::error::{ErrorKind, QueryError};

/// The most bins of a histogram.
const MAX_BINS: usize = 32;

/// How the values are spread. Bin `k` holds the values from `edges[k]` to below `edges[k + 1]`; the
/// last bin holds its upper edge too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Histogram {
    /// One more than counts, ascending; texts as cells show them.
    pub edges: Vec<String>,
    /// Their sum is the number of values that are neither null nor beyond all numbers.
    pub counts: Vec<u64>,
}

/// Gathers numbers or times.
pub(super) enum Numbers {
    /// As integers.
    Exact {
        exact: Exact,
        bins: Bins<i128>,
        /// `None` once it was beyond 128 bits.
        sum: Option<i128>,
    },
    /// As floats; `is_float` where the column is one.
    Float {
        is_float: bool,
        bins: Bins<f64>,
        sum: FloatSum,
        num_nan: u64,
        num_infinite: u64,
    },
}

pub(super) struct Bins<T> {
    edges: Vec<T>,
    counts: Vec<u64>,
}

impl<T: PartialOrd> Bins<T> {
    fn new(edges: Vec<T>) -> Self {
        let counts = vec![0; edges.len().saturating_sub(1)];
        Self { edges, counts }
    }

    fn add(&mut self, value: &T) {
        let inner = &self.edges[1..self.counts.len().max(1)];
        let bin = inner.partition_point(|edge| edge <= value);
        if let Some(count) = self.counts.get_mut(bin) {
            *count += 1;
        }
    }

    fn num_values(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// A sum with the error of each addition carried along (Neumaier).
#[derive(Default)]
pub(super) struct FloatSum {
    sum: f64,
    error: f64,
}

impl FloatSum {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.error += if self.sum.abs() >= value.abs() {
            (self.sum - sum) + value
        } else {
            (value - sum) + self.sum
        };
        self.sum = sum;
    }

    fn total(&self) -> f64 {
        let total = self.sum + self.error;
        if total.is_finite() { total } else { self.sum }
    }
}

impl Numbers {
    /// For values of the type from `smallest` to `largest`, one row each.
    pub(super) fn new(
        data_type: &DataType,
        smallest: &dyn Array,
        largest: &dyn Array,
    ) -> Result<Self, ArrowError> {
        let [smallest, largest] = [smallest, largest].map(|array| array.slice(0, 1));
        if let Some(exact) = Exact::of(data_type) {
            let lowest = exact.values(&smallest)?;
            let highest = exact.values(&largest)?;
            let edges = match (lowest.first(), highest.first()) {
                (Some(lowest), Some(highest)) => exact_edges(*lowest, *highest),
                _ => Vec::new(),
            };
            return Ok(Self::Exact {
                exact,
                bins: Bins::new(edges),
                sum: Some(0),
            });
        }
        let [lowest, highest] = [smallest, largest].map(|array| floats(&array));
        let edges = match (lowest?.first(), highest?.first()) {
            (Some(lowest), Some(highest)) => float_edges(*lowest, *highest),
            _ => Vec::new(),
        };
        Ok(Self::Float {
            is_float: data_type.is_floating(),
            bins: Bins::new(edges),
            sum: FloatSum::default(),
            num_nan: 0,
            num_infinite: 0,
        })
    }

    /// Takes the values of an array of the type.
    pub(super) fn add(&mut self, array: &ArrayRef) -> Result<(), ArrowError> {
        match self {
            Self::Exact { exact, bins, sum } => {
                for value in exact.values(array)? {
                    bins.add(&value);
                    *sum = sum.and_then(|sum| sum.checked_add(value));
                }
            }
            Self::Float {
                bins,
                sum,
                num_nan,
                num_infinite,
                ..
            } => {
                for value in floats(array)? {
                    if value.is_nan() {
                        *num_nan += 1;
                    } else if value.is_infinite() {
                        *num_infinite += 1;
                    } else {
                        bins.add(&value);
                        sum.add(value);
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes mean, histogram and counts into the answer.
    pub(super) fn finish(self, answer: &mut Summary) -> Result<(), QueryError> {
        let (mean, edges, counts) = match self {
            Self::Exact { exact, bins, sum } => {
                let num_values = bins.num_values();
                let mean = match (&exact, sum) {
                    (_, None) => None,
                    _ if num_values == 0 => None,
                    (Exact::Ticks(_), Some(sum)) => {
                        let half = i128::from(num_values / 2);
                        let rounded = (sum + half).div_euclid(i128::from(num_values));
                        Some(exact.array(&[rounded]))
                    }
                    (Exact::Digits(scale), Some(sum)) => {
                        let mean = sum as f64 / num_values as f64;
                        let mean = mean / 10_f64.powi(i32::from(*scale));
                        Some(Ok(Arc::new(Float64Array::from(vec![mean])) as ArrayRef))
                    }
                };
                (mean, exact.array(&bins.edges), bins.counts)
            }
            Self::Float {
                is_float,
                bins,
                sum,
                num_nan,
                num_infinite,
            } => {
                if is_float {
                    answer.nan = Some(num_nan);
                    answer.infinite = Some(num_infinite);
                }
                let num_values = bins.num_values();
                let mean = (num_values > 0).then(|| {
                    let mean = sum.total() / num_values as f64;
                    Ok(Arc::new(Float64Array::from(vec![mean])) as ArrayRef)
                });
                let edges = Arc::new(Float64Array::from(bins.edges)) as ArrayRef;
                (mean, Ok(edges), bins.counts)
            }
        };
        if let Some(mean) = mean {
            answer.mean = cell_texts(mean)?.pop();
        }
        answer.histogram = Some(Histogram {
            edges: cell_texts(edges)?,
            counts,
        });
        Ok(())
    }
}

/// Bins of the same whole width; the last one ends behind `highest`.
fn exact_edges(lowest: i128, highest: i128) -> Vec<i128> {
    let span = highest.abs_diff(lowest);
    let width = (span / MAX_BINS as u128 + 1) as i128;
    let mut edges = vec![lowest];
    let mut edge = lowest;
    while edge <= highest {
        edge = edge.saturating_add(width);
        edges.push(edge);
        if edge == i128::MAX {
            break;
        }
    }
    edges
}

/// Bins of about the same width; fewer where floats do not lie closely enough.
fn float_edges(lowest: f64, highest: f64) -> Vec<f64> {
    let num_bins = MAX_BINS as f64;
    let mut edges: Vec<f64> = (0..=MAX_BINS)
        .map(|k| {
            let part = k as f64 / num_bins;
            // Each side by itself: the difference of the largest numbers is not finite.
            lowest * (1.0 - part) + highest * part
        })
        .collect();
    edges[0] = lowest;
    edges[MAX_BINS] = highest;
    edges.dedup_by(|next, edge| *next <= *edge);
    if edges.len() == 1 {
        edges.push(highest);
    } else if let Some(last) = edges.last_mut() {
        *last = highest;
    }
    edges
}

fn floats(array: &ArrayRef) -> Result<Vec<f64>, ArrowError> {
    let floats = cast(array, &DataType::Float64)?;
    Ok(floats
        .as_primitive::<Float64Type>()
        .iter()
        .flatten()
        .collect())
}

fn cell_texts(array: Result<ArrayRef, ArrowError>) -> Result<Vec<String>, QueryError> {
    let batch = array.and_then(|array| RecordBatch::try_from_iter([("value", array)]));
    let batch = batch.map_err(|error| cannot_summarise(&error))?;
    Ok(texts(&batch)?.remove(0).into_iter().flatten().collect())
}

pub(super) fn cannot_summarise(error: &ArrowError) -> QueryError {
    QueryError::new(
        ErrorKind::ExecutionError,
        format!("the column cannot be summarised: {error}"),
        "summarise another column",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_integers() {
        assert_eq!(exact_edges(1, 7), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(exact_edges(5, 5), [5, 6]);
        for (lowest, highest) in [(0, 31), (0, 32), (-1000, 1000), (i128::MIN, i128::MAX)] {
            let edges = exact_edges(lowest, highest);
            assert!(
                edges.len() <= MAX_BINS + 1,
                "{lowest} to {highest}: {}",
                edges.len()
            );
            assert!(edges.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(edges[edges.len() - 1] >= highest);
        }
    }

    #[test]
    fn edges_of_floats() {
        assert_eq!(float_edges(0.0, 32.0)[..3], [0.0, 1.0, 2.0]);
        assert_eq!(float_edges(2.5, 2.5), [2.5, 2.5]);
        for (lowest, highest) in [
            (f64::MIN, f64::MAX),
            (1.0, 1.0_f64.next_up()),
            (0.0, 5e-324),
        ] {
            let edges = float_edges(lowest, highest);
            assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
            assert_eq!((edges[0], edges[edges.len() - 1]), (lowest, highest));
        }
    }

    #[test]
    fn every_value_has_a_bin() {
        let mut bins = Bins::new(float_edges(-1.0, 1.0));
        for value in [-1.0, -0.5, 0.0, 0.999, 1.0] {
            bins.add(&value);
        }
        assert_eq!(bins.num_values(), 5);
        assert_eq!(bins.counts[MAX_BINS - 1], 2);
    }

    #[test]
    fn the_sum_of_floats_keeps_small_ones() {
        let mut sum = FloatSum::default();
        for value in [1.0, 1e100, 1.0, -1e100] {
            sum.add(value);
        }
        assert_eq!(sum.total(), 2.0);
    }
}
