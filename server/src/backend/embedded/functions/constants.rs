//! A limit for long constants, because operators copy them for each row.

use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

use crate::backend::embedded::functions::MAX_RESULT_BYTES;

/// The shortest constant that counts.
const MIN_CONSTANT_BYTES: u64 = 1024;

/// Refuses a plan in which an operator's constants, copied for each row of a batch, could exceed
/// [`MAX_RESULT_BYTES`].
///
/// # Errors
/// The length of the constants, and the longest permitted.
pub(crate) fn check_constants(plan: &dyn ExecutionPlan, batch_rows: usize) -> Result<()> {
    let mut constant_bytes = 0_u64;
    plan.apply_expressions(&mut |expr| {
        expr.apply(|node| {
            if let Some(literal) = node.downcast_ref::<Literal>() {
                let num_bytes = literal.value().size() as u64;
                if num_bytes >= MIN_CONSTANT_BYTES {
                    constant_bytes = constant_bytes.saturating_add(num_bytes);
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    for child in plan.children() {
        check_constants(child.as_ref(), batch_rows)?;
    }
    if constant_bytes.saturating_mul(batch_rows as u64) <= MAX_RESULT_BYTES {
        return Ok(());
    }
    // A scan may compute expressions itself.
    let children = plan.children();
    let num_rows = if children.is_empty() {
        rows_of(plan)
    } else {
        children
            .into_iter()
            .map(|child| rows_of(child.as_ref()))
            .collect::<Option<Vec<_>>>()
            .and_then(|rows| rows.into_iter().max())
    };
    let num_rows = num_rows.unwrap_or(batch_rows).clamp(1, batch_rows);
    let max_bytes = MAX_RESULT_BYTES / num_rows as u64;
    if constant_bytes > max_bytes {
        return Err(DataFusionError::Execution(format!(
            "constants of {constant_bytes} bytes would be copied for each of {num_rows} rows of a batch, and may have {max_bytes} bytes in all; use shorter ones"
        )));
    }
    Ok(())
}

/// The number of rows of a plan, if it is known exactly.
fn rows_of(plan: &dyn ExecutionPlan) -> Option<usize> {
    let statistics = StatisticsContext::new().compute(plan, &StatisticsArgs::new());
    match statistics.ok()?.num_rows {
        Precision::Exact(num_rows) => Some(num_rows),
        _ => None,
    }
}
