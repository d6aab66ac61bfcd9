use std::cmp::Ordering;

/// Values that are kept at most, with their weights.
const MAX_ITEMS: usize = 1 << 18;
/// The number of values whose places are remembered: 2 to the power of this.
const RECENT_BITS: u32 = 13;

/// Values that divide the others into four parts of the same size. Each is the least value that is not smaller than a
/// quarter, a half or three quarters of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quartiles<T> {
    /// The first quartile.
    pub lower: T,
    /// The second one.
    pub median: T,
    /// The third one.
    pub upper: T,
    /// Whether they were found in a sample; the rank is then wrong by about 0.2 %.
    pub is_approximate: bool,
}

impl<T> Quartiles<T> {
    /// The same quartiles in another form.
    pub fn map<U>(self, form: impl Fn(T) -> U) -> Quartiles<U> {
        Quartiles {
            lower: form(self.lower),
            median: form(self.median),
            upper: form(self.upper),
            is_approximate: self.is_approximate,
        }
    }
}

impl<T: Copy> Quartiles<T> {
    /// The quartiles of values in ascending order, with their weights, which together are `total`. `None` if there are
    /// no values.
    fn of(ascending: impl Iterator<Item = (T, u64)>, total: u64) -> Option<Self> {
        let rank = |quarters: u64| (u128::from(total) * u128::from(quarters)).div_ceil(4) as u64;
        let mut ranks = [1, 2, 3].map(rank).into_iter().peekable();
        let (mut found, mut so_far) = (Vec::new(), 0);
        for (value, weight) in ascending {
            so_far += weight;
            while ranks.next_if(|rank| *rank <= so_far).is_some() {
                found.push(value);
            }
        }
        let [lower, median, upper] = found.try_into().ok()?;
        (total > 0).then_some(Self {
            lower,
            median,
            upper,
            is_approximate: false,
        })
    }
}

/// A number of the order of floats that are finite; a zero of any sign is the same.
#[must_use]
pub fn float_key(value: f64) -> i128 {
    let bits = (value + 0.0).to_bits() as i64;
    i128::from(bits ^ ((bits >> 63) as u64 >> 1) as i64)
}

/// The float of a [`float_key`].
#[must_use]
pub fn float_of_key(key: i128) -> f64 {
    let bits = key as i64;
    f64::from_bits((bits ^ ((bits >> 63) as u64 >> 1) as i64) as u64)
}

/// Values with weights, of which quartiles are taken: all of them while few are different, and then a sample.
///
/// What is kept is sorted and thinned in the manner of Karnin, Lang and Liberty, "Optimal Quantile Approximation in
/// Streams", 2016: of the values that weigh less than the unit, every one that completes a unit stays.
#[derive(Debug, Clone)]
pub struct Distribution {
    items: Vec<(i128, u64)>,
    /// Where values may stand in `items`, by their hashes: most columns repeat their values.
    recent: Vec<u32>,
    /// A value that weighs less is kept with the probability of its share, and then has this weight.
    unit: u64,
    random: u64,
}

impl Default for Distribution {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            recent: vec![0; 1 << RECENT_BITS],
            unit: 1,
            random: 0x9E37_79B9_7F4A_7C15,
        }
    }
}

impl Distribution {
    /// Adds a value `weight` times.
    #[inline(never)]
    pub fn add(&mut self, value: i128, weight: u64) {
        if self.unit == 1 {
            let hash = (value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - RECENT_BITS);
            let place = &mut self.recent[hash as usize];
            if let Some(item) = self.items.get_mut(*place as usize)
                && item.0 == value
            {
                item.1 += weight;
                return;
            }
            *place = self.items.len() as u32;
        }
        if weight >= self.unit {
            self.items.push((value, weight));
        } else if self.random() % self.unit < weight {
            self.items.push((value, self.unit));
        } else {
            return;
        }
        if self.items.len() == MAX_ITEMS {
            self.thin();
        }
    }

    /// The number of values that are kept.
    #[must_use]
    pub fn num_kept(&self) -> usize {
        self.items.len()
    }

    /// The quartiles; `None` if there are no values.
    pub fn quartiles(&mut self) -> Option<Quartiles<i128>> {
        self.merge();
        let total = self.items.iter().map(|(_, weight)| weight).sum();
        let quartiles = Quartiles::of(self.items.iter().copied(), total)?;
        Some(Quartiles {
            is_approximate: self.unit > 1,
            ..quartiles
        })
    }

    /// Sorts the values and joins equal ones.
    fn merge(&mut self) {
        self.items.sort_by(compare);
        self.items.dedup_by(|next, kept| {
            let is_equal = next.0 == kept.0;
            kept.1 += if is_equal { next.1 } else { 0 };
            is_equal
        });
    }

    #[cold]
    fn thin(&mut self) {
        self.merge();
        while self.items.len() > MAX_ITEMS / 2 {
            self.unit *= 2;
            let unit = self.unit;
            let mut open = self.random() % unit;
            self.items.retain_mut(|(_, weight)| {
                if *weight >= unit {
                    return true;
                }
                open += *weight;
                let is_full = open >= unit;
                if is_full {
                    open -= unit;
                    *weight = unit;
                }
                is_full
            });
        }
    }

    /// The next number of a xorshift generator.
    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

/// A call, because the sort would repeat the comparison of wide integers many times in the wasm module.
#[inline(never)]
fn compare(one: &(i128, u64), other: &(i128, u64)) -> Ordering {
    one.0.cmp(&other.0)
}

/// Lengths below this are counted in an array.
const NUM_SHORT: usize = 128;

/// How many texts have each length, in characters (Unicode scalar values). There are few different lengths, because all
/// texts together are as long as they are.
#[derive(Debug, Clone)]
pub struct Lengths {
    short: [u64; NUM_SHORT],
    /// Other lengths, ascending, with their counts.
    long: Vec<(usize, u64)>,
}

impl Default for Lengths {
    fn default() -> Self {
        Self {
            short: [0; NUM_SHORT],
            long: Vec::new(),
        }
    }
}

impl Lengths {
    /// Counts a text, which is UTF-8, `weight` times.
    #[inline(never)]
    pub fn add(&mut self, text: &[u8], weight: u64) {
        let is_start = |byte: &&u8| **byte & 0xC0 != 0x80;
        let num_chars = text.iter().filter(is_start).count();
        if let Some(count) = self.short.get_mut(num_chars) {
            *count += weight;
            return;
        }
        let at = self.long.partition_point(|(length, _)| *length < num_chars);
        match self.long.get_mut(at) {
            Some((length, count)) if *length == num_chars => *count += weight,
            _ => self.long.insert(at, (num_chars, weight)),
        }
    }

    /// The number of empty texts.
    #[must_use]
    pub fn num_empty(&self) -> u64 {
        self.short[0]
    }

    /// The least and the greatest length.
    #[must_use]
    pub fn extremes(&self) -> Option<(usize, usize)> {
        let mut lengths = self.ascending().map(|(length, _)| length);
        let first = lengths.next()?;
        Some((first, lengths.last().unwrap_or(first)))
    }

    /// The quartiles of the lengths; `None` if there are no texts.
    #[must_use]
    pub fn quartiles(&self) -> Option<Quartiles<usize>> {
        let total = self.ascending().map(|(_, count)| count).sum();
        Quartiles::of(self.ascending(), total)
    }

    fn ascending(&self) -> impl Iterator<Item = (usize, u64)> {
        let short = self.short.iter().copied().enumerate();
        let long = self.long.iter().copied();
        short.chain(long).filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = i128>) -> Option<(i128, i128, i128, bool)> {
        let mut distribution = Distribution::default();
        values
            .into_iter()
            .for_each(|value| distribution.add(value, 1));
        let found = distribution.quartiles()?;
        Some((found.lower, found.median, found.upper, found.is_approximate))
    }

    #[test]
    fn few_values_have_exact_quartiles() {
        assert_eq!(of([]), None);
        assert_eq!(of([7]), Some((7, 7, 7, false)));
        assert_eq!(of([2, 1]), Some((1, 1, 2, false)));
        assert_eq!(of([4, 3, 2, 1]), Some((1, 2, 3, false)));
        assert_eq!(of([5, 4, 3, 2, 1]), Some((2, 3, 4, false)));
        let floats = [
            f64::MIN,
            -1e300,
            -0.5,
            -0.0,
            0.0,
            5e-324,
            0.5,
            1e300,
            f64::MAX,
        ];
        let keys = floats.map(float_key);
        assert!(keys.is_sorted() && keys[3] == keys[4]);
        assert_eq!(keys.map(float_of_key), floats);
    }

    #[test]
    fn many_rows_of_few_values_have_exact_quartiles() {
        let values = (0..3_000_000).map(|index| index % 100_000);
        assert_eq!(of(values), Some((24_999, 49_999, 74_999, false)));
    }

    #[test]
    fn weights_count() {
        let mut distribution = Distribution::default();
        for (value, weight) in [(1, 1), (2, 98), (3, 1 << 50), (4, 1 << 50)] {
            distribution.add(value, weight);
        }
        let found = distribution.quartiles().unwrap();
        assert_eq!((found.lower, found.median, found.upper), (3, 3, 4));
    }

    #[test]
    fn quartiles_of_a_sample_are_near() {
        let many = 5_000_000i128;
        let orders: [fn(i128) -> i128; 3] = [
            |index| index,
            |index| 5_000_000 - index,
            |index| index * 2_654_435_761 % 5_000_011,
        ];
        for order in orders {
            // A value of 30 % of the rows stands between the others.
            let values = (0..many).map(|index| {
                if index % 10 < 3 {
                    2_500_000
                } else {
                    order(index)
                }
            });
            let (lower, median, upper, is_approximate) = of(values).unwrap();
            assert!(is_approximate);
            assert_eq!(median, 2_500_000);
            for (found, exact) in [(lower, 1_785_714.0), (upper, 3_214_286.0)] {
                let error = (found as f64 - exact).abs() / many as f64;
                assert!(error < 0.005, "{found} is not near {exact}");
            }
        }
    }

    #[test]
    fn lengths_are_counted_in_characters() {
        let mut lengths = Lengths::default();
        assert_eq!((lengths.extremes(), lengths.quartiles()), (None, None));
        for (text, weight) in [("", 2), ("é", 1), ("naïve", 4), (&"x".repeat(1000), 1)] {
            lengths.add(text.as_bytes(), weight);
        }
        assert_eq!(lengths.num_empty(), 2);
        assert_eq!(lengths.extremes(), Some((0, 1000)));
        let found = lengths.quartiles().unwrap();
        assert_eq!((found.lower, found.median, found.upper), (0, 5, 5));
    }
}
