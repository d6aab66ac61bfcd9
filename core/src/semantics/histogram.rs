/// The maximum number of bins of a histogram.
const MAX_BINS: usize = 32;

/// The distribution of numbers. Bin `k` holds the values from `edges[k]` to below `edges[k + 1]`; the
/// last bin includes its upper edge.
#[derive(Debug)]
pub struct Bins<T> {
    /// The edges of the bins in ascending order; one more than `counts`.
    pub edges: Vec<T>,
    /// The number of values in each bin.
    pub counts: Vec<u64>,
}

impl<T: PartialOrd> Bins<T> {
    /// Empty bins between these edges.
    #[must_use]
    pub fn new(edges: Vec<T>) -> Self {
        let counts = vec![0; edges.len().saturating_sub(1)];
        Self { edges, counts }
    }

    /// Counts a value `weight` times. It must lie between the first and the last edge.
    pub fn add(&mut self, value: &T, weight: u64) {
        let inner = self.edges.get(1..self.counts.len()).unwrap_or_default();
        let bin = inner.partition_point(|edge| edge <= value);
        if let Some(count) = self.counts.get_mut(bin) {
            *count += weight;
        }
    }

    /// The number of all counted values.
    #[must_use]
    pub fn num_values(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// A sum that carries the rounding error of each addition along (Neumaier).
#[derive(Debug, Default)]
pub struct FloatSum {
    sum: f64,
    error: f64,
}

impl FloatSum {
    /// Adds a number.
    pub fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.error += if self.sum.abs() >= value.abs() {
            (self.sum - sum) + value
        } else {
            (value - sum) + self.sum
        };
        self.sum = sum;
    }

    /// The sum so far; not finite if it is outside the range of f64.
    #[must_use]
    pub fn total(&self) -> f64 {
        let total = self.sum + self.error;
        if total.is_finite() { total } else { self.sum }
    }
}

/// The edges of bins of equal integer width. The last bin ends above `highest`.
#[must_use]
pub fn exact_edges(lowest: i128, highest: i128) -> Vec<i128> {
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

/// The edges of bins of about equal width. There are fewer bins where floats are too far apart.
#[must_use]
pub fn float_edges(lowest: f64, highest: f64) -> Vec<f64> {
    let num_bins = MAX_BINS as f64;
    let mut edges: Vec<f64> = (0..=MAX_BINS)
        .map(|k| {
            let part = k as f64 / num_bins;
            // Multiplied separately, because the difference of the largest numbers is not finite.
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
    fn edges() {
        assert_eq!(exact_edges(1, 7), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(exact_edges(5, 5), [5, 6]);
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
    fn an_edge_belongs_to_the_upper_bin() {
        let mut bins = Bins::new(float_edges(-1.0, 1.0));
        for value in [-1.0, -0.5, 0.0, 0.999, 1.0] {
            bins.add(&value, 1);
        }
        assert_eq!(bins.num_values(), 5);
        assert_eq!(bins.counts[MAX_BINS - 1], 2);
        Bins::new(Vec::new()).add(&0, 1);
    }

    #[test]
    fn every_value_has_a_bin() {
        for (lowest, highest) in [
            (0, 0),
            (0, 31),
            (0, 32),
            (-1000, 1000),
            (i128::MIN, i128::MAX),
        ] {
            let mut bins = Bins::new(exact_edges(lowest, highest));
            assert!(bins.counts.len() <= MAX_BINS);
            assert!(bins.edges.windows(2).all(|pair| pair[0] < pair[1]));
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
