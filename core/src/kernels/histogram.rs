//! How numbers are spread. The same edges as the server's.

/// The most bins of a histogram.
const MAX_BINS: usize = 32;

/// Bin `k` holds the values from `edges[k]` to below `edges[k + 1]`; the last one its upper edge too.
#[derive(Debug)]
pub(super) struct Bins<T> {
    pub(super) edges: Vec<T>,
    pub(super) counts: Vec<u64>,
}

impl<T: PartialOrd> Bins<T> {
    pub(super) fn new(edges: Vec<T>) -> Self {
        let counts = vec![0; edges.len().saturating_sub(1)];
        Self { edges, counts }
    }

    pub(super) fn add(&mut self, value: &T, weight: u64) {
        let inner = &self.edges[1..self.counts.len().max(1)];
        let bin = inner.partition_point(|edge| edge <= value);
        if let Some(count) = self.counts.get_mut(bin) {
            *count += weight;
        }
    }

    pub(super) fn num_values(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// A sum with the error of each addition carried along (Neumaier).
#[derive(Debug, Default)]
pub(super) struct FloatSum {
    sum: f64,
    error: f64,
}

impl FloatSum {
    pub(super) fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.error += if self.sum.abs() >= value.abs() {
            (self.sum - sum) + value
        } else {
            (value - sum) + self.sum
        };
        self.sum = sum;
    }

    pub(super) fn total(&self) -> f64 {
        let total = self.sum + self.error;
        if total.is_finite() { total } else { self.sum }
    }
}

/// Bins of the same whole width; the last one ends behind `highest`.
pub(super) fn exact_edges(lowest: i128, highest: i128) -> Vec<i128> {
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
pub(super) fn float_edges(lowest: f64, highest: f64) -> Vec<f64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_bin() {
        for (lowest, highest) in [(0, 0), (1, 7), (-1000, 1000), (i128::MIN, i128::MAX)] {
            let mut bins = Bins::new(exact_edges(lowest, highest));
            assert!(bins.counts.len() <= MAX_BINS && bins.edges.is_sorted());
            bins.add(&lowest, 1);
            bins.add(&highest, 2);
            assert_eq!(bins.num_values(), 3);
        }
        for (lowest, highest) in [(2.5, 2.5), (f64::MIN, f64::MAX), (0.0, 5e-324)] {
            let mut bins = Bins::new(float_edges(lowest, highest));
            assert!(bins.counts.len() <= MAX_BINS && bins.edges.is_sorted());
            bins.add(&lowest, 1);
            bins.add(&highest, 2);
            assert_eq!(bins.num_values(), 3);
        }
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
