//! Record batches that need much memory, because all their rows have to be read or decompressed for any of them.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Array, BinaryViewArray, RecordBatch, StringViewArray};
use datafusion::error::Result;

use super::ArrowFile;
use super::batch::BatchReader;
use crate::source::column_spill::ColumnSpill;
use crate::source::scan_memory::{MAX_BATCH_BYTES, Turn};

/// Rows `rows` of batch `index` of a file, with these columns, written to disk, a few columns at a time. Blocks.
///
/// # Errors
/// The file cannot be read, or the disk fails.
pub(super) fn spill(
    file: &Arc<ArrowFile>,
    columns: &[usize],
    (index, rows): (usize, Range<u64>),
    slice_rows: u64,
    turn: Turn,
) -> Result<ColumnSpill> {
    let Turn {
        slabs,
        mut spill,
        memory,
    } = turn;
    for slab in slabs {
        let columns = columns[slab].to_vec();
        let schema = Arc::new(file.schema.project(&columns)?);
        let batch = BatchReader::new(Arc::clone(file), columns).read(index, &rows)?;
        let mut section = spill.section(&schema)?;
        for slice in slices(&batch, slice_rows) {
            section.write(&compact(&slice)?)?;
        }
        section.finish()?;
    }
    drop(memory);
    Ok(spill)
}

/// The number of rows of a slice of a batch whose columns take so many bytes.
pub(super) fn slice_rows(num_rows: u64, num_bytes: u64) -> u64 {
    let rows = u128::from(num_rows) * u128::from(MAX_BATCH_BYTES) / u128::from(num_bytes.max(1));
    u64::try_from(rows)
        .unwrap_or(u64::MAX)
        .clamp(1, num_rows.max(1))
}

/// A batch in slices of so many rows.
pub(super) fn slices(batch: &RecordBatch, slice_rows: u64) -> impl Iterator<Item = RecordBatch> {
    let (num_rows, slice_rows) = (batch.num_rows(), slice_rows as usize);
    (0..num_rows)
        .step_by(slice_rows)
        .map(move |start| batch.slice(start, slice_rows.min(num_rows - start)))
}

/// The rows of a slice without the views' values of the other rows.
fn compact(slice: &RecordBatch) -> Result<RecordBatch> {
    let columns = slice.columns().iter().map(|column| {
        let any = column.as_any();
        let texts = any
            .downcast_ref::<StringViewArray>()
            .map(|texts| Arc::new(texts.gc()) as _);
        let bytes = || {
            any.downcast_ref::<BinaryViewArray>()
                .map(|bytes| Arc::new(bytes.gc()) as _)
        };
        texts.or_else(bytes).unwrap_or_else(|| Arc::clone(column))
    });
    Ok(RecordBatch::try_new(slice.schema(), columns.collect())?)
}
