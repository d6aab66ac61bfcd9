use arrow_schema::{DataType, TimeUnit};

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

    /// Like [`add`](Self::add), but fast if the value's bin is at `guess` or beside it.
    #[inline]
    pub fn add_near(&mut self, value: &T, weight: u64, guess: usize) {
        let Some(last) = self.counts.len().checked_sub(1) else {
            return;
        };
        let mut bin = guess.min(last);
        while bin < last && self.edges[bin + 1] <= *value {
            bin += 1;
        }
        while bin > 0 && *value < self.edges[bin] {
            bin -= 1;
        }
        self.counts[bin] += weight;
    }

    /// The number of all counted values.
    #[must_use]
    pub fn num_values(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// 2^-64, by which numbers are multiplied whose sum is outside the range of f64.
const SMALL_SCALE: f64 = 1.0 / (1u128 << 64) as f64;

/// A sum that carries the rounding error of each addition along (Neumaier).
#[derive(Debug)]
pub struct FloatSum {
    sum: f64,
    error: f64,
    /// The factor of all numbers so far: 1 or [`SMALL_SCALE`].
    scale: f64,
}

impl Default for FloatSum {
    fn default() -> Self {
        Self {
            sum: 0.0,
            error: 0.0,
            scale: 1.0,
        }
    }
}

impl FloatSum {
    /// Adds a finite number.
    pub fn add(&mut self, value: f64) {
        self.add_times(value, 1);
    }

    /// Adds a finite number `weight` times.
    pub fn add_times(&mut self, value: f64, weight: u64) {
        let mut product = value * self.scale * weight as f64;
        if !(self.sum + product).is_finite() && self.scale != SMALL_SCALE {
            self.sum *= SMALL_SCALE;
            self.error *= SMALL_SCALE;
            self.scale = SMALL_SCALE;
            product = value * SMALL_SCALE * weight as f64;
        }
        let sum = self.sum + product;
        self.error += if self.sum.abs() >= product.abs() {
            (self.sum - sum) + product
        } else {
            (product - sum) + self.sum
        };
        self.sum = sum;
    }

    /// The mean of `num_values` added numbers.
    #[must_use]
    pub fn mean(&self, num_values: u64) -> f64 {
        (self.sum + self.error) / num_values as f64 / self.scale
    }
}

/// The mean of decimals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExactMean {
    /// A mean that f64 holds to 15 digits or more behind its first one.
    Float(f64),
    /// The digits of a mean that f64 does not hold to the unit, rounded to it.
    Rounded(i128),
}

impl ExactMean {
    /// The mean of `num_values` decimals, which is not 0, whose digits have this sum.
    #[must_use]
    pub fn of(sum: i128, num_values: u64, scale: i8) -> Self {
        let rounded = rounded_mean(sum, num_values);
        match rounded.unsigned_abs() < 1 << f64::MANTISSA_DIGITS {
            true => Self::Float(with_point(sum as f64 / num_values as f64, scale)),
            false => Self::Rounded(rounded),
        }
    }
}

/// Moves the point of a number `scale` digits to the left.
fn with_point(number: f64, scale: i8) -> f64 {
    // f64 has these powers exactly.
    if (0..=22).contains(&scale) {
        return number / 10_f64.powi(scale.into());
    }
    let moved = format!("{number}e{}", -i32::from(scale));
    moved.parse().unwrap_or(f64::NAN)
}

/// The mean of `num_values` integers, which is not 0, rounded to an integer.
#[must_use]
pub fn rounded_mean(sum: i128, num_values: u64) -> i128 {
    let (count, half) = (i128::from(num_values), i128::from(num_values / 2));
    // The half is not added to the sum, which may be the largest integer.
    let (quotient, rest) = (sum.div_euclid(count), sum.rem_euclid(count));
    quotient + i128::from(rest + half >= count)
}

/// The largest value of a time of day in ticks; of other types, the largest integer.
#[must_use]
pub fn largest_value(data_type: &DataType) -> i128 {
    let ticks_per_second = match data_type {
        DataType::Time32(unit) | DataType::Time64(unit) => match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000,
        },
        _ => return i128::MAX,
    };
    86_400 * ticks_per_second - 1
}

/// The edges of bins of equal integer width. The last bin ends above `highest`, unless the type has no
/// value there: `largest` is its largest value, or less than `highest`.
#[must_use]
pub fn exact_edges(lowest: i128, highest: i128, largest: i128) -> Vec<i128> {
    let span = highest.abs_diff(lowest);
    let width = (span / MAX_BINS as u128 + 1) as i128;
    let end = largest.max(highest);
    let mut edges = vec![lowest];
    let mut edge = lowest;
    while edge <= highest {
        edge = edge.saturating_add(width).min(end);
        edges.push(edge);
        if edge == end {
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
        let most = i128::MAX;
        assert_eq!(exact_edges(1, 7, most), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(exact_edges(5, 5, most), [5, 6]);
        let seconds = largest_value(&DataType::Time32(TimeUnit::Second));
        assert_eq!(exact_edges(86_398, 86_399, seconds), [86_398, 86_399]);
        assert_eq!(exact_edges(86_399, 86_399, seconds), [86_399, 86_399]);
        assert_eq!(exact_edges(86_400, 86_400, seconds), [86_400, 86_400]);
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
            let mut bins = Bins::new(exact_edges(lowest, highest, i128::MAX));
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
        assert_eq!(sum.mean(4), 0.5);
    }

    #[test]
    fn a_mean_is_finite_even_if_the_sum_is_not() {
        for (value, weights) in [
            (1.7e308, [1, 1]),
            (f64::MIN, [u64::MAX, 3]),
            (1.7e308, [2, 0]),
        ] {
            let mut sum = FloatSum::default();
            for weight in weights {
                sum.add_times(value, weight);
            }
            let num_values = weights
                .iter()
                .fold(0u64, |all, one| all.saturating_add(*one));
            assert_eq!(sum.mean(num_values), value);
        }
        let mut sum = FloatSum::default();
        for value in [f64::MAX, f64::MAX, -f64::MAX] {
            sum.add(value);
        }
        assert_eq!(sum.mean(1), f64::MAX);
    }

    #[test]
    fn a_mean_of_large_integers_keeps_its_units() {
        let large = (1i128 << 53) + 1;
        let of = |sum, num_values| ExactMean::of(sum, num_values, 0);
        assert_eq!(of(large, 1), ExactMean::Rounded(large));
        assert_eq!(of(5 * large + 2, 5), ExactMean::Rounded(large));
        assert_eq!(of(-5 * large - 3, 5), ExactMean::Rounded(-large - 1));
        assert_eq!(of(5, 2), ExactMean::Float(2.5));
        assert_eq!(rounded_mean(i128::MAX, 1), i128::MAX);
        assert_eq!([5, -5].map(|sum| rounded_mean(sum, 2)), [3, -2]);
    }

    #[test]
    fn a_mean_of_equal_decimals_is_each_of_them() {
        for scale in -76..=76_i8 {
            for digits in -99..100_i128 {
                let value = format!("{digits}e{}", -i32::from(scale)).parse().unwrap();
                assert_eq!(ExactMean::of(3 * digits, 3, scale), ExactMean::Float(value));
            }
        }
    }
}
