use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::ArrowNativeType;

use super::column::Column;
use super::error::{KernelError, filled};
use super::key::{Keyed, Physical, each_bytes, with_native};
use super::radix::Radix;
use super::row_order::RowOrder;
use super::sort_key::{NAN_RANK, SortColumn};

/// Values that one step ranks.
const STEP_VALUES: usize = 16_384;

/// Ranks the values of dictionaries: sorts them, then numbers the different ones.
#[derive(Debug)]
pub(super) struct Ranking {
    values: Column,
    sort: Option<Radix>,
    order: Vec<u32>,
    num_ranked: usize,
    rank: u64,
    ranks: Vec<Option<u64>>,
}

impl Ranking {
    /// Ranks all values of `dictionaries`, which have one type; there is at least one.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub(super) fn try_new(dictionaries: &[ArrayRef]) -> Result<Self, KernelError> {
        let data_type = dictionaries[0].data_type().clone();
        let values = Column::of_chunks(data_type, 0, dictionaries.to_vec());
        let columns = vec![SortColumn::new(values.clone(), false)];
        let rows = RowOrder::All(values.num_rows());
        Ok(Self {
            sort: Some(Radix::try_new(columns, Arc::new(rows))?),
            values,
            order: Vec::new(),
            num_ranked: 0,
            rank: 0,
            ranks: Vec::new(),
        })
    }

    /// Works for a few milliseconds at most. Returns true when all values have their ranks.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub(super) fn step(&mut self) -> Result<bool, KernelError> {
        if let Some(sort) = &mut self.sort {
            if sort.step()? {
                self.order = self.sort.take().map(Radix::finish).unwrap_or_default();
                self.ranks = filled(None, self.order.len())?;
            }
            return Ok(false);
        }
        let end = self.order.len().min(self.num_ranked + STEP_VALUES);
        for at in self.num_ranked..end {
            let (array, index) = self.values.locate(self.order[at]);
            if array.is_null(index) {
                return Ok(true);
            }
            let before = at.checked_sub(1).map(|before| self.order[before]);
            let before = before.map(|row| self.values.locate(row));
            let is_equal = before.is_some_and(|before| are_equal(before, (array, index)));
            self.rank += u64::from(!is_equal);
            let is_nan = with_native!(Physical::of(array.data_type()), N => {
                native::<N>(array, index).is_nan()
            }, _ => false);
            self.ranks[self.order[at] as usize] = Some(if is_nan { NAN_RANK } else { self.rank });
        }
        self.num_ranked = end;
        Ok(end == self.order.len())
    }

    /// The fraction of the work that is done, from 0 to 1.
    pub(super) fn fraction(&self) -> f64 {
        match &self.sort {
            Some(sort) => 0.5 * sort.fraction(),
            None => 0.5 + 0.5 * self.num_ranked as f64 / self.order.len().max(1) as f64,
        }
    }

    /// For each value of all dictionaries, its rank from 1 on; equal values have equal ranks. Null has
    /// none.
    pub(super) fn finish(self) -> Vec<Option<u64>> {
        self.ranks
    }
}

fn native<N: ArrowNativeType>(array: &ArrayRef, index: usize) -> N {
    array.to_data().buffer::<N>(0)[index]
}

/// Whether two values, neither of which is null, are equal.
fn are_equal((a, a_index): (&ArrayRef, usize), (b, b_index): (&ArrayRef, usize)) -> bool {
    with_native!(Physical::of(a.data_type()), N => {
        native::<N>(a, a_index).key() == native::<N>(b, b_index).key()
    }, _ => {
        if let Some(values) = a.as_boolean_opt() {
            return values.value(a_index) == b.as_boolean().value(b_index);
        }
        let mut texts = [None, None];
        each_bytes(a, a_index, a_index + 1, |bytes| texts[0] = bytes);
        each_bytes(b, b_index, b_index + 1, |bytes| texts[1] = bytes);
        texts[0] == texts[1]
    })
}
