use xxhash_rust::xxh3::xxh3_64;

/// An odd number. The upper bits of its product with a value depend on all bits of the value (2⁶⁴ / φ).
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The least number of hash slots.
const MIN_SLOTS: usize = 64;

/// Distinct values, numbered from 0 in the order in which they were added. The bytes of a value are
/// copied once.
#[derive(Debug)]
pub(super) struct Numbered {
    values: Vec<Value>,
    bytes: Vec<u8>,
    /// A hash table with open addressing: the number of a value + 1; 0 means free. At most half of the
    /// slots are used.
    slots: Vec<u32>,
}

/// The first and the last bytes of a value, which can overlap. They decide almost every comparison, and
/// all of values of up to 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Value {
    first: u64,
    last: u64,
    len: usize,
    /// Where its bytes start.
    start: usize,
}

impl Value {
    #[inline]
    fn of(bytes: &[u8]) -> Self {
        let (first, last) = if let (Some(first), Some(last)) =
            (bytes.first_chunk::<8>(), bytes.last_chunk())
        {
            (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk()) {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            (u64::from(first), u64::from(last))
        } else {
            let byte = |index: usize| bytes.get(index).copied().map_or(0, u64::from);
            (byte(0) | byte(1) << 8, byte(2))
        };
        Self {
            first,
            last,
            len: bytes.len(),
            start: 0,
        }
    }

    #[inline]
    fn hash(self, bytes: &[u8]) -> u64 {
        if self.len > 16 {
            return xxh3_64(bytes);
        }
        let mixed = self.first ^ self.last.rotate_left(23) ^ (self.len as u64) << 59;
        mixed.wrapping_mul(SPREAD)
    }
}

impl Default for Numbered {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            bytes: Vec::new(),
            slots: vec![0; MIN_SLOTS],
        }
    }
}

impl Numbered {
    /// The size of all values in bytes.
    pub(super) fn num_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The value with a number, which exists.
    pub(super) fn bytes(&self, number: usize) -> &[u8] {
        let Value { start, len, .. } = self.values[number];
        &self.bytes[start..start + len]
    }

    /// The number of a value; `None` if it was not added.
    #[inline]
    pub(super) fn get(&self, bytes: &[u8]) -> Option<usize> {
        let value = Value::of(bytes);
        let mask = self.slots.len() - 1;
        let mut slot = self.slot(value.hash(bytes));
        loop {
            let number = (self.slots[slot] as usize).checked_sub(1)?;
            let other = self.values[number];
            let is_same =
                (value.first, value.last, value.len) == (other.first, other.last, other.len);
            if is_same && (value.len <= 16 || self.bytes(number) == bytes) {
                return Some(number);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Adds a value that was not added before.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.values.push(Value {
            start: self.bytes.len(),
            ..Value::of(bytes)
        });
        self.bytes.extend_from_slice(bytes);
        if self.values.len() * 2 <= self.slots.len() {
            self.occupy(self.values.len() - 1);
            return;
        }
        self.slots = vec![0; self.slots.len() * 2];
        for number in 0..self.values.len() {
            self.occupy(number);
        }
    }

    fn occupy(&mut self, number: usize) {
        let mask = self.slots.len() - 1;
        let mut slot = self.slot(self.values[number].hash(self.bytes(number)));
        while self.slots[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = number as u32 + 1;
    }

    #[inline]
    fn slot(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - self.slots.len().ilog2())) as usize
    }
}
