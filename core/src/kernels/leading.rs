/// The rows that are wanted: several screens.
const NUM_WANTED: usize = 4096;

/// Of the rows seen so far, those that come first: their keys are the least, and of equal keys the
/// earlier rows.
#[derive(Debug, Default)]
pub(super) struct Leading {
    /// Keys and rows, in the order in which they were seen.
    rows: Vec<(u64, u32)>,
    /// Rows with this key or a greater one were left out.
    bound: Option<u64>,
}

impl Leading {
    pub(super) const MAX_ROWS: usize = 2 * NUM_WANTED;

    /// Only rows with smaller keys can still be among the first.
    #[inline]
    pub(super) fn bound(&self) -> u64 {
        self.bound.unwrap_or(u64::MAX)
    }

    /// Takes a row whose key is smaller than the bound.
    pub(super) fn push(&mut self, key: u64, row: u32) {
        self.rows.push((key, row));
        if self.rows.len() == Self::MAX_ROWS {
            self.cut();
        }
    }

    /// The rows that come before all others. If rows with the key of a row that was left out can differ in
    /// what is compared next, they are missing.
    pub(super) fn finish(mut self, is_last: impl Fn(u64) -> bool) -> Vec<(u64, u32)> {
        if let Some(bound) = self.bound.filter(|bound| !is_last(*bound)) {
            self.rows.retain(|(key, _)| *key < bound);
        }
        self.rows
    }

    fn cut(&mut self) {
        let mut keys: Vec<u64> = self.rows.iter().map(|(key, _)| *key).collect();
        let (lesser, &mut bound, _) = keys.select_nth_unstable(NUM_WANTED - 1);
        let num_lesser = lesser.iter().filter(|key| **key < bound).count();
        let mut num_equal = NUM_WANTED - num_lesser;
        self.rows.retain(|&(key, _)| {
            let is_next = key == bound && num_equal > 0;
            num_equal -= usize::from(is_next);
            key < bound || is_next
        });
        self.bound = Some(bound);
    }
}
