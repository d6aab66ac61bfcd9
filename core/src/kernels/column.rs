use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::error::KernelError;
use super::key::Physical;
use super::row_order::RowOrder;
use crate::semantics::{distinct_names, near_names, value_type};
use crate::table::Table;
use crate::text::Extension;

/// The maximum number of rows that are visited at once, because a visit can take memory for each row.
const MAX_RUN_ROWS: usize = 8192;

/// One column, with the rows that existed when the kernel started.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) data_type: DataType,
    pub(super) extension: Option<Extension>,
    chunks: Vec<ArrayRef>,
    /// The number of rows before each chunk, and after the last one.
    offsets: Vec<u32>,
}

impl Column {
    /// The column at `index`, with all rows of the table.
    pub(super) fn try_new(table: &Table, index: usize) -> Result<Self, KernelError> {
        num_rows(table)?;
        let field = &table.schema().fields[index].field;
        let chunks = table.columns()[index].chunks();
        let chunks = chunks
            .map(|chunk| chunk.cloned())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| KernelError::new("out_of_memory", error.message))?;
        let mut offsets = vec![0];
        let mut end = 0;
        for chunk in &chunks {
            end += chunk.len() as u32;
            offsets.push(end);
        }
        Ok(Self {
            name: field.name().clone(),
            data_type: field.data_type().clone(),
            extension: Extension::of(field),
            chunks,
            offsets,
        })
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

    /// The chunk of `row`, which is below the column's length, and the index of the row in it.
    pub(super) fn locate(&self, row: u32) -> (&ArrayRef, usize) {
        let chunk = self.offsets.partition_point(|&start| start <= row) - 1;
        (&self.chunks[chunk], (row - self.offsets[chunk]) as usize)
    }

    /// Visits the rows at `positions` of a view in order. Consecutive rows of one array are visited
    /// together, up to [`MAX_RUN_ROWS`], as `visit(array, first, last)` for rows `[first, last)`. Stops
    /// if `visit` returns false.
    pub(super) fn each_run(
        &self,
        rows: &RowOrder,
        positions: Range<usize>,
        mut visit: impl FnMut(&ArrayRef, usize, usize) -> bool,
    ) {
        let mut position = positions.start;
        while let Some(row) = rows.get(position).filter(|_| position < positions.end) {
            let (array, first) = self.locate(row);
            let most = (positions.end - position)
                .min(array.len() - first)
                .min(MAX_RUN_ROWS);
            let len = match rows {
                RowOrder::All(_) => most,
                _ => (1..most)
                    .find(|&len| rows.get(position + len) != Some(row + len as u32))
                    .unwrap_or(most),
            };
            if !visit(array, first, first + len) {
                return;
            }
            position += len;
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
            _ => array.as_run::<arrow_array::types::Int64Type>().values(),
        }),
        _ => None,
    }
}

/// For rows `[start, end)` of an array with [`pointed_values`], the index of each row's value; `None`
/// is null.
pub(super) fn pointers(array: &dyn Array, start: usize, end: usize) -> Vec<Option<usize>> {
    use arrow_array::types::{Int64Type, RunEndIndexType};
    fn runs<R: RunEndIndexType>(array: &dyn Array, start: usize, end: usize) -> Vec<Option<usize>> {
        let ends = array.as_run::<R>().run_ends();
        (start..end)
            .map(|index| Some(ends.get_physical_index(index)))
            .collect()
    }
    match array.data_type() {
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => runs::<Int16Type>(array, start, end),
            DataType::Int32 => runs::<Int32Type>(array, start, end),
            _ => runs::<Int64Type>(array, start, end),
        },
        _ => {
            let keys = array.as_any_dictionary().keys();
            (start..end)
                .map(|index| {
                    (!keys.is_null(index)).then(|| crate::text::dictionary_key(keys, index))
                })
                .collect()
        }
    }
}
