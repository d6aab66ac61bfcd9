use super::leading::Leading;

/// What is known of keys that were read.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) least: u64,
    pub(super) most: u64,
    last: u64,
    pub(super) is_sorted: bool,
    /// If all rows are read for the first time: those that come first.
    pub(super) leading: Option<Leading>,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            least: u64::MAX,
            most: 0,
            last: 0,
            is_sorted: true,
            leading: None,
        }
    }
}

impl Seen {
    /// Takes the keys and rows of the next values.
    #[inline]
    pub(super) fn see(&mut self, values: impl Iterator<Item = (u64, u32)>) {
        let (mut least, mut most, mut last) = (self.least, self.most, self.last);
        let mut is_sorted = self.is_sorted;
        let bound_of = |leading: &Option<Leading>| leading.as_ref().map(Leading::bound);
        let mut bound = bound_of(&self.leading).unwrap_or(least);
        // Branches that are seldom taken are faster than minima and maxima.
        values.for_each(|(key, row)| {
            if key < bound {
                least = least.min(key);
                if let Some(leading) = &mut self.leading {
                    leading.push(key, row);
                }
                bound = bound_of(&self.leading).unwrap_or(least);
            }
            if key > most {
                most = key;
            }
            if is_sorted {
                is_sorted = last <= key;
                last = key;
            }
        });
        (self.least, self.most, self.last) = (least, most, last);
        self.is_sorted = is_sorted;
    }
}
