//! Removes unused buffers from view columns.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, BinaryViewArray, RecordBatch, RecordBatchOptions, StringViewArray,
};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;

/// Copies the values of a view column if its buffers hold more than a quarter more bytes. Without the copy, a
/// view array would keep all its buffers, however few of its rows are left.
pub(super) fn compact_views(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let has_views = batch
        .columns()
        .iter()
        .any(|c| matches!(c.data_type(), DataType::Utf8View | DataType::BinaryView));
    if !has_views {
        return Ok(batch.clone());
    }
    let columns = batch
        .columns()
        .iter()
        .map(|column| {
            if let Some(views) = column.as_any().downcast_ref::<StringViewArray>() {
                let held: usize = views.data_buffers().iter().map(|b| b.len()).sum();
                if held > views.total_buffer_bytes_used() / 4 * 5 {
                    return Arc::new(views.gc()) as ArrayRef;
                }
            } else if let Some(views) = column.as_any().downcast_ref::<BinaryViewArray>() {
                let held: usize = views.data_buffers().iter().map(|b| b.len()).sum();
                if held > views.total_buffer_bytes_used() / 4 * 5 {
                    return Arc::new(views.gc()) as ArrayRef;
                }
            }
            Arc::clone(column)
        })
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
}

/// The approximate size of a batch when it is sent, in bytes.
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    let columns: usize = batch
        .columns()
        .iter()
        .map(|column| match column.data_type() {
            DataType::Utf8View | DataType::BinaryView => {
                16 * column.len() + view_bytes(column.as_ref())
            }
            _ => {
                let data = column.to_data();
                data.get_slice_memory_size()
                    .unwrap_or_else(|_| column.get_array_memory_size())
            }
        })
        .sum();
    columns.max(batch.num_rows() / 8)
}

/// The bytes of the texts and binaries of a batch, of which some may be much larger than others.
pub(super) fn value_bytes(batch: &RecordBatch) -> usize {
    let columns = batch.columns().iter();
    let of_column = |column: &ArrayRef| match column.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
            column.to_data().get_slice_memory_size().unwrap_or(0)
        }
        _ => view_bytes(column.as_ref()),
    };
    columns.map(of_column).sum()
}

fn view_bytes(column: &dyn Array) -> usize {
    if let Some(views) = column.as_any().downcast_ref::<StringViewArray>() {
        views.total_buffer_bytes_used()
    } else if let Some(views) = column.as_any().downcast_ref::<BinaryViewArray>() {
        views.total_buffer_bytes_used()
    } else {
        0
    }
}
