//! The bytes that a reader has requested.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use bytes::Bytes;

use crate::file::ParquetFile;

/// Ranges that are so near to each other are fetched with one request.
const GAP_BYTES: u64 = 64 << 10;

/// Ranges are not joined beyond this size, so that several are fetched at once.
const JOINED_BYTES: u64 = 4 << 20;

/// Ranges that were requested, and the bytes that have arrived for them.
#[derive(Default)]
pub(crate) struct WantedBytes {
    /// Not yet fetched by anyone.
    fresh: Vec<Range<u64>>,
    /// On their way: first byte and end.
    awaited: BTreeMap<u64, u64>,
    arrived: HashMap<u64, Bytes>,
    num_bytes: u64,
}

impl WantedBytes {
    /// The bytes on their way and those that have arrived.
    pub(crate) fn num_bytes(&self) -> u64 {
        self.num_bytes
    }

    /// Requests a range, unless it was requested before.
    pub(crate) fn want(&mut self, file: &ParquetFile, range: Range<u64>) {
        if self.awaited.contains_key(&range.start) || self.arrived.contains_key(&range.start) {
            return;
        }
        self.num_bytes += range.end - range.start;
        match file.kept(&range) {
            Some(bytes) => {
                self.arrived.insert(range.start, bytes);
            }
            None => {
                self.awaited.insert(range.start, range.end);
                self.fresh.push(range);
            }
        }
    }

    /// The new requests. Those that are near to each other are joined.
    pub(crate) fn take_fresh(&mut self) -> Vec<Range<u64>> {
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        for range in fresh {
            match joined.last_mut() {
                Some(last)
                    if range.start <= last.end + GAP_BYTES
                        && range.end - last.start <= JOINED_BYTES =>
                {
                    last.end = last.end.max(range.end);
                }
                _ => joined.push(range),
            }
        }
        joined
    }

    /// Takes the bytes of ranges that lie in a joined one.
    pub(crate) fn put(&mut self, start: u64, bytes: &Bytes) {
        let end = start + bytes.len() as u64;
        let inside = self
            .awaited
            .range(start..end)
            .filter(|(_, own_end)| **own_end <= end);
        let inside: Vec<(u64, u64)> = inside.map(|(start, end)| (*start, *end)).collect();
        for (own_start, own_end) in inside {
            self.awaited.remove(&own_start);
            let own = bytes.slice((own_start - start) as usize..(own_end - start) as usize);
            self.arrived.insert(own_start, own);
        }
    }

    /// The bytes of the range that begins at `start`, if they have arrived.
    pub(crate) fn take(&mut self, start: u64) -> Option<Bytes> {
        let bytes = self.arrived.remove(&start)?;
        self.num_bytes -= bytes.len() as u64;
        Some(bytes)
    }
}
