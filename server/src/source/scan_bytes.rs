//! How many bytes of files a plan will read.

use std::sync::Arc;

use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::memory::LazyMemoryExec;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;

use crate::source::Table;
use crate::source::arrow::ArrowScan;

/// The bytes of `tables` that the scans of a plan will read at most: of Parquet files the wanted columns. `None` if that
/// is not known: a footer has not been read yet, or rows come from elsewhere. A scan that filters or limits end early
/// reads less.
pub(crate) fn bytes_to_scan(plan: &dyn ExecutionPlan, tables: &[Arc<Table>]) -> Option<u64> {
    let children = plan.children();
    if !children.is_empty() {
        let of_children = children.iter();
        return of_children
            .map(|child| bytes_to_scan(child.as_ref(), tables))
            .sum();
    }
    if let Some(scan) = plan.downcast_ref::<ArrowScan>() {
        return scan.num_bytes();
    }
    let is_computed =
        plan.is::<EmptyExec>() || plan.is::<PlaceholderRowExec>() || plan.is::<LazyMemoryExec>();
    if is_computed {
        return Some(0);
    }
    let source = plan.downcast_ref::<DataSourceExec>()?.data_source();
    if source.downcast_ref::<MemorySourceConfig>().is_some() {
        return Some(0);
    }
    let scan = source.downcast_ref::<FileScanConfig>()?;
    let mut files = tables.iter().filter_map(|table| table.file_table());
    files.find_map(|files| files.bytes_to_scan(scan))
}
