use std::collections::HashMap;
use std::ops::Range;
use std::ptr;
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, RunEndIndexType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::error::KernelError;
use super::key::Physical;
use super::row_order::RowOrder;
use crate::semantics::{distinct_names, near_names, value_type};
use crate::table::Table;
use crate::text::Extension;

/// [`Column::position`] searches for a row's chunk among those of `1 << LOCATED_BITS` rows.
const LOCATED_BITS: u32 = 12;

/// Rows of a view that [`Column::each_run`] lists at once.
const RUN_ROWS: usize = 4096;

/// The code of null.
pub(super) const NO_VALUE: u32 = u32::MAX;

/// One column, with the rows that existed when the kernel started.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) data_type: DataType,
    pub(super) extension: Option<Extension>,
    chunks: Vec<ArrayRef>,
    /// The number of the table's rows before each chunk, and after the last one.
    offsets: Vec<u32>,
    /// The chunk of the first row, then of every row whose number is a multiple of `1 << LOCATED_BITS`.
    located: Vec<u32>,
    dictionaries: OnceLock<Dictionaries>,
}

/// The values to which the chunks of a dictionary or run-end encoding refer.
#[derive(Debug, Clone, Default)]
struct Dictionaries {
    distinct: Vec<ArrayRef>,
    /// For each chunk, the index of its values in `distinct`; empty for a plain column.
    of_chunks: Vec<u32>,
}

impl Dictionaries {
    /// Each chunk has an array of its own for the values, but the arrays of one dictionary share their
    /// buffers.
    fn of(chunks: &[ArrayRef]) -> Self {
        let mut dictionaries = Self::default();
        let mut known: HashMap<*const u8, Vec<(ArrayData, u32)>> = HashMap::new();
        for values in chunks.iter().map_while(|chunk| pointed_values(chunk)) {
            let data = values.to_data();
            let start = data.buffers().first().map_or(ptr::null(), Buffer::as_ptr);
            let candidates = known.entry(start).or_default();
            let same = candidates.iter().find(|(other, _)| other.ptr_eq(&data));
            let index = same.map_or(dictionaries.distinct.len() as u32, |(_, index)| *index);
            if same.is_none() {
                candidates.push((data, index));
                dictionaries.distinct.push(Arc::clone(values));
            }
            dictionaries.of_chunks.push(index);
        }
        dictionaries
    }
}

impl Column {
    /// The column at `index`, with all rows of the table.
    pub(super) fn try_new(table: &Table, index: usize) -> Result<Self, KernelError> {
        let num_chunks = table.columns()[index].num_chunks();
        Self::of_table(table, index, 0, 0..num_chunks)
    }

    /// The column at `index`, with at least the rows at `positions` of a view.
    pub(super) fn of_view(
        table: &Table,
        index: usize,
        view: &RowOrder,
        positions: &Range<usize>,
    ) -> Result<Self, KernelError> {
        let ends = (
            positions.start as u64,
            positions.end.saturating_sub(1) as u64,
        );
        match (view, table.locate(ends.0), table.locate(ends.1)) {
            (RowOrder::All(_), Some((first, row)), Some((last, _))) if first <= last => {
                let first_row = (ends.0 - row as u64) as u32;
                Self::of_table(table, index, first_row, first..last + 1)
            }
            _ => Self::try_new(table, index),
        }
    }

    fn of_table(
        table: &Table,
        index: usize,
        first_row: u32,
        chunks: Range<usize>,
    ) -> Result<Self, KernelError> {
        num_rows(table)?;
        let field = &table.schema().fields[index].field;
        let column = &table.columns()[index];
        let chunks = chunks.map(|chunk| column.chunk(chunk).cloned());
        let chunks = chunks
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| KernelError::new("out_of_memory", error.message))?;
        Ok(Self {
            name: field.name().clone(),
            extension: Extension::of(field),
            ..Self::of_chunks(field.data_type().clone(), first_row, chunks)
        })
    }

    /// A column of these arrays, the first of which begins with `first_row`, without a name. The last row is
    /// below 2³².
    pub(super) fn of_chunks(data_type: DataType, first_row: u32, chunks: Vec<ArrayRef>) -> Self {
        let mut offsets = vec![first_row];
        let mut located = Vec::new();
        let before = (first_row >> LOCATED_BITS) as usize;
        let mut end = first_row;
        for (index, chunk) in chunks.iter().enumerate() {
            end += chunk.len() as u32;
            let num_located = (end as usize).div_ceil(1 << LOCATED_BITS);
            located.resize(num_located - before, index as u32);
            offsets.push(end);
        }
        Self {
            name: String::new(),
            data_type,
            extension: None,
            chunks,
            offsets,
            located,
            dictionaries: OnceLock::new(),
        }
    }

    /// The values to which the chunks of a dictionary or run-end encoding refer; none of them twice.
    pub(super) fn dictionaries(&self) -> &[ArrayRef] {
        &self.indexed_dictionaries().distinct
    }

    /// The index in [`dictionaries`](Self::dictionaries) of a chunk's values; `None` for a plain column.
    pub(super) fn dictionary_of(&self, chunk: usize) -> Option<usize> {
        let index = self.indexed_dictionaries().of_chunks.get(chunk);
        index.map(|&index| index as usize)
    }

    fn indexed_dictionaries(&self) -> &Dictionaries {
        self.dictionaries
            .get_or_init(|| Dictionaries::of(&self.chunks))
    }

    pub(super) fn chunks(&self) -> &[ArrayRef] {
        &self.chunks
    }

    /// The number of rows before a chunk, or, for the index after the last chunk, of all rows.
    pub(super) fn start_of(&self, chunk: usize) -> u32 {
        self.offsets[chunk]
    }

    /// The number of rows.
    pub(super) fn num_rows(&self) -> u32 {
        self.offsets[self.chunks.len()]
    }

    /// The index of the chunk of `row`, which the column has, and the index of the row in it.
    #[inline]
    pub(super) fn position(&self, row: u32) -> (usize, usize) {
        let near = ((row >> LOCATED_BITS) - (self.offsets[0] >> LOCATED_BITS)) as usize;
        let first = self.located[near] as usize;
        let last = match self.located.get(near + 1) {
            Some(&chunk) => chunk as usize,
            None => self.chunks.len() - 1,
        };
        let chunk = if first == last {
            first
        } else {
            first + self.offsets[first + 1..=last].partition_point(|&start| start <= row)
        };
        (chunk, (row - self.offsets[chunk]) as usize)
    }

    /// The array of `row`, which the column has, and the index of the row in it.
    pub(super) fn locate(&self, row: u32) -> (&ArrayRef, usize) {
        let (chunk, index) = self.position(row);
        (&self.chunks[chunk], index)
    }

    /// Visits rows, which the column has, in the given order. Consecutive rows of one
    /// chunk are visited together, as `visit(chunk, first, last)` for its rows `[first, last)`.
    #[inline]
    pub(super) fn each_chunk_run(&self, rows: &[u32], mut visit: impl FnMut(usize, usize, usize)) {
        let mut at = 0;
        while at < rows.len() {
            let (chunk, first) = self.position(rows[at]);
            let most = (rows.len() - at).min(self.chunks[chunk].len() - first);
            let mut len = 1;
            while len < most && rows[at + len] == rows[at] + len as u32 {
                len += 1;
            }
            visit(chunk, first, first + len);
            at += len;
        }
    }

    /// Visits consecutive rows of the table, by chunk, as [`each_chunk_run`](Self::each_chunk_run) does.
    pub(super) fn each_chunk(
        &self,
        mut rows: Range<u32>,
        mut visit: impl FnMut(usize, usize, usize),
    ) {
        while !rows.is_empty() {
            let (chunk, first) = self.position(rows.start);
            let len = rows.len().min(self.chunks[chunk].len() - first);
            visit(chunk, first, first + len);
            rows.start += len as u32;
        }
    }

    /// Visits the rows at `positions` of a view in order. Consecutive rows of one array are visited
    /// together, as `visit(array, first, last)` for rows `[first, last)`. Stops if `visit` returns
    /// false.
    pub(super) fn each_run(
        &self,
        rows: &RowOrder,
        positions: Range<usize>,
        mut visit: impl FnMut(&ArrayRef, usize, usize) -> bool,
    ) {
        let mut numbers = Vec::new();
        let mut start = positions.start;
        let mut goes_on = true;
        while start < positions.end && goes_on {
            let end = positions.end.min(start + RUN_ROWS);
            numbers.clear();
            rows.push_numbers(start..end, &mut numbers);
            self.each_chunk_run(&numbers, |chunk, first, last| {
                goes_on = goes_on && visit(&self.chunks[chunk], first, last);
            });
            start = end;
        }
    }

    /// How the values are stored; for dictionaries and run-end encoding, the type of their values.
    pub(super) fn physical(&self) -> Physical {
        Physical::of(value_type(&self.data_type))
    }
}

/// The number of rows of the table. Kernels number rows with 32 bits.
///
/// # Errors
/// `bad_parameter` for a table of more than 2³² − 1 rows.
pub(super) fn num_rows(table: &Table) -> Result<u32, KernelError> {
    u32::try_from(table.num_rows()).map_err(|_| {
        KernelError::new(
            "bad_parameter",
            format!(
                "the table has {} rows; at most 4294967295 can be sorted or searched",
                table.num_rows()
            ),
        )
    })
}

/// The names by which columns are requested; all are different.
pub(super) fn column_names(table: &Table) -> Vec<String> {
    let fields = &table.schema().fields;
    distinct_names(fields.iter().map(|field| field.field.name().as_str()))
}

/// The index of the column `name`. If several columns are called `a`, the second is `a (2)`.
///
/// # Errors
/// `unknown_column`, with the closest names.
pub(super) fn column_index(table: &Table, name: &str) -> Result<usize, KernelError> {
    let names = column_names(table);
    let found = names.iter().position(|other| other == name);
    found.ok_or_else(|| {
        let hint = near_names(name, names.iter().map(String::as_str), "columns");
        KernelError::new(
            "unknown_column",
            format!("there is no column {name:?}; {hint}"),
        )
    })
}

/// The values to which a dictionary or run-end encoding refers; `None` for a plain array.
pub(super) fn pointed_values(array: &dyn Array) -> Option<&ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(..) => Some(array.as_any_dictionary().values()),
        DataType::RunEndEncoded(ends, _) => Some(match ends.data_type() {
            DataType::Int16 => array.as_run::<Int16Type>().values(),
            DataType::Int32 => array.as_run::<Int32Type>().values(),
            _ => array.as_run::<Int64Type>().values(),
        }),
        _ => None,
    }
}

/// For rows `[start, end)` of an array with [`pointed_values`], appends the index of each row's value;
/// [`NO_VALUE`] for null.
pub(super) fn push_codes(array: &dyn Array, start: usize, end: usize, codes: &mut Vec<u32>) {
    fn runs<R: RunEndIndexType>(array: &dyn Array, start: usize, end: usize, codes: &mut Vec<u32>) {
        let ends = array.as_run::<R>().run_ends();
        let mut run = ends.get_physical_index(start);
        for index in start..end {
            while ends.values()[run].as_usize() <= index + ends.offset() {
                run += 1;
            }
            codes.push(run as u32);
        }
    }
    fn keys<K: ArrowDictionaryKeyType>(
        keys: &dyn Array,
        start: usize,
        end: usize,
        codes: &mut Vec<u32>,
    ) {
        let keys = keys.as_primitive::<K>();
        let values = keys.values()[start..end].iter();
        match keys.nulls() {
            None => codes.extend(values.map(|key| key.as_usize() as u32)),
            Some(nulls) => codes.extend(values.zip(start..).map(|(key, index)| {
                if nulls.is_valid(index) {
                    key.as_usize() as u32
                } else {
                    NO_VALUE
                }
            })),
        }
    }
    match array.data_type() {
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => runs::<Int16Type>(array, start, end, codes),
            DataType::Int32 => runs::<Int32Type>(array, start, end, codes),
            _ => runs::<Int64Type>(array, start, end, codes),
        },
        _ => {
            let array = array.as_any_dictionary().keys();
            match array.data_type() {
                DataType::Int8 => keys::<Int8Type>(array, start, end, codes),
                DataType::Int16 => keys::<Int16Type>(array, start, end, codes),
                DataType::Int32 => keys::<Int32Type>(array, start, end, codes),
                DataType::Int64 => keys::<Int64Type>(array, start, end, codes),
                DataType::UInt8 => keys::<UInt8Type>(array, start, end, codes),
                DataType::UInt16 => keys::<UInt16Type>(array, start, end, codes),
                DataType::UInt32 => keys::<UInt32Type>(array, start, end, codes),
                _ => keys::<UInt64Type>(array, start, end, codes),
            }
        }
    }
}

/// For rows `[start, end)` of an array with [`pointed_values`], the index of each row's value; `None`
/// is null.
pub(super) fn pointers(array: &dyn Array, start: usize, end: usize) -> Vec<Option<usize>> {
    let mut codes = Vec::with_capacity(end - start);
    push_codes(array, start, end, &mut codes);
    let index = |&code: &u32| (code != NO_VALUE).then_some(code as usize);
    codes.iter().map(index).collect()
}
