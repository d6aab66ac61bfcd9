use super::texts::{TEXT_BYTES, text_key};

/// Texts of a sample that must have a beginning in common for it to get a code.
const MIN_TEXTS: usize = 4;

/// Beginnings that one code stands for have at most so many parts.
const MAX_PARTS: usize = 64;

/// The maximum number of bytes in common that are skipped at once.
const MAX_COMMON_BYTES: usize = 4096;

/// After the comparison of so many bytes, no longer beginnings get codes: the sample is read in one step.
const MAX_COMPARED_BYTES: usize = 8 << 20;

/// Short codes, in the order of the texts, for the beginnings that many texts of a column have in common, such as the
/// hosts of addresses and the folders of paths. The first key of a text has the code of its beginning in its upper
/// bits, then the bytes behind the beginning, then how many of them there are.
///
/// The codes come from a tree of a sample's texts. A text that the sample does not know has the code of the gap
/// between those that it knows, with the shorter beginning that both sides of the gap have.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    nodes: Vec<Node>,
    /// The bytes in common of all nodes.
    common: Vec<u8>,
    /// The keys of the children of all nodes.
    keys: Vec<u64>,
    /// For each key, its node.
    children: Vec<u32>,
    /// The codes of the gaps before and behind the root, then of those before, between and behind the children of each
    /// node.
    gaps: Vec<u32>,
    /// For each code, the number of bytes of its beginning.
    depths: Vec<u32>,
    /// The number of bytes of text in a key, and the number of bits that count them.
    num_bytes: u32,
    num_count_bits: u32,
}

/// Texts with a beginning in common: what follows it in all of them, and which keys follow that in many.
#[derive(Debug)]
struct Node {
    common: (u32, u32),
    first_key: u32,
    num_keys: u32,
    first_gap: u32,
}

impl Prefixes {
    /// The beginnings that texts of a sample have in common.
    pub(super) fn of(sample: &[&[u8]]) -> Self {
        let mut prefixes = Self {
            gaps: vec![0; 2],
            ..Self::default()
        };
        let mut sample: Vec<_> = sample.iter().map(|text| (0, *text)).collect();
        prefixes.gaps[0] = prefixes.add_code(0);
        let mut left_bytes = MAX_COMPARED_BYTES;
        prefixes.add_node(0, &mut sample, 0, &mut left_bytes);
        prefixes.gaps[1] = prefixes.add_code(0);
        let num_code_bits = prefixes.depths.len().ilog2() + 1;
        (prefixes.num_bytes, prefixes.num_count_bits) = match num_code_bits {
            0..=4 => (7, 4),
            5..=13 => (6, 3),
            _ => (5, 3),
        };
        prefixes
    }

    fn add_code(&mut self, depth: usize) -> u32 {
        self.depths.push(depth as u32);
        self.depths.len() as u32 - 1
    }

    /// Adds a node for texts with the same bytes before `start`. Returns its index.
    fn add_node(
        &mut self,
        start: usize,
        sample: &mut [(u64, &[u8])],
        num_above: usize,
        left_bytes: &mut usize,
    ) -> u32 {
        let common = common_bytes(sample, start);
        *left_bytes = left_bytes.saturating_sub(common.len() * sample.len());
        let depth = start + common.len();
        for (key, text) in &mut *sample {
            *key = text_key(text, depth);
        }
        sample.sort_unstable_by_key(|(key, _)| *key);
        let is_full = num_above == MAX_PARTS || *left_bytes == 0;
        let parts = sample.chunk_by_mut(|(key, _), (next, _)| key == next);
        let parts: Vec<_> = parts
            .filter(|part| !is_full && part.len() >= MIN_TEXTS && part[0].0 != 0)
            .collect();

        let index = self.nodes.len() as u32;
        let (first_key, first_gap) = (self.keys.len(), self.gaps.len());
        self.nodes.push(Node {
            common: (self.common.len() as u32, common.len() as u32),
            first_key: first_key as u32,
            num_keys: parts.len() as u32,
            first_gap: first_gap as u32,
        });
        self.common.extend(common);
        self.keys.extend(parts.iter().map(|part| part[0].0));
        self.children.resize(self.keys.len(), 0);
        self.gaps.resize(first_gap + parts.len() + 1, 0);
        let num_parts = parts.len();
        for (at, part) in parts.into_iter().enumerate() {
            self.gaps[first_gap + at] = self.add_code(depth);
            self.children[first_key + at] =
                self.add_node(depth + TEXT_BYTES, part, num_above + 1, left_bytes);
        }
        self.gaps[first_gap + num_parts] = self.add_code(depth);
        index
    }

    /// The first key of a text.
    #[inline]
    pub(super) fn key(&self, text: &[u8]) -> u64 {
        let (code, key) = self.locate(text);
        let num_bits = 8 * self.num_bytes;
        let bytes = key >> (u64::BITS - num_bits);
        let count = (key & 0xFF).min(u64::from(self.num_bytes) + 1);
        (u64::from(code) << num_bits | bytes) << self.num_count_bits | count
    }

    /// The number of bytes of a text that its first key stands for; `None` if the text has no others.
    #[inline]
    pub(super) fn depth_after(&self, key: u64) -> Option<usize> {
        let count = key & ((1 << self.num_count_bits) - 1);
        let code = key >> (8 * self.num_bytes + self.num_count_bits);
        let goes_on = count > u64::from(self.num_bytes);
        goes_on.then(|| self.depths[code as usize] as usize + self.num_bytes as usize)
    }

    /// The code of a text's beginning, and the key of the bytes behind it.
    #[inline]
    fn locate(&self, text: &[u8]) -> (u32, u64) {
        let (mut node, mut start, mut gap) = (&self.nodes[0], 0, 0);
        loop {
            let rest = text.get(start..).unwrap_or_default();
            let common = &self.common[node.common.0 as usize..][..node.common.1 as usize];
            if !common.is_empty() && !rest.starts_with(common) {
                let code = self.gaps[gap + usize::from(rest > common)];
                return (code, text_key(text, self.depths[code as usize] as usize));
            }
            let depth = start + common.len();
            let key = text_key(text, depth);
            let first_key = node.first_key as usize;
            let keys = &self.keys[first_key..first_key + node.num_keys as usize];
            match keys.binary_search(&key) {
                Err(at) => return (self.gaps[node.first_gap as usize + at], key),
                Ok(at) => {
                    gap = node.first_gap as usize + at;
                    start = depth + TEXT_BYTES;
                    node = &self.nodes[self.children[first_key + at] as usize];
                }
            }
        }
    }
}

/// The bytes from `start` on that all texts have in common.
fn common_bytes<'a>(sample: &[(u64, &'a [u8])], start: usize) -> &'a [u8] {
    let rest = |text: &'a [u8]| text.get(start..).unwrap_or_default();
    let first = sample.first().map_or(&[] as &[u8], |(_, text)| rest(text));
    let first = &first[..first.len().min(MAX_COMMON_BYTES)];
    sample.iter().fold(first, |common, (_, text)| {
        let pairs = common.iter().zip(rest(text));
        &common[..pairs.take_while(|(a, b)| a == b).count()]
    })
}
