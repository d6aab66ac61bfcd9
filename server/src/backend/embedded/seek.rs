//! Plans that begin at a given row, for files that can be read from any row.

use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;

use crate::backend::embedded::partition_reader::{MAX_PARTITIONS, PARTITION_BYTES};
use crate::backend::embedded::plan::PlainScan;
use crate::error::from_datafusion::execution_error;
use crate::error::{QueryError, source_changed};
use crate::order::RowRange;
use crate::source::Table;

/// A plan that reads exactly the requested rows.
pub(crate) struct Seek {
    /// The plan. Its partitions, one after the other, are the rows in order.
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    /// The rows of each partition.
    pub(crate) partition_rows: Vec<u64>,
    /// Rows of all partitions.
    pub(crate) num_rows: u64,
    /// Rows of the table without any range.
    num_table_rows: u64,
}

impl Seek {
    /// A plan of rows `range` of `logical` that reads nothing before them. `None` unless `logical` only
    /// selects columns of one table whose files can be read from any row. Blocks on the file system.
    ///
    /// # Errors
    /// A file cannot be read, or has changed.
    pub(crate) fn plan(
        state: &SessionState,
        logical: &LogicalPlan,
        range: RowRange,
        used: &[Arc<Table>],
    ) -> Result<Option<Self>, QueryError> {
        Self::try_plan(state, logical, range, used).map_err(|error| {
            match used.iter().find(|table| table.has_changed()) {
                Some(changed) => source_changed(&changed.name),
                None => execution_error(&error),
            }
        })
    }

    fn try_plan(
        state: &SessionState,
        logical: &LogicalPlan,
        range: RowRange,
        used: &[Arc<Table>],
    ) -> Result<Option<Self>, DataFusionError> {
        let Some(scan) = PlainScan::of(logical) else {
            return Ok(None);
        };
        // The table may have been reloaded since the plan was made.
        let same = used
            .iter()
            .find(|table| Arc::ptr_eq(&table.provider, &scan.provider));
        let Some((table, num_table_rows)) = same
            .and_then(|table| table.file_table())
            .and_then(|table| Some((table, table.num_rows()?)))
        else {
            return Ok(None);
        };
        let end = range
            .end()
            .map_or(num_table_rows, |end| end.min(num_table_rows));
        let start = range.first_row.min(end);
        let partition_bytes = PARTITION_BYTES.max(table.num_bytes() / MAX_PARTITIONS);
        let Some(rows) = table.scan_rows(state, &scan.columns, start..end, partition_bytes)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            plan: scan.project(rows.plan)?,
            partition_rows: rows.partition_rows,
            num_rows: end - start,
            num_table_rows,
        }))
    }

    /// The number of rows of a result that is rows `inner` of the table.
    pub(crate) fn num_rows_within(&self, inner: RowRange) -> u64 {
        let left = self.num_table_rows.saturating_sub(inner.first_row);
        inner.limit.map_or(left, |limit| limit.min(left))
    }
}
