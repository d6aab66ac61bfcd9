//! Copies lists of unions before they are written.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;

/// The batch with a copy of each column that has a union inside a list. The writer of arrow-rs cuts the items of a
/// slice of lists, but writes their unions from the start, with the values of other rows. A copy is no slice.
pub(super) fn copy_listed_unions(batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    let is_affected = |column: &ArrayRef| has_union(column.data_type(), false);
    if !batch.columns().iter().any(is_affected) {
        return Ok(batch);
    }
    let num_rows = batch.num_rows();
    let rows = UInt64Array::from_iter_values(0..num_rows as u64);
    let columns = batch.columns().iter().map(|column| {
        if is_affected(column) {
            take(column, &rows, None)
        } else {
            Ok(Arc::clone(column))
        }
    });
    let columns = columns.collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(num_rows));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
}

/// Whether a list in the type contains a union, or, with `in_list`, the type does.
fn has_union(data_type: &DataType, in_list: bool) -> bool {
    match data_type {
        DataType::Union(fields, _) => {
            let mut fields = fields.iter();
            in_list || fields.any(|(_, field)| has_union(field.data_type(), false))
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_union(item.data_type(), true),
        DataType::RunEndEncoded(_, values) => has_union(values.data_type(), true),
        DataType::Struct(fields) => {
            let mut fields = fields.iter();
            fields.any(|field| has_union(field.data_type(), in_list))
        }
        _ => false,
    }
}
