use super::error::{KernelError, no_room};

/// A row, with its key at the level of its group.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(4))]
pub(super) struct Item {
    pub(super) key: u64,
    pub(super) row: u32,
}

/// A stable sort that is fast if few items are far from their places.
pub(super) fn insertion_sort(items: &mut [Item]) {
    for index in 1..items.len() {
        let item = items[index];
        let mut to = index;
        while to > 0 && items[to - 1].key > item.key {
            items[to] = items[to - 1];
            to -= 1;
        }
        items[to] = item;
    }
}

pub(super) fn put_rows(items: &mut [Item], rows: impl Iterator<Item = u32>) {
    for (item, row) in items.iter_mut().zip(rows) {
        item.row = row;
    }
}

/// Makes room for `len` items in total; there are at most as many.
pub(super) fn reserve(items: &mut Vec<Item>, len: usize) -> Result<(), KernelError> {
    items
        .try_reserve_exact(len - items.len())
        .map_err(|_| no_room(len))
}
